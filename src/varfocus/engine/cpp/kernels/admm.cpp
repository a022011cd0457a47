// The passes of the linearised ADMM that surround scipy's cosine transforms of the rows.
//
// Everything between two transforms is one pass over the image: the iteration is bound by memory,
// and the 36 bytes of coefficients per pixel are read once, for the energy of this iterate and
// the slope that the next one starts from.

#include "blocks.hpp"
#include "curve.hpp"
#include "set.hpp"
#include "sums.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int ROWS_PER_BLOCK = 32;
constexpr int COLUMNS_PER_BLOCK = 64;
constexpr float TINY = 1e-30f;

VARFOCUS_INLINE float clip(float x) { return smaller(larger(x, -X_MAX), X_MAX); }

// Pointers to one row of every variable, and scratch rows of the same width.
struct Row {
    float *d, *g_x, *g_y, *b_x, *b_y, *r;
    float *here, *next, *value, *slope, *tv, *constraint, *change;
};

// d ← clip(u), and the differences, shrinkage, multiplier and sums of one row.
// `below` is the next row of u, or this row itself at the bottom, where the difference is zero.
void update_row(const AdmmStep& step, const float* VARFOCUS_RESTRICT u,
                const float* VARFOCUS_RESTRICT below, const CurveRow& curve, const Row& row,
                AdmmSums& sums) {
    const int width = curve.width;
    float *VARFOCUS_RESTRICT d = row.d, *VARFOCUS_RESTRICT here = row.here;
    float *VARFOCUS_RESTRICT next = row.next, *VARFOCUS_RESTRICT change = row.change;
    for (int x = 0; x < width; ++x) {
        here[x] = clip(u[x]);
        next[x] = clip(below[x]);
        change[x] = (here[x] - d[x]) * (here[x] - d[x]);
        d[x] = here[x];
    }
    here[width] = here[width - 1];  // no difference across the right border

    const float threshold = step.alpha * step.tau / step.lam, fade = 1.0f / step.growth;
    const float keep_b = step.multipliers ? fade : 0.0f;
    float *VARFOCUS_RESTRICT g_x = row.g_x, *VARFOCUS_RESTRICT g_y = row.g_y;
    float *VARFOCUS_RESTRICT b_x = row.b_x, *VARFOCUS_RESTRICT b_y = row.b_y;
    float *VARFOCUS_RESTRICT tv = row.tv, *VARFOCUS_RESTRICT constraint = row.constraint;
    VARFOCUS_INDEPENDENT
    for (int x = 0; x < width; ++x) {
        const float kd_x = here[x + 1] - here[x], kd_y = next[x] - here[x];
        const float z_x = kd_x + b_x[x], z_y = kd_y + b_y[x];
        const float length = square_root(z_x * z_x + z_y * z_y);
        // A vector of length zero stays zero; a branch for it would keep the loop from SIMD.
        const float kept = larger(length - threshold, 0.0f) / larger(length, TINY);
        const float new_x = z_x * kept, new_y = z_y * kept;
        const float moved_x = new_x - g_x[x], moved_y = new_y - g_y[x];
        const float gap_x = kd_x - new_x, gap_y = kd_y - new_y;
        tv[x] = square_root(kd_x * kd_x + kd_y * kd_y);
        constraint[x] = gap_x * gap_x + gap_y * gap_y;
        change[x] += moved_x * moved_x + moved_y * moved_y;
        g_x[x] = new_x;
        g_y[x] = new_y;
        b_x[x] = keep_b * (z_x - new_x);
        b_y[x] = keep_b * (z_y - new_y);
    }
    values_and_slopes(curve, row.d, row.value, row.slope);
    sums.data -= row_sum(row.value, width);
    sums.tv += row_sum(row.tv, width);
    sums.constraint += row_sum(row.constraint, width);
    sums.change += row_sum(row.change, width);
    for (int x = 0; x < width; ++x) row.r[x] = d[x] + step.tau * row.slope[x];
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

// Solves (1 + λe_x + λKᵀK) x = r down `count` neighbouring columns, in place; `q` is scratch.
//
// Elimination for the tridiagonal KᵀK, written so that only positive numbers are added: with
// q_i = 1 + λe_x + λ s_{i−1}, s_i = q_i / (q_i + λ), the factor λ / (q_i + λ) = 1 − s_i is never
// rounded by itself. At large λ it is so close to 1 that its rounding would move the mean of x.
void solve_block(float* spectrum, const float* VARFOCUS_RESTRICT e_x, Size size, float lam,
                 int count, float* q) {
    const int last = size.height - 1;
    for (int y = 0; y <= last; ++y) {
        float* VARFOCUS_RESTRICT row = spectrum + std::ptrdiff_t(y) * size.width;
        float* VARFOCUS_RESTRICT q_here = q + std::ptrdiff_t(y) * COLUMNS_PER_BLOCK;
        if (y == 0) {
            for (int x = 0; x < count; ++x) q_here[x] = 1.0f + lam * e_x[x];
            continue;
        }
        const float* above = row - size.width;
        const float* q_above = q_here - COLUMNS_PER_BLOCK;
        VARFOCUS_INDEPENDENT
        for (int x = 0; x < count; ++x) {
            const float s = q_above[x] / (q_above[x] + lam);
            q_here[x] = 1.0f + lam * e_x[x] + lam * s;
            row[x] += above[x] - s * above[x];
        }
    }
    for (int y = last; y >= 0; --y) {
        float* row = spectrum + std::ptrdiff_t(y) * size.width;
        const float* VARFOCUS_RESTRICT q_here = q + std::ptrdiff_t(y) * COLUMNS_PER_BLOCK;
        if (y == last) {
            for (int x = 0; x < count; ++x) row[x] /= q_here[x];
            continue;
        }
        const float* below = row + size.width;
        VARFOCUS_INDEPENDENT
        for (int x = 0; x < count; ++x) {
            const float share = 1.0f / (q_here[x] + lam);
            row[x] = row[x] * share + (below[x] - q_here[x] * share * below[x]);
        }
    }
}

Row row_of(const AdmmVariables& v, Size size, int y) {
    const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width, plane = size.pixels();
    Row row{};
    row.d = v.d + at, row.r = v.r + at;
    row.g_x = v.g + at, row.g_y = v.g + plane + at;
    row.b_x = v.b + at, row.b_y = v.b + plane + at;
    return row;
}

void solve_columns(float* spectrum, const float* e_x, Size size, float lam, int threads) {
    for_row_blocks(size.width, COLUMNS_PER_BLOCK, threads, [&](int, int first, int end) {
        Buffer<float> q(std::size_t(size.height) * COLUMNS_PER_BLOCK);
        solve_block(spectrum + first, e_x + first, size, lam, end - first, q.data());
    });
}

AdmmSums admm_update(const AdmmStep& step, const AdmmVariables& v, Size size, int threads) {
    const int blocks = (size.height + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    Buffer<AdmmSums> sums(static_cast<std::size_t>(blocks), AdmmSums{});
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int block, int first, int end) {
        const std::size_t width = std::size_t(size.width) + 1;
        Buffer<float> scratch(7 * width);
        for (int y = first; y < end; ++y) {
            Row row = row_of(v, size, y);
            float** buffers[] = {&row.here, &row.next,       &row.value, &row.slope,
                                 &row.tv,   &row.constraint, &row.change};
            for (std::size_t i = 0; i < 7; ++i) *buffers[i] = scratch.data() + i * width;
            const float* u = v.u + std::ptrdiff_t(y) * size.width;
            const CurveRow curve{step.a + std::ptrdiff_t(y) * size.width, size.pixels(),
                                 step.degree, size.width};
            update_row(step, u, y + 1 < size.height ? u + size.width : u, curve, row,
                       sums[std::size_t(block)]);
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
    table.solve_columns = solve_columns;
    table.admm_update = admm_update;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
