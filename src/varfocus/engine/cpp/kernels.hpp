// What the kernels compute. The array code of the same name is the definition.
//
// Everything in kernels/ is compiled once per instruction set, in a namespace of its own, and
// reached through a table of functions (`Kernels`), of which `kernels()` is the one in use. All
// images are row-major and contiguous unless a stride is given; height and width are at least one;
// callers have checked every size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd.hpp"

namespace varfocus {

// Limits and layouts that Python reads from the module.
constexpr int MOST_THREADS = 1024;
constexpr int WIDEST_WINDOW = 1999;  // side in pixels
constexpr int MOST_LABELS = 30000;

// How many frames are put by before the coefficients, 36 bytes per pixel, are touched again.
constexpr int BATCH = 8;

// Labels of a volume are padded to a multiple of the widest vector of any instruction set, so that
// it looks the same for all of them; what pads costs NO_LABEL.
constexpr int LABEL_PADDING = 16;
constexpr float NO_LABEL = 1e30f;

// Samples of a curve around a depth.
constexpr int WINDOW = 16;

// Contrast in 16 bits (kernels/compact.hpp): bits of the smallest one, 2^−40, as float.
constexpr std::int32_t COMPACT_LOWEST = (127 - 40) << 23;

struct Size {
    int height, width;
    VARFOCUS_INLINE std::ptrdiff_t pixels() const { return std::ptrdiff_t(height) * width; }
};

// Pixels of one frame: `channels` numbers next to each other, strides in numbers.
template <class Pixel>
struct FrameView {
    const Pixel* data;
    Size size;
    int channels;
    std::ptrdiff_t row_stride, pixel_stride;
};

// What holds the contrast of a frame exactly: that of 8-bit frames is below 2^12, of 16-bit ones
// below 2^20.
template <class Pixel>
struct ContrastType;
template <>
struct ContrastType<std::uint8_t> {
    using type = std::uint16_t;
};
template <>
struct ContrastType<std::uint16_t> {
    using type = std::int32_t;
};
template <>
struct ContrastType<float> {
    using type = float;
};
template <class Pixel>
using ContrastOf = typename ContrastType<Pixel>::type;

// --- front.cpp: varfocus.curve.frame_pass.ContrastPass -------------------------------------------

// The running results of all frames so far; (degree + 1, H, W) and (H, W).
struct Running {
    float *coefficients, *peak, *best, *index;
};

// `count` ≤ BATCH contrast images: slots (count, H, W), weights (degree + 1, count), frame numbers
// (count). `Running::best` holds windowed sums, not means, in the unit of the slots.
template <class Contrast>
struct Batch {
    const Contrast* slots;
    const float *weights, *numbers;
    int count, degree, window;
    float scale;
};

// --- admm.cpp: varfocus.minimise.admm ------------------------------------------------------------

struct AdmmStep {
    const float* a;  // (degree + 1, H, W)
    int degree;
    float alpha, tau, lam, next_lam, growth;
    bool multipliers, traced;
};
// u: solution of the linear system; before: the last d; d: the next one; g, b: updated; r: the next
// right-hand side.
struct AdmmVariables {
    const float *u, *before;  // (H, W)
    float *d, *g, *b, *r;     // (H, W), (2, H, W), (2, H, W), (H, W)
};
struct AdmmSums {
    double data, tv, constraint, change;
};

// --- cosine.cpp: varfocus.energy.operators.ScreenedPoisson ---------------------------------------

// Largest prime factor of a width that cosine transforms are made for.
constexpr int LARGEST_FACTOR = 13;

// Tables for the orthonormal cosine transform of `length` numbers, k = 0 … length − 1.
struct CosineTables {
    int length;
    float constant;                         // 1/√N
    const float *half_cosine, *half_sine;  // √(2/N) cos πk/2N, √(2/N) sin πk/2N
    const float *cosine, *sine;            // cos 2πk/N, sin 2πk/N
};

// --- primal_dual.cpp: varfocus.minimise.primal_dual ----------------------------------------------

struct PrimalDual {
    const float* a;  // (degree + 1, H, W)
    int degree;
    float alpha, sigma;
    int iterations;
};

// --- energy.cpp: varfocus.energy -----------------------------------------------------------------

struct EnergyTerms {
    double data, tv;
};

// --- margin.cpp: varfocus.depth.curve_margin -----------------------------------------------------

struct MarginTable {
    const float* basis;  // T_m(x_k), (frames, degree + 1)
    int frames;          // at least 2
    float rival_distance;
};

// --- fusion.cpp: varfocus.fuse.pyramid and varfocus.fuse.Level -----------------------------------

struct FusionFrame {
    const float *coefficients, *weight;  // (H, W, channels), (H, W)
    std::uint16_t number;
    float doubt;
};
struct FusionLevel {
    const std::uint16_t *low, *high;   // (H, W)
    float *blended, *sharpest;         // (H, W, channels)
    float *best, *least;               // (H, W)
    std::uint16_t* chosen;             // (H, W)
};

// --- scales.cpp: varfocus.contrast.TwoScales -----------------------------------------------------

// A symmetric kernel: weights of the centre and of the neighbours at distance 1 … radius.
struct Smoothing {
    const float* weights;
    int radius;
};
struct TwoScales {
    float scale;  // maps pixel values to [0, 1]
    Smoothing blur, support;
};
// All (H, W). fine, coarse: compact.hpp; gradient, largest: raised; smallest: lowered.
struct ScaleOutputs {
    std::uint16_t *fine, *coarse;
    float *gradient, *smallest, *largest;
};

// --- templates.cpp: varfocus.curve.templates -----------------------------------------------------

struct Templates {
    const float* data;  // (widths, labels, frames)
    int widths, labels, frames;
};

// --- likelihood.cpp: varfocus.curve.likelihood.cost_volume, and the veto of varfocus.methods.robust

struct CostModel {
    int scales, frames, rank, widths, labels, stride;
    // Curves of the basis that are even, the others being odd: templates of the last labels are then
    // mirror images of the first ones, and the bank holds those of the first half. Or 0.
    int even;
    int bank_stride;
    // (scales, rank, frames), or null: rank = frames, and curves are not projected; if even is not
    // 0, they are v(k) + v(n−1−k), the middle alone, and v(k) − v(n−1−k) from the middle outwards.
    const float* basis;
    const float* bank;   // (scales, widths, rank, bank_stride)
    const float* noise;  // (scales)
    const float* ends;   // (stride): share of a pixel's `lost` that a label loses
    float unit;          // what costs in nats are multiplied by
};

// --- semi_global.cpp: varfocus.minimise.semi_global ----------------------------------------------

// Four paths through a band of rows. `entering` and `leaving` (3, W, stride) hold the path costs
// of the row before the band and of its last row, in the direction of the sweep; null at the border
// of the image, and where they are not wanted. `total`, unless null, is set by the downward sweep
// and added to by the upward one.
struct SemiGlobal {
    int stride;
    float p1;
    const float* jump;  // (H of the whole image, W)
    int first_row;      // of the band
    bool upward;
    const float *cost, *entering;  // (h, W, stride)
    float *total, *leaving;
};

// --- volume.cpp ----------------------------------------------------------------------------------

struct Judgement {
    int labels, stride, reach;  // reach ≤ (labels − 1)/2
    float distance;
};

// The samples of labels base − 1 … base + WINDOW − 2 around a depth, which may then move within
// base … base + WINDOW − 3: C = offset + scale · sample; of the offsets only sums over rows.
struct Windows {
    std::uint16_t* samples;  // (H, W, WINDOW)
    float* scale;            // (H, W)
    std::int16_t* base;      // (H, W)
    double* offsets;         // (H)
};

// --- tgv.cpp: varfocus.minimise.tgv --------------------------------------------------------------

struct TgvProblem {
    const float *m, *h;        // (H, W)
    const float *held, *bent;  // (2, H, W) and (3, H, W): bounds of p and q
    float sigma;
};

struct TgvState {
    float* d;  // (H, W)
    float* v;  // (2, H, W)
    float* p;  // (2, H, W)
    float* q;  // (3, H, W): q_xx, q_yy, q_xy √2
};

struct ParabolaLimits {
    float step, reach, least;  // of labels; of a Newton step; of h in it
};

// --- warp.cpp: varfocus.align.warp ---------------------------------------------------------------

// A frame of 1 or 3 channels, contiguous, and where the pixels of its warped copy come from.
template <class Pixel>
struct WarpView {
    const Pixel* data;
    Size from, to;
    int channels;
    const double* matrix;  // 3×3: homogeneous (x, y, 1) of the copy to those of the frame
    const float* table;    // (phases + 1, taps): weights of the neighbours, by sub-pixel position
    int taps, phases;      // 2 or 6 taps
    const float* gains;    // one per channel
};

// --- cells.cpp: varfocus.align.cells -------------------------------------------------------------

constexpr int CELL_FEATURES = 8;    // of feature_products
constexpr int CELL_EDGE = 2;        // pixels at the border that have no derivatives
constexpr int LARGEST_CELL = 4096;  // side in pixels

// --- edges.cpp: varfocus.edges.judge -------------------------------------------------------------

// varfocus.edges.constants.RenderConstants: what they mean, and their values, is written there.
struct EdgeConstants {
    float no_blur, reach, opaque, continued, wider, faint, covered;
};

// A piece of the stack cut into layers; labels are in [0, layers).
struct EdgePatch {
    const float* frames;  // (frames_count, channels, H, W)
    int frames_count, channels;
    const std::int32_t *label, *near, *far;  // (H, W)
    const float* sigma;                      // (frames_count, layers)
    int layers;
    Size size;
    EdgeConstants constants;
};

// --- explain.cpp: varfocus.explain ---------------------------------------------------------------

// Frames and the pictures they are compared with: picture number[k][l] for frame k and label l.
struct Reblur {
    const float *measured, *pictures;  // (frames, H, W), (…, H, W)
    const std::int32_t* number;        // (frames, labels)
    int frames, labels;
    float precision;  // 1/3v
};
// Frames at some pixels, and the sharp picture blurred by each of some growing radii, r_0 = 0.
struct Comparison {
    const float *measured, *pictures;  // (frames, pixels), (radii, pixels)
    const double* radius;              // (frames, pixels), not negative
    const double* radii;               // (radii,)
    int frames, radii_count, pixels;
};
struct Vote {
    const float *depth, *trust, *picture;  // (H, W)
    const std::uint8_t* asked;             // (H, W)
    int labels, reach, kin;
    float per_frame;  // labels per frame
    float precision, alike;
    float clear;  // times the votes of its own depth with which another wins
};
// varfocus.edges.outline.likeness; all (H, W), the picture (H, W, C).
struct Likeness {
    const float* picture;
    int channels;
    const float *depth, *near, *far;
    const std::uint8_t *sure, *asked;
    int reach;
    float precision, side;
};
// varfocus.edges.consensus.agreed; slopes (2, H, W): down and to the right, picture (H, W, C).
struct Consensus {
    const float *depth, *slopes, *picture;
    int channels;
    const std::uint8_t* asked;
    int reach, bins;
    float last;  // frame: depths lie between 0 and this
    float precision, alike, apart;
    float clear, enough;  // how much likelier its own depth must be to stay, and its weight at least
};
// varfocus.edges.regions.planes; depth and label (H, W), labels below count.
struct RegionPlanes {
    const float* depth;
    const std::int32_t* label;
    int count;
    const std::int32_t* offset;  // pixels around, (offsets, 2), the closest first
    const float* away;           // and how far they are
    int offsets;
    float widest;  // beyond this, how far does not count
    double least;  // weight on the border of a region
    double tolerance, stiff;
    int rounds;
};
// fill.cpp. All (H, W): a depth, what it is worth, and α₁ with the price of jumps.
struct Filling {
    const float *d, *weight, *most;
    float bend, step;  // α₀ over α₁, and the step size of both kinds of variables
};
// All (H, W), in labels.
struct Confinement {
    const float *low, *high, *centre, *trust;
    float per_width;  // one over the half width of a peak in labels
    float pull, scale;
};

// --- the table -----------------------------------------------------------------------------------

// What exists once per type of pixel.
template <class Pixel>
struct PixelKernels {
    // Exact contrast of one frame.
    void (*contrast)(const FrameView<Pixel>& frame, ContrastOf<Pixel>* out, int threads);
    void (*accumulate)(const Batch<ContrastOf<Pixel>>& batch, Size size, Running running,
                       int threads);
    void (*two_scales)(const FrameView<Pixel>& frame, const TwoScales& how,
                       const ScaleOutputs& out, int threads);
    void (*warp)(const WarpView<Pixel>& view, Pixel* out, int threads);
    // Means over factor×factor pixels times `scale`; rows and columns left over are dropped.
    void (*shrink)(const Pixel* frame, Size from, int channels, int factor, float scale, float* out,
                   int threads);
};

struct Kernels {
    PixelKernels<std::uint8_t> of_8;
    PixelKernels<std::uint16_t> of_16;
    PixelKernels<float> of_float;

