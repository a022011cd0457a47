// Total generalised variation on one level of a pyramid: varfocus.minimise.tgv.
//
// Temporal blocking as in primal_dual.cpp. Step i of an iteration moves row i of d and v, and then
// those dual variables whose differences reach no further down: p_x, q_xx and q_yy of row i, p_y
// and q_xy of the row above. What row i of the next iteration needs of them is done after step
// i + 1, and rows of d and v that later steps look at are kept beside.

#include "blocks.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int MOST_STAGES = 8;
constexpr std::ptrdiff_t CACHE_BYTES = 800 * 1024;
constexpr int PLANES = 15;  // of all variables and the data
constexpr float ROOT_HALF = 0.70710678118654752440f;

// Rows of one thread: per stage 2d_new − d_old, and the same of v_x and v_y, of two rows, each with
// a pixel to the right; and a row of zeros.
struct Scratch {
    Buffer<float> rows;
    std::size_t width;
    Scratch(int width_, int stages)
        : rows((1 + 6 * std::size_t(stages)) * (std::size_t(width_) + 1), 0.0f),
          width(std::size_t(width_) + 1) {}
    float* zeros() { return rows.data(); }
    float* ahead(int stage, int plane, int y) {
        return rows.data() + (1 + 6 * std::size_t(stage) + 2 * std::size_t(plane) + (y & 1)) * width;
    }
};

VARFOCUS_INLINE float bounded(float value, float most) {
    return smaller(larger(value, -most), most);
}

// d ← d − (h(d − m) + Kᵀp) / (11σ + h), and 2d_new − d_old.
void move_d(const float* VARFOCUS_RESTRICT m, const float* VARFOCUS_RESTRICT h, float floor,
            const float* VARFOCUS_RESTRICT p_x, const float* VARFOCUS_RESTRICT p_y,
            const float* VARFOCUS_RESTRICT p_above, int width, float* VARFOCUS_RESTRICT d,
            float* VARFOCUS_RESTRICT ahead) {
    const auto move = [&](int x, float before) {
        // Pairs that turning the image exchanges are added first: all turns are rounded alike.
        const float force = (before - p_x[x]) + (p_above[x] - p_y[x]);
        const float old = d[x];
        const float moved = old - (h[x] * (old - m[x]) + force) / (floor + h[x]);
        ahead[x] = 2.0f * moved - old;
        d[x] = moved;
    };
    move(0, 0.0f);
    VARFOCUS_INDEPENDENT
    for (int x = 1; x < width; ++x) move(x, p_x[x - 1]);
}

// v_x ← v_x + (p_x − (Eᵀq)_x) / 12σ, and 2v_new − v_old. Beyond its last number q_xx is zero.
void move_v_x(const float* VARFOCUS_RESTRICT p, const float* VARFOCUS_RESTRICT q,
              const float* VARFOCUS_RESTRICT shear, const float* VARFOCUS_RESTRICT shear_above,
              float slant, int width, float* VARFOCUS_RESTRICT v, float* VARFOCUS_RESTRICT ahead) {
    const auto move = [&](int x, float next) {
        const float force = (q[x] - next) + ROOT_HALF * (shear_above[x] - shear[x]);
        const float old = v[x], moved = old + (p[x] - force) * slant;
        ahead[x] = 2.0f * moved - old;
        v[x] = moved;
    };
    VARFOCUS_INDEPENDENT
    for (int x = 0; x < width - 1; ++x) move(x, q[x + 1]);
    move(width - 1, 0.0f);
}

// The same of v_y.
void move_v_y(const float* VARFOCUS_RESTRICT p, const float* VARFOCUS_RESTRICT q,
              const float* VARFOCUS_RESTRICT q_below, const float* VARFOCUS_RESTRICT shear,
              float slant, int width, float* VARFOCUS_RESTRICT v, float* VARFOCUS_RESTRICT ahead) {
    const auto move = [&](int x, float before) {
        const float force = (q[x] - q_below[x]) + ROOT_HALF * (before - shear[x]);
        const float old = v[x], moved = old + (p[x] - force) * slant;
        ahead[x] = 2.0f * moved - old;
        v[x] = moved;
    };
    move(0, 0.0f);
    VARFOCUS_INDEPENDENT
    for (int x = 1; x < width; ++x) move(x, shear[x - 1]);
}

