// The mean over a window, and the mean over 2×2 pixels that makes a pyramid.

#include "blocks.hpp"
#include "set.hpp"
#include "window_sum.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int ROWS_PER_BLOCK = 64;

// Sums of doubles lose nothing of floats of like size: mirrored, they are the same.
void box_rows(const float* image, float* out, Size size, int window, int first, int end,
              double* VARFOCUS_RESTRICT column, double* padded, double* VARFOCUS_RESTRICT sums) {
    const int half = window / 2, width = size.width;
    const double share = 1.0 / (double(window) * double(window));
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
        double* VARFOCUS_RESTRICT middle = padded + half;
        for (int x = 0; x < width; ++x) middle[x] = column[x];
        replicate_border(padded, width, window);
        window_sum(padded, sums, width, window);
        float* VARFOCUS_RESTRICT to = out + std::ptrdiff_t(y) * width;
        for (int x = 0; x < width; ++x) to[x] = float(sums[x] * share);
    }
}

// Adds the sums of columns that make one: of pairs, or of three around every other one, whose middle
// counts twice.
void add_columns(const float* VARFOCUS_RESTRICT row, float weight, int width,
                 float* VARFOCUS_RESTRICT out) {
    if (width % 2 == 0) {
        for (int x = 0; x < width / 2; ++x) out[x] += weight * (row[2 * x] + row[2 * x + 1]);
        return;
    }
    const auto at = [&](int x, int before, int after) {
        out[x] += weight * ((row[before] + row[after]) + 2.0f * row[2 * x]);
    };
    const int last = width / 2;
    at(0, 0, smaller(1, width - 1));
    for (int x = 1; x < last; ++x) at(x, 2 * x - 1, 2 * x + 1);
    if (last > 0) at(last, width - 2, width - 1);
}

void box_mean(const float* image, float* out, Size size, int window, int threads) {
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        Buffer<double> column(std::size_t(size.width)), sums(std::size_t(size.width));
        Buffer<double> padded(std::size_t(size.width) + std::size_t(window) - 1);
        box_rows(image, out, size, window, first, end, column.data(), padded.data(), sums.data());
    });
}

void halve(const float* fine, float* coarse, int planes, Size fine_size, int threads) {
    const Size size{(fine_size.height + 1) / 2, (fine_size.width + 1) / 2};
    const int width = fine_size.width, odd = fine_size.height % 2;
    const float share = (odd ? 0.25f : 0.5f) * (width % 2 ? 0.25f : 0.5f);
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        for (int m = 0; m < planes; ++m) {
            const auto row = [&](int y) {
                return fine + m * fine_size.pixels() +
                       std::ptrdiff_t(clamped(y, 0, fine_size.height - 1)) * width;
            };
            for (int y = first; y < end; ++y) {
                float* VARFOCUS_RESTRICT to =
                    coarse + m * size.pixels() + std::ptrdiff_t(y) * size.width;
                for (int x = 0; x < size.width; ++x) to[x] = 0.0f;
                add_columns(row(2 * y - odd), 1.0f, width, to);
                add_columns(row(2 * y + 1), 1.0f, width, to);
                if (odd) add_columns(row(2 * y), 2.0f, width, to);
                for (int x = 0; x < size.width; ++x) to[x] *= share;
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
