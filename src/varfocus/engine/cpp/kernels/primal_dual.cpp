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
//
// The first stage that meets a row writes its curves as polynomials c′(s) = E(s²) + s O(s²), for
// itself and the stages behind it. That takes half the operations of Clenshaw's recurrence, whose
// every step waits for the one before, and is as exact as single precision allows up to degree 8:
// rounding moves c′ by less than 3·10⁻⁴ of the largest coefficient.

#include "blocks.hpp"
#include "curve.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

// Iterations per sweep: as many as keep their rows within a share of the second-level cache.
constexpr int MOST_STAGES = 8;
constexpr std::ptrdiff_t CACHE_BYTES = 800 * 1024;

// Scratch rows of one thread: c′, c″, p_x behind a zero, and per stage 2d_new − d_old of two rows
// and the polynomials of one row.
struct Scratch {
    Buffer<float> rows, polynomials;
    std::size_t width, stages;
    float limit = X_MAX;  // a constant would turn min and max into comparisons
    Scratch(int width_, int stages_, int degree)
        : rows((3 + 2 * std::size_t(stages_)) * (std::size_t(width_) + 1)),
          polynomials(std::size_t(stages_) * std::size_t(degree) * std::size_t(width_)),
          width(std::size_t(width_) + 1),
          stages(std::size_t(stages_)) {}
    float* first() { return rows.data(); }
    float* second() { return rows.data() + width; }
    float* left() { return rows.data() + 2 * width; }
    float* ahead(int stage, int y) {
        return rows.data() + (3 + 2 * std::size_t(stage) + std::size_t(y & 1)) * width;
    }
    float* polynomial(int y) {
        return polynomials.data() + std::size_t(y) % stages * (polynomials.size() / stages);
    }
};

// Coefficients of the Chebyshev polynomials of the second kind: U_m(s) = Σ U[m][k] sᵏ.
constexpr float U[8][8] = {{1},
                           {0, 2},
                           {-1, 0, 4},
                           {0, -4, 0, 8},
                           {1, 0, -12, 0, 16},
                           {0, 6, 0, -32, 0, 32},
                           {-1, 0, 24, 0, -80, 0, 64},
                           {0, -8, 0, 80, 0, -192, 0, 128}};

// c′(s) = Σ m a_m U_{m−1}(s) of a row as Σ q_k sᵏ, q (degree, width).
template <int DEGREE, int K>
VARFOCUS_INLINE void coefficient(const CurveRow& curve, float* VARFOCUS_RESTRICT q) {
    const float* VARFOCUS_RESTRICT a = curve.a;
    for (int x = 0; x < curve.width; ++x) {
        float sum = (float(K + 1) * U[K][K]) * a[(K + 1) * curve.plane + x];
#pragma GCC unroll 16
        for (int m = K + 2; m < DEGREE; m += 2) {
            sum += (float(m + 1) * U[m][K]) * a[(m + 1) * curve.plane + x];
        }
        q[x] = sum;
    }
    if constexpr (K + 1 < DEGREE) coefficient<DEGREE, K + 1>(curve, q + curve.width);
}

// c′(s) and c″(s) of one pixel: E(t) + s O(t) and O(t) + 2 (s E′(t) + t O′(t)), t = s².
template <int DEGREE>
VARFOCUS_INLINE void slopes_of(const float* q, int width, float s, float& first, float& second) {
    constexpr int LAST_EVEN = (DEGREE - 1) / 2 * 2, LAST_ODD = (DEGREE / 2) * 2 - 1;
    const float t = s * s;
    float even = q[LAST_EVEN * width], even_slope = 0.0f;
#pragma GCC unroll 16
    for (int k = LAST_EVEN - 2; k >= 0; k -= 2) {
        even_slope = k == LAST_EVEN - 2 ? even : even_slope * t + even;
        even = even * t + q[k * width];
    }
    float odd = q[LAST_ODD * width], odd_slope = 0.0f;
#pragma GCC unroll 16
    for (int k = LAST_ODD - 2; k >= 1; k -= 2) {
        odd_slope = k == LAST_ODD - 2 ? odd : odd_slope * t + odd;
        odd = odd * t + q[k * width];
    }
    first = (even + s * odd) * (1.0f / X_MAX);
    second = (odd + 2.0f * (s * even_slope + t * odd_slope)) * (1.0f / (X_MAX * X_MAX));
}

// d ← clip(d + (c′(d) − Kᵀp) / (8σ + |c″(d)|)); ahead ← 2d_new − d_old. `left[x]` is p_x[x − 1], or
// zero. p vanishes in the last column and row, so −Kᵀp is a plain backward difference.
template <int DEGREE, bool ABOVE>
void move_d(const float* VARFOCUS_RESTRICT q, int width, float sigma, float* VARFOCUS_RESTRICT d,
            const float* p_x, const float* left, const float* VARFOCUS_RESTRICT p_y,
            const float* VARFOCUS_RESTRICT p_y_above, const float* VARFOCUS_RESTRICT firsts,
            const float* VARFOCUS_RESTRICT seconds, float limit, float* VARFOCUS_RESTRICT ahead) {
    const float floor = 8.0f * sigma;
    VARFOCUS_INDEPENDENT
    for (int x = 0; x < width; ++x) {
        float first, second;
        if constexpr (DEGREE > 0) {
            slopes_of<DEGREE>(q + x, width, d[x] * (1.0f / X_MAX), first, second);
        } else {
            first = firsts[x], second = seconds[x];
        }
        const float down = ABOVE ? p_y[x] - p_y_above[x] : p_y[x];
        const float force = (p_x[x] - left[x]) + down;
        const float bend = fabsf(second);
        const float moved = d[x] + (first + force) / (floor + bend);
        const float clipped = smaller(larger(moved, -limit), limit);
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
    const int width = size.width;
    const std::ptrdiff_t at = std::ptrdiff_t(i) * width;
    float *p_x = p + at, *p_y = p + size.pixels() + at;
    if (i < size.height) {
        const CurveRow curve{problem.a + at, size.pixels(), problem.degree, width};
        const float* left = p_x - 1;  // of later rows the last number of the row above, a zero
        if (i == 0) {
            scratch.left()[0] = 0.0f;
            copy_to(scratch.left() + 1, p_x, width);
            left = scratch.left();
        }
        with_degree(problem.degree, [&](auto degree) {
            constexpr int DEGREE = decltype(degree)::value;
            float* q = scratch.polynomial(i);
            if constexpr (DEGREE == 0) {
                slopes_of_any_degree(curve, d + at, scratch.first(), scratch.second());
            } else if (stage == 0) {
                coefficient<DEGREE, 0>(curve, q);
            }
            const auto move = i > 0 ? move_d<DEGREE, true> : move_d<DEGREE, false>;
            move(q, width, problem.sigma, d + at, p_x, left, p_y, p_y - width, scratch.first(),
                 scratch.second(), scratch.limit, scratch.ahead(stage, i));
        });
    }
    if (i > 0) {
        const float* ahead = scratch.ahead(stage, i - 1);
        move_p(problem.alpha, problem.sigma, width, ahead,
               i < size.height ? scratch.ahead(stage, i) : ahead, p_x - width, p_y - width);
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
        [&] { return Scratch(size.width, stages, problem.degree); },
        [&](int i, int stage, Scratch& scratch) { step(problem, d, p, size, i, stage, scratch); });
}

}  // namespace

void enter_primal_dual(Kernels& table) {
    table.primal_dual = primal_dual;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