// p ← bounded(p + σ(to − from − v)) of links between two rows, or of a row and itself shifted.
void move_p(const float* VARFOCUS_RESTRICT from, const float* VARFOCUS_RESTRICT to,
            const float* VARFOCUS_RESTRICT v, const float* VARFOCUS_RESTRICT held, float sigma,
            int width, float* VARFOCUS_RESTRICT p) {
    for (int x = 0; x < width; ++x) {
        p[x] = bounded(p[x] + sigma * ((to[x] - from[x]) - v[x]), held[x]);
    }
}

// q ← bounded(q + σ(to − from)).
void move_q(const float* VARFOCUS_RESTRICT from, const float* VARFOCUS_RESTRICT to,
            const float* VARFOCUS_RESTRICT bent, float sigma, int width,
            float* VARFOCUS_RESTRICT q) {
    for (int x = 0; x < width; ++x) q[x] = bounded(q[x] + sigma * (to[x] - from[x]), bent[x]);
}

// q_xy ← bounded(q_xy + σ(∂_y v_x + ∂_x v_y)/√2) of the corners below a row.
void move_shear(const float* VARFOCUS_RESTRICT v_x, const float* VARFOCUS_RESTRICT v_x_below,
                const float* VARFOCUS_RESTRICT v_y, const float* VARFOCUS_RESTRICT bent,
                float sigma, int width, float* VARFOCUS_RESTRICT q) {
    for (int x = 0; x < width; ++x) {
        const float sum = (v_x_below[x] - v_x[x]) + (v_y[x + 1] - v_y[x]);
        q[x] = bounded(q[x] + sigma * (ROOT_HALF * sum), bent[x]);
    }
}

void step(const TgvProblem& problem, const TgvState& state, Size size, int y, int stage,
          Scratch& scratch) {
    const int width = size.width;
    const std::ptrdiff_t all = size.pixels(), at = std::ptrdiff_t(y) * width, above = at - width;
    const float sigma = problem.sigma, slant = 1.0f / (12.0f * sigma);
    float *p_x = state.p, *p_y = state.p + all;
    float *q_xx = state.q, *q_yy = state.q + all, *q_xy = state.q + 2 * all;
    float* zeros = scratch.zeros();
    const bool first = y == 0, last = y == size.height - 1;
    const auto ahead = [&](int plane, int row) { return scratch.ahead(stage, plane, row); };
    float *d = ahead(0, y), *v_x = ahead(1, y), *v_y = ahead(2, y);
    move_d(problem.m + at, problem.h + at, 11.0f * sigma, p_x + at, p_y + at,
           first ? zeros : p_y + above, width, state.d + at, d);
    move_v_x(p_x + at, q_xx + at, q_xy + at, first ? zeros : q_xy + above, slant, width,
             state.v + at, v_x);
    move_v_y(p_y + at, q_yy + at, last ? zeros : q_yy + at + width, q_xy + at, slant, width,
             state.v + all + at, v_y);
    // Bounds are zero where there is no link and no corner; any finite number does there.
    d[width] = v_x[width] = v_y[width] = 0.0f;
    move_p(d, d + 1, v_x, problem.held + at, sigma, width, p_x + at);
    if (width > 1) {
        move_q(v_x, v_x + 1, problem.bent + at + 1, sigma, width - 1, q_xx + at + 1);
    }
    if (first) return;
    const float *d_above = ahead(0, y - 1), *v_x_above = ahead(1, y - 1);
    const float* v_y_above = ahead(2, y - 1);
    move_q(v_y_above, v_y, problem.bent + all + at, sigma, width, q_yy + at);
    move_p(d_above, d, v_y_above, problem.held + all + above, sigma, width, p_y + above);
    move_shear(v_x_above, v_x, v_y_above, problem.bent + 2 * all + above, sigma, width,
               q_xy + above);
}

