// How far the chosen depth leads over its best rival, from windowed contrast curves.

#include "blocks.hpp"
#include "curve.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int ROWS_PER_BLOCK = 16;

// At a frame the basis functions T_m(x_k) are the same for all pixels: a curve is a short sum.
void margin_row(const CurveRow& row, const MarginTable& table, const float* VARFOCUS_RESTRICT index,
                const float* VARFOCUS_RESTRICT chosen, float* VARFOCUS_RESTRICT out) {
    for (int begin = 0; begin < row.width; begin += STRIP) {
        const int count = smaller(STRIP, row.width - begin);
        float lowest[STRIP], highest[STRIP], rival[STRIP], value[STRIP];
        for (int i = 0; i < count; ++i) {
            lowest[i] = highest[i] = chosen[begin + i];
            rival[i] = -INFINITY;
        }
        for (int k = 0; k < table.frames; ++k) {
            const float* basis = table.basis + std::ptrdiff_t(k) * (row.degree + 1);
            for (int i = 0; i < count; ++i) value[i] = basis[0] * row.a[begin + i];
            for (int m = 1; m <= row.degree; ++m) {
                const float* VARFOCUS_RESTRICT a = row.a + m * row.plane + begin;
                for (int i = 0; i < count; ++i) value[i] += basis[m] * a[i];
            }
            for (int i = 0; i < count; ++i) {
                const float away = index[begin + i] - float(k);
                const bool far = (away < 0.0f ? -away : away) > table.rival_distance;
                lowest[i] = smaller(lowest[i], value[i]);
                highest[i] = larger(highest[i], value[i]);
                rival[i] = far ? larger(rival[i], value[i]) : rival[i];
            }
        }
        for (int i = 0; i < count; ++i) {
            const float spread = highest[i] - lowest[i];
            const bool alone = rival[i] == -INFINITY;
            out[begin + i] = spread > 0.0f && !alone ? (chosen[begin + i] - rival[i]) / spread : 0;
        }
    }
}

void chosen_row(const CurveRow& row, int frames, const float* index, float* d, float* value,
                float* slope) {
    const float step = 2.0f * X_MAX / float(frames - 1);
    for (int x = 0; x < row.width; ++x) d[x] = step * index[x] - X_MAX;
    values_and_slopes(row, d, value, slope);
}

void margin(const float* a, int degree, const MarginTable& table, const float* index, float* out,
            Size size, int threads) {
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        const std::size_t width = std::size_t(size.width);
        Buffer<float> rows(3 * width);
        float *d = rows.data(), *chosen = d + width, *slope = chosen + width;
        for (int y = first; y < end; ++y) {
            const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width;
            const CurveRow row{a + at, size.pixels(), degree, size.width};
            chosen_row(row, table.frames, index + at, d, chosen, slope);
            margin_row(row, table, index + at, chosen, out + at);
        }
    });
}

}  // namespace

void enter_margin(Kernels& table) {
    table.margin = margin;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
