// What the kernels compute. The array code of the same name is the definition.
//
// All images are row-major and contiguous unless a stride is given; height and width are at least
// one; callers have checked every size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace varfocus {

struct Size {
    int height, width;
    std::ptrdiff_t pixels() const { return std::ptrdiff_t(height) * width; }
};

// Pixels of one frame: `channels` numbers next to each other, strides in numbers.
template <class Pixel>
struct FrameView {
    const Pixel* data;
    Size size;
    int channels;
    std::ptrdiff_t row_stride, pixel_stride;
};

// --- front.cpp: varfocus.front.ContrastPass ------------------------------------------------

// How many frames are put by before the coefficients, 36 bytes per pixel, are touched again.
constexpr int BATCH = 8;

// Exact contrast of one frame. 8-bit frames have contrast below 2^12, 16-bit ones below 2^20.
void contrast(const FrameView<std::uint8_t>& frame, std::uint16_t* out, int threads);
void contrast(const FrameView<std::uint16_t>& frame, std::int32_t* out, int threads);
void contrast(const FrameView<float>& frame, float* out, int threads);

// The running results of all frames so far; (degree + 1, H, W) and (H, W).
struct Running {
    float *coefficients, *peak, *best, *index;
};

// Takes in `count` ≤ BATCH contrast images: slots (count, H, W), weights (degree + 1, count),
// frame numbers (count). `best` holds windowed sums, not means, in the unit of the slots.
template <class Contrast>
struct Batch {
    const Contrast* slots;
    const float *weights, *numbers;
    int count, degree, window;
    float scale;
};
void accumulate(const Batch<std::uint16_t>& batch, Size size, Running running, int threads);
void accumulate(const Batch<std::int32_t>& batch, Size size, Running running, int threads);
void accumulate(const Batch<float>& batch, Size size, Running running, int threads);

// --- filters.cpp ------------------------------------------------------------------------

// varfocus.contrast.box_mean.
void box_mean(const float* image, float* out, Size size, int window, int threads);

// Means over 2×2 pixels of `planes` images; an odd last row or column is its own partner.
void halve(const float* fine, float* coarse, int planes, Size fine_size, int threads);

// --- admm.cpp: varfocus.minimise.admm -----------------------------------------------------

struct AdmmStep {
    const float* a;  // (degree + 1, H, W)
    int degree;
    float alpha, tau, lam, next_lam, growth;
    bool multipliers;
};
// u: solution of the linear system; d, g, b: updated; r: the next right-hand side.
struct AdmmVariables {
    const float* u;         // (H, W)
    float *d, *g, *b, *r;  // (H, W), (2, H, W), (2, H, W), (H, W)
};
struct AdmmSums {
    double data, tv, constraint, change;
};

// Solves (I + λKᵀK) u = r after a cosine transform of the rows, which leaves a tridiagonal system
// (1 + λe_x + λKᵀK) in every column, e_x the eigenvalue of that column. In place.
void solve_columns(float* spectrum, const float* e_x, Size size, float lam, int threads);

// d ← clip(u); g ← shrink(Kd + b); b ← (b + Kd − g) / growth; r ← d + λKᵀ(g − b) + τc′(d) with
// the next λ. Returns −Σc(d), ‖Kd‖₂,₁, ‖Kd − g‖² and the squared change of d and g.
AdmmSums admm_update(const AdmmStep& step, const AdmmVariables& variables, Size size, int threads);

// --- primal_dual.cpp: varfocus.minimise.primal_dual ------------------------------------------

struct PrimalDual {
    const float* a;  // (degree + 1, H, W)
    int degree;
    float alpha, sigma;
    int iterations;
};

// Iterates d (H, W) and p (2, H, W) in place.
void primal_dual(const PrimalDual& problem, float* d, float* p, Size size, int threads);

// --- energy.cpp: varfocus.energy -------------------------------------------------------------

struct EnergyTerms {
    double data, tv;
};

// −Σ c(d) and ‖Kd‖₂,₁; `slope`, unless null, receives c′(d).
EnergyTerms energy_terms(const float* a, int degree, const float* d, float* slope, Size size,
                         int threads);

// --- margin.cpp: varfocus.depth.curve_margin -------------------------------------------------

struct MarginTable {
    const float* basis;  // T_m(x_k), (frames, degree + 1)
    int frames;          // at least 2
    float rival_distance;
};

// The lead of the curve's value at `index` over its largest value at frames further away than
// `rival_distance`, relative to the curve's range over all frames; 0 where there is neither.
void margin(const float* a, int degree, const MarginTable& table, const float* index, float* out,
            Size size, int threads);

// --- edges.cpp: varfocus.edges.judge ---------------------------------------------------------

// A piece of the stack cut into layers; labels are in [0, layers).
struct EdgePatch {
    const float* frames;  // (frames_count, channels, H, W)
    int frames_count, channels;
    const std::int32_t *label, *near, *far;  // (H, W)
    const float* sigma;                      // (frames_count, layers)
    int layers;
    Size size;
};

// change, error: (H, W); colour: (channels, H, W). On one thread.
void edge_judge(const EdgePatch& patch, float tau2, float sharp, float* change, float* error,
                float* colour);
void edge_plain_error(const EdgePatch& patch, float tau2, float* error);

}  // namespace varfocus