int stages_for(Size size) {
    const std::ptrdiff_t row_bytes = std::ptrdiff_t(size.width) * 4 * (PLANES + 6);
    const std::ptrdiff_t fit = CACHE_BYTES / row_bytes - 2;
    // Rows too long for that live in the next cache, which has room for all stages.
    return fit < 3 ? MOST_STAGES : int(fit < MOST_STAGES ? fit : MOST_STAGES);
}

void tgv_iterate(const TgvProblem& problem, const TgvState& state, int iterations, Size size,
                 int threads) {
    if (iterations < 1) return;
    const int stages = smaller(stages_for(size), iterations);
    run_sweeps(
        iterations, stages, size.height, threads, [&] { return Scratch(size.width, stages); },
        [&](int y, int stage, Scratch& scratch) { step(problem, state, size, y, stage, scratch); });
}

constexpr int ROWS_PER_BLOCK = 32;

// Of one row: where d lies among its samples, and the parabola of the cubic there.
struct Samples {
    Buffer<float> place, near;  // four samples of each pixel, one plane each
    explicit Samples(int width) : place(std::size_t(width)), near(4 * std::size_t(width)) {}
};

void parabolas_of_row(const Windows& windows, std::ptrdiff_t at, const ParabolaLimits& how,
                      const float* VARFOCUS_RESTRICT d, int width, Samples& scratch,
                      float* VARFOCUS_RESTRICT m, float* VARFOCUS_RESTRICT h) {
    const float per_step = 1.0f / how.step;
    float *VARFOCUS_RESTRICT t = scratch.place.data(), *VARFOCUS_RESTRICT near = scratch.near.data();
    for (int x = 0; x < width; ++x) {
        const float u = d[x] * per_step - float(windows.base[at + x]);
        const int i = clamped(int(u), 0, WINDOW - 4);
        const std::uint16_t* from = windows.samples + (at + x) * WINDOW + i;
        for (int k = 0; k < 4; ++k) near[k * width + x] = float(from[k]);
        t[x] = u - float(i);
    }
    const float *VARFOCUS_RESTRICT a = near, *VARFOCUS_RESTRICT b = near + width;
    const float *VARFOCUS_RESTRICT c = near + 2 * width, *VARFOCUS_RESTRICT e = near + 3 * width;
    const float* VARFOCUS_RESTRICT scale = windows.scale + at;
    for (int x = 0; x < width; ++x) {
        const float square = 2.0f * (a[x] - 2.5f * b[x] + 2.0f * c[x] - 0.5f * e[x]);
        const float cube = 3.0f * (1.5f * (b[x] - c[x]) + 0.5f * (e[x] - a[x]));
        const float unit = scale[x] * per_step;
        const float slope = unit * (0.5f * (c[x] - a[x]) + t[x] * (square + t[x] * cube));
        const float bend = larger(unit * per_step * (square + 2.0f * t[x] * cube), 0.0f);
        m[x] = d[x] - bounded(slope / larger(bend, how.least), how.reach);
        h[x] = bend;
    }
}

void parabolas(const Windows& windows, const ParabolaLimits& how, const float* d, float* m,
               float* h, Size size, int threads) {
    for_row_blocks(
        size.height, ROWS_PER_BLOCK, threads, [&] { return Samples(size.width); },
        [&](int, int first, int end, Samples& scratch) {
            for (int y = first; y < end; ++y) {
                const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width;
                parabolas_of_row(windows, at, how, d + at, size.width, scratch, m + at, h + at);
            }
        });
}

}  // namespace

void enter_tgv(Kernels& table) {
    table.tgv_iterate = tgv_iterate;
    table.parabolas = parabolas;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