    // varfocus.contrast.box_mean.
    void (*box_mean)(const float* image, float* out, Size size, int window, int threads);
    // `planes` images at half the size, as varfocus.minimise.primal_dual.halve makes them.
    void (*halve)(const float* fine, float* coarse, int planes, Size fine_size, int threads);

    // Solves (I + λKᵀK) u = r after a cosine transform of the rows, which leaves a tridiagonal
    // system (1 + λe_x + λKᵀK) in every column, e_x the eigenvalue of that column. In place.
    void (*solve_columns)(float* spectrum, const float* e_x, Size size, float lam, int threads);
    // Solves (I + λKᵀK) u = r; u and r may be one.
    void (*screened_poisson)(const float* r, float* u, Size size, const CosineTables& tables,
                             const float* e_x, float lam, int threads);
    // d ← clip(u); g ← shrink(Kd + b); b ← (b + Kd − g) / growth; r ← d + λKᵀ(g − b) + τc′(d) with
    // the next λ. Returns −Σc(d), ‖Kd‖₂,₁, ‖Kd − g‖² and the squared change of d and g, or zeros if
    // they are not asked for.
    AdmmSums (*admm_update)(const AdmmStep& step, const AdmmVariables& variables, Size size,
                            int threads);
    // Iterates d (H, W) and p (2, H, W) in place.
    void (*primal_dual)(const PrimalDual& problem, float* d, float* p, Size size, int threads);
    // −Σ c(d) and ‖Kd‖₂,₁; `slope`, unless null, receives c′(d).
    EnergyTerms (*energy_terms)(const float* a, int degree, const float* d, float* slope, Size size,
                                int threads);
    // The lead of the curve's value at `index` over its largest value at frames further away than
    // `rival_distance`, relative to the curve's range over all frames; 0 where there is neither.
    void (*margin)(const float* a, int degree, const MarginTable& table, const float* index,
                   float* out, Size size, int threads);

