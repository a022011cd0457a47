// The pass of the linearised ADMM between two linear systems (cosine.cpp).
//
// It is one pass over the image: the iteration is bound by memory, and the 36 bytes of coefficients
// per pixel are read once, for the energy of this iterate and the slope that the next one starts
// from.

#include "blocks.hpp"
#include "curve.hpp"
#include "set.hpp"
#include "sums.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int ROWS_PER_BLOCK = 32;
constexpr float TINY = 1e-30f;

VARFOCUS_INLINE float clip(float x) { return smaller(larger(x, -X_MAX), X_MAX); }

// Pointers to one row of every variable, and scratch rows of the same width.
struct Row {
    const float* before;
    float *d, *g_x, *g_y, *b_x, *b_y, *r;
    float *value, *slope, *tv, *constraint, *change;
};

// d ← clip(u), and the differences, shrinkage, multiplier and, if asked for, sums of one row.
// `below` is the next row of u, or this row itself at the bottom, where the difference is zero.
//
// All in one loop, so that roots and divisions of one pixel hide behind the polynomial of the next.
template <int DEGREE, bool TRACED>
void update_row(const AdmmStep& step, const float* VARFOCUS_RESTRICT u,
                const float* VARFOCUS_RESTRICT below, const CurveRow& curve, const Row& row,
                AdmmSums& sums) {
    const int width = curve.width;
    const float *VARFOCUS_RESTRICT a = curve.a, *VARFOCUS_RESTRICT before = row.before;
    float *VARFOCUS_RESTRICT d = row.d, *VARFOCUS_RESTRICT r = row.r;
    float *VARFOCUS_RESTRICT g_x = row.g_x, *VARFOCUS_RESTRICT g_y = row.g_y;
    float *VARFOCUS_RESTRICT b_x = row.b_x, *VARFOCUS_RESTRICT b_y = row.b_y;
    float *VARFOCUS_RESTRICT value = row.value, *VARFOCUS_RESTRICT slope = row.slope;
    float *VARFOCUS_RESTRICT tv = row.tv, *VARFOCUS_RESTRICT constraint = row.constraint;
    float* VARFOCUS_RESTRICT change = row.change;
    const float threshold = step.alpha * step.tau / step.lam, fade = 1.0f / step.growth;
    const float keep_b = step.multipliers ? fade : 0.0f, tau = step.tau;
    for (int x = 0; x < width; ++x) d[x] = clip(u[x]);
    if constexpr (DEGREE == 0) values_of_any_degree(curve, d, value, slope);
    const auto pixel = [&](int x, float kd_x) {
        const float here = d[x], kd_y = clip(below[x]) - here;
        const float z_x = kd_x + b_x[x], z_y = kd_y + b_y[x];
        const float length = square_root(z_x * z_x + z_y * z_y);
        // A vector of length zero stays zero; a branch for it would keep the loop from SIMD.
        const float kept = larger(length - threshold, 0.0f) / larger(length, TINY);
        const float new_x = z_x * kept, new_y = z_y * kept;
        if constexpr (TRACED) {
            const float moved = here - before[x];
            const float moved_x = new_x - g_x[x], moved_y = new_y - g_y[x];
            const float gap_x = kd_x - new_x, gap_y = kd_y - new_y;
            tv[x] = square_root(kd_x * kd_x + kd_y * kd_y);
            constraint[x] = gap_x * gap_x + gap_y * gap_y;
            change[x] = moved * moved + (moved_x * moved_x + moved_y * moved_y);
        }
        g_x[x] = new_x;
        g_y[x] = new_y;
        b_x[x] = keep_b * (z_x - new_x);
        b_y[x] = keep_b * (z_y - new_y);
        float first;
        if constexpr (DEGREE == 0) {
            first = slope[x];
        } else if constexpr (TRACED) {
            value_at<DEGREE>(a + x, curve.plane, here, value[x], first);
        } else {
            first = slope_at<DEGREE>(a + x, curve.plane, here);
        }
        r[x] = here + tau * first;
    };
    VARFOCUS_INDEPENDENT
    for (int x = 0; x < width - 1; ++x) pixel(x, clip(u[x + 1]) - d[x]);
    pixel(width - 1, 0.0f);  // no difference across the right border
    if constexpr (TRACED) {
        sums.data -= row_sum(value, width);
        sums.tv += row_sum(tv, width);
        sums.constraint += row_sum(constraint, width);
        sums.change += row_sum(change, width);
    }
}

