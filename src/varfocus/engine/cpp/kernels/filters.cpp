// The mean over a window, and the mean over 2×2 pixels that makes a pyramid.

#include "blocks.hpp"
#include "set.hpp"
#include "window_sum.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int ROWS_PER_BLOCK = 64;

void box_rows(const float* image, float* out, Size size, int window, int first, int end,
              double* VARFOCUS_RESTRICT column, float* padded) {
    const int half = window / 2, width = size.width;
    const float share = 1.0f / (float(window) * float(window));
    const auto row = [&](int y) {
        return image + std::ptrdiff_t(clamped(y, 0, size.height - 1)) * width;
    };
    for (int x = 0; x < width; ++x) column[x] = 0.0;
    for (int y = first - half; y <= first + half; ++y) {
        const float* from = row(y);
        for (int x = 0; x < width; ++x) column[x] += from[x];
    }
    for (int y = first; y < end; ++y) {
        if (y > first) {
            const float *entering = row(y + half), *leaving = row(y - half - 1);
            for (int x = 0; x < width; ++x) column[x] += double(entering[x]) - double(leaving[x]);
        }
        float* VARFOCUS_RESTRICT middle = padded + half;
        for (int x = 0; x < width; ++x) middle[x] = float(column[x]);
        replicate_border(padded, width, window);
        float* VARFOCUS_RESTRICT to = out + std::ptrdiff_t(y) * width;
        window_sum(padded, to, width, window);
        for (int x = 0; x < width; ++x) to[x] *= share;
    }
}

void halve_row(const float* above, const float* below, float* VARFOCUS_RESTRICT out,
               int fine_width) {
    const int pairs = fine_width / 2;
    for (int x = 0; x < pairs; ++x) {
        out[x] = 0.25f * ((above[2 * x] + above[2 * x + 1]) + (below[2 * x] + below[2 * x + 1]));
    }
    if (fine_width % 2) out[pairs] = 0.5f * (above[fine_width - 1] + below[fine_width - 1]);
}

void box_mean(const float* image, float* out, Size size, int window, int threads) {
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        Buffer<double> column(std::size_t(size.width));
        Buffer<float> padded(std::size_t(size.width) + std::size_t(window) - 1);
        box_rows(image, out, size, window, first, end, column.data(), padded.data());
    });
}

void halve(const float* fine, float* coarse, int planes, Size fine_size, int threads) {
    const Size size{(fine_size.height + 1) / 2, (fine_size.width + 1) / 2};
    const int width = fine_size.width;
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        for (int m = 0; m < planes; ++m) {
            for (int y = first; y < end; ++y) {
                const float* above = fine + m * fine_size.pixels() + std::ptrdiff_t(2 * y) * width;
                const float* below = 2 * y + 1 < fine_size.height ? above + width : above;
                halve_row(above, below, coarse + m * size.pixels() + std::ptrdiff_t(y) * size.width,
                          width);
            }
        }
    });
}

}  // namespace

void enter_filters(Kernels& table) {
    table.box_mean = box_mean;
    table.halve = halve;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