    // F, M: `count` images each. Products of the features of each cell, (count, cells, 8, 8).
    void (*cell_products)(const float* F, const float* M, int count, Size size, int side,
                          double* out, int threads);

    // Half the size of an image (H, W, channels).
    void (*reduce)(const float* fine, float* coarse, Size fine_size, int channels, int threads);
    // fine ← fine + sign · the coarse image at its size.
    void (*add_expanded)(const float* coarse, float* fine, float sign, Size fine_size, int channels,
                         int threads);
    // Takes in one frame's coefficients of a level.
    void (*fusion_level)(const FusionFrame& frame, const FusionLevel& level, Size size,
                         int channels, int threads);

    // Curves v (frames, pixels). Largest product of each, and at which width · labels + label. If
    // `even` is not 0, the first `even` numbers of templates and curves are those of their even
    // halves, the others of the odd ones: then also, in a second row of best and number, with all
    // templates seen backwards.
    void (*best_match)(const Templates& bank, int even, const float* v, int pixels, float* best,
                       std::int32_t* number, int threads);
    // max over widths of max(⟨T, v⟩, 0)², (labels, pixels).
    void (*explained)(const Templates& bank, const float* v, int pixels, float* out, int threads);
    // contrast: rows of (scales · frames, H, W), `plane` numbers apart; lost (h, W); out
    // (h, W, stride).
    void (*cost)(const CostModel& model, const std::uint16_t* contrast, std::ptrdiff_t plane,
                 const float* lost, float* out, Size size, int threads);
    void (*semi_global)(const SemiGlobal& problem, Size size, int threads);
    // varfocus.minimise.semi_global.lowest; at least 3 labels.
    void (*lowest)(const float* volume, int labels, int stride, float* out, Size size, int threads);
    // Lead over the best label further away than `distance`, second difference over `reach` labels,
    // both of `total`, and the cubic's value of `cost`, at a fractional label.
    void (*judge)(const Judgement& how, const float* total, const float* cost, const float* label,
                  float* lead, float* bend, float* value, Size size, int threads);
    void (*cut_windows)(const float* cost, const float* label, int labels, int stride, Windows out,
                        Size size, int threads);
    void (*tgv_iterate)(const TgvProblem& problem, const TgvState& state, int iterations, Size size,
                        int threads);
    // m and h of every pixel, (H, W).
    void (*parabolas)(const Windows& windows, const ParabolaLimits& how, const float* d, float* m,
                      float* h, Size size, int threads);