// r += λKᵀ(g − b) in one row; `above` says whether there is a row above.
void add_adjoint(const Row& row, int width, bool above, float lam) {
    const float *VARFOCUS_RESTRICT g_x = row.g_x, *VARFOCUS_RESTRICT g_y = row.g_y;
    const float *VARFOCUS_RESTRICT b_x = row.b_x, *VARFOCUS_RESTRICT b_y = row.b_y;
    float* VARFOCUS_RESTRICT r = row.r;
    // g and b vanish in the last column and row, as Kd does, so no border case is needed there.
    r[0] -= lam * (g_x[0] - b_x[0]);
    for (int x = 1; x < width; ++x) {
        r[x] += lam * ((g_x[x - 1] - b_x[x - 1]) - (g_x[x] - b_x[x]));
    }
    for (int x = 0; x < width; ++x) r[x] -= lam * (g_y[x] - b_y[x]);
    if (!above) return;
    const float *VARFOCUS_RESTRICT g_above = g_y - width, *VARFOCUS_RESTRICT b_above = b_y - width;
    for (int x = 0; x < width; ++x) r[x] += lam * (g_above[x] - b_above[x]);
}

Row row_of(const AdmmVariables& v, Size size, int y) {
    const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width, plane = size.pixels();
    Row row{};
    row.before = v.before + at, row.d = v.d + at, row.r = v.r + at;
    row.g_x = v.g + at, row.g_y = v.g + plane + at;
    row.b_x = v.b + at, row.b_y = v.b + plane + at;
    return row;
}

AdmmSums admm_update(const AdmmStep& step, const AdmmVariables& v, Size size, int threads) {
    const int blocks = (size.height + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    Buffer<AdmmSums> sums(static_cast<std::size_t>(blocks), AdmmSums{});
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int block, int first, int end) {
        const std::size_t width = std::size_t(size.width);
        Buffer<float> scratch(5 * width);
        for (int y = first; y < end; ++y) {
            Row row = row_of(v, size, y);
            float** buffers[] = {&row.value, &row.slope, &row.tv, &row.constraint, &row.change};
            for (std::size_t i = 0; i < 5; ++i) *buffers[i] = scratch.data() + i * width;
            const float* u = v.u + std::ptrdiff_t(y) * size.width;
            const CurveRow curve{step.a + std::ptrdiff_t(y) * size.width, size.pixels(),
                                 step.degree, size.width};
            const float* below = y + 1 < size.height ? u + size.width : u;
            with_degree(step.degree, [&](auto degree) {
                constexpr int DEGREE = decltype(degree)::value;
                AdmmSums& sum = sums[std::size_t(block)];
                if (step.traced) {
                    update_row<DEGREE, true>(step, u, below, curve, row, sum);
                } else {
                    update_row<DEGREE, false>(step, u, below, curve, row, sum);
                }
            });
            // The first row of a block needs the last of the block above: left for later.
            if (y > first) add_adjoint(row, size.width, true, step.next_lam);
        }
    });
    AdmmSums all{};
    for (int block = 0; block < blocks; ++block) {
        add_adjoint(row_of(v, size, block * ROWS_PER_BLOCK), size.width, block > 0, step.next_lam);
        all.data += sums[std::size_t(block)].data;
        all.tv += sums[std::size_t(block)].tv;
        all.constraint += sums[std::size_t(block)].constraint;
        all.change += sums[std::size_t(block)].change;
    }
    return all;
}

}  // namespace

void enter_admm(Kernels& table) {
    table.admm_update = admm_update;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
