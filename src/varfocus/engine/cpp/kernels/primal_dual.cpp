// Primal-dual iterations with temporal blocking.
//
// One iteration touches 60 bytes per pixel and computes little, so plain sweeps wait for memory.
// Here a thread carries several iterations ("stages") down the image at once, each one row behind
// the one before it, while the rows between them stay in its cache. The next thread follows with
// the next stages as soon as the rows it needs are done. Every row of every iteration sees exactly
// the values it would see in plain sweeps, so the result depends neither on the number of
// threads nor on the number of stages.
//
// Step i of an iteration moves row i of d, then row i − 1 of p, whose differences reach down to
// row i. Hence row i of d may be moved by the next iteration once step i + 1 is done.

#include "blocks.hpp"
#include "curve.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

// Iterations per sweep: as many as keep their rows within a share of the second-level cache.
constexpr int MOST_STAGES = 8;
constexpr std::ptrdiff_t CACHE_BYTES = 800 * 1024;

// Scratch rows of one thread: force, c′, c″, and per stage 2d_new − d_old of two rows.
struct Scratch {
    Buffer<float> rows;
    std::size_t width;
    Scratch(int width_, int stages)
        : rows((3 + 2 * std::size_t(stages)) * (std::size_t(width_) + 1)),
          width(std::size_t(width_) + 1) {}
    float* force() { return rows.data(); }
    float* first() { return rows.data() + width; }
    float* second() { return rows.data() + 2 * width; }
    float* ahead(int stage, int y) {
        return rows.data() + (3 + 2 * std::size_t(stage) + std::size_t(y & 1)) * width;
    }
};

// d ← clip(d + (c′(d) − Kᵀp) / (8σ + |c″(d)|)); ahead ← 2d_new − d_old.
// p vanishes in the last column and row, so −Kᵀp is a plain backward difference.
void move_d(const CurveRow& curve, float sigma, float* VARFOCUS_RESTRICT d,
            const float* VARFOCUS_RESTRICT p_x, const float* VARFOCUS_RESTRICT p_y,
            const float* VARFOCUS_RESTRICT p_y_above, float* VARFOCUS_RESTRICT force,
            float* VARFOCUS_RESTRICT first, float* VARFOCUS_RESTRICT second,
            float* VARFOCUS_RESTRICT ahead) {
    const int width = curve.width;
    force[0] = p_x[0];
    for (int x = 1; x < width; ++x) force[x] = p_x[x] - p_x[x - 1];
    if (p_y_above) {
        for (int x = 0; x < width; ++x) force[x] += p_y[x] - p_y_above[x];
    } else {
        for (int x = 0; x < width; ++x) force[x] += p_y[x];
    }
    slopes(curve, d, first, second);
    const float floor = 8.0f * sigma;
    for (int x = 0; x < width; ++x) {
        const float bend = second[x] < 0.0f ? -second[x] : second[x];
        const float moved = d[x] + (first[x] + force[x]) / (floor + bend);
        const float clipped = smaller(larger(moved, -X_MAX), X_MAX);
        ahead[x] = 2.0f * clipped - d[x];
        d[x] = clipped;
    }
    ahead[width] = ahead[width - 1];  // no difference across the right border
}

// p ← project(p + σK(ahead), α); at the bottom `below` is `ahead` itself.
void move_p(float alpha, float sigma, int width, const float* ahead, const float* below,
            float* VARFOCUS_RESTRICT p_x, float* VARFOCUS_RESTRICT p_y) {
    for (int x = 0; x < width; ++x) {
        const float q_x = p_x[x] + sigma * (ahead[x + 1] - ahead[x]);
        const float q_y = p_y[x] + sigma * (below[x] - ahead[x]);
        const float length = square_root(q_x * q_x + q_y * q_y);
        const float factor = alpha / larger(length, alpha);
        p_x[x] = q_x * factor;
        p_y[x] = q_y * factor;
    }
}

// Step `i` of one stage, 0 ≤ i ≤ height.
void step(const PrimalDual& problem, float* d, float* p, Size size, int i, int stage,
          Scratch& scratch) {
    const std::ptrdiff_t at = std::ptrdiff_t(i) * size.width;
    float *p_x = p + at, *p_y = p + size.pixels() + at;
    if (i < size.height) {
        const CurveRow curve{problem.a + at, size.pixels(), problem.degree, size.width};
        move_d(curve, problem.sigma, d + at, p_x, p_y, i > 0 ? p_y - size.width : nullptr,
               scratch.force(), scratch.first(), scratch.second(), scratch.ahead(stage, i));
    }
    if (i > 0) {
        const float* ahead = scratch.ahead(stage, i - 1);
        move_p(problem.alpha, problem.sigma, size.width, ahead,
               i < size.height ? scratch.ahead(stage, i) : ahead, p_x - size.width,
               p_y - size.width);
    }
}

int stages_for(const PrimalDual& problem, Size size) {
    const std::ptrdiff_t row_bytes = std::ptrdiff_t(size.width) * 4 * (problem.degree + 1 + 3 + 2);
    const std::ptrdiff_t fit = CACHE_BYTES / row_bytes - 2;
    // Rows too long for that live in the next cache, which has room for all stages.
    return fit < 3 ? MOST_STAGES : int(fit < MOST_STAGES ? fit : MOST_STAGES);
}

void primal_dual(const PrimalDual& problem, float* d, float* p, Size size, int threads) {
    if (problem.iterations < 1) return;
    const int stages = smaller(stages_for(problem, size), problem.iterations);
    run_sweeps(
        problem.iterations, stages, size.height + 1, threads,
        [&] { return Scratch(size.width, stages); },
        [&](int i, int stage, Scratch& scratch) { step(problem, d, p, size, i, stage, scratch); });
}

}  // namespace

void enter_primal_dual(Kernels& table) {
    table.primal_dual = primal_dual;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