    // Σ_k log(1 + (measured − picture)²/3v), (labels, H, W).
    void (*reblur)(const Reblur& problem, Size size, float* out, int threads);
    // off: measured − picture of the radius, linear between two; nearest: number of the closest one.
    void (*compare)(const Comparison& problem, float* off, std::int32_t* nearest, int threads);
    // closeness: weights (2·reach + 1)² of neighbours by distance; out: (H, W).
    void (*vote)(const Vote& problem, const float* closeness, Size size, float* out, int threads);
    // closeness as for vote; sums: (6, H, W), written where asked.
    void (*likeness)(const Likeness& problem, const float* closeness, Size size, float* sums,
                     int threads);
    // closeness as for vote; out: (H, W).
    void (*consensus)(const Consensus& problem, const float* closeness, Size size, float* out,
                      int threads);
    // labels: (count, H, W), a picture (H, W, C) cut by each of the grains. On one thread.
    void (*segments)(const float* picture, int channels, Size size, const double* grains,
                     const std::int32_t* least, int count, std::int32_t* labels);
    // Planes of the regions are added to out, (H, W). On one thread.
    void (*region_planes)(const RegionPlanes& problem, Size size, float* out);
    // u (H, W) and v (2, H, W), in place.
    void (*fill_depth)(const Filling& problem, float* u, float* v, Size size, int iterations,
                       int threads);
    // cost (H, W, stride), in place.
    void (*confine)(const Confinement& how, int labels, int stride, float* cost, Size size,
                    int threads);

    // change, error: (H, W); colour: (channels, H, W). On one thread.
    void (*edge_judge)(const EdgePatch& patch, float tau2, float sharp, float* change, float* error,
                       float* colour);
    void (*edge_plain_error)(const EdgePatch& patch, float tau2, float* error);
    // The closest pixel of a mask (H, W), within reach; of equals the one of the highest rank.
    void (*closest)(const std::uint8_t* mask, const float* rank, int reach, Size size,
                    float* distance, std::int64_t* place, int threads);
    // planes, out: (count, H, W); an odd number of taps.
    void (*edge_convolve)(const float* planes, int count, const float* taps, int taps_count,
                          float* out, Size size);
};

// The kernels in use: dispatch.cpp.
const Kernels& kernels();

}  // namespace varfocus
