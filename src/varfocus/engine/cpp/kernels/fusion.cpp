// The steps of a Laplacian pyramid, and what the fusion keeps of each level while frames pass.

#include "blocks.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int ROWS_PER_BLOCK = 32;

// Weights of up to five neighbours, and where the first of them is.
struct Taps {
    int first, count;
    float weight[5];
};

Taps reduce_taps(int coarse, int fine_length) {
    if (fine_length % 2) return {2 * coarse - 2, 5, {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f}};
    return {2 * coarse - 1, 4, {0.125f, 0.375f, 0.375f, 0.125f, 0.0f}};
}

Taps expand_taps(int fine, int fine_length) {
    const int half = fine / 2;
    if (fine_length % 2) {
        if (fine % 2) return {half, 2, {0.5f, 0.5f, 0.0f, 0.0f, 0.0f}};
        return {half - 1, 3, {0.125f, 0.75f, 0.125f, 0.0f, 0.0f}};
    }
    if (fine % 2) return {half, 2, {0.75f, 0.25f, 0.0f, 0.0f, 0.0f}};
    return {half - 1, 2, {0.25f, 0.75f, 0.0f, 0.0f, 0.0f}};
}

// Combines rows of `numbers` floats; rows beyond the border are replicated.
void combine_rows(const float* image, int rows, int numbers, const Taps& taps,
                  float* VARFOCUS_RESTRICT out) {
    for (int i = 0; i < taps.count; ++i) {
        const int y = clamped(taps.first + i, 0, rows - 1);
        const float* from = image + std::ptrdiff_t(y) * numbers;
        const float weight = taps.weight[i];
        if (i == 0) {
            for (int x = 0; x < numbers; ++x) out[x] = weight * from[x];
        } else {
            for (int x = 0; x < numbers; ++x) out[x] += weight * from[x];
        }
    }
}

float combine_pixels(const float* row, int width, int channels, int channel, const Taps& taps) {
    float sum = 0.0f;
    for (int i = 0; i < taps.count; ++i) {
        const int x = clamped(taps.first + i, 0, width - 1);
        sum += taps.weight[i] * row[x * channels + channel];
    }
    return sum;
}

// Σ_channels L², smoothed along the row by [1, 4, 6, 4, 1]/16.
void energy_row(const float* coefficients, int width, int channels, float* VARFOCUS_RESTRICT padded,
                float* VARFOCUS_RESTRICT out) {
    float* VARFOCUS_RESTRICT square = padded + 2;
    for (int x = 0; x < width; ++x) {
        float sum = 0.0f;
        for (int c = 0; c < channels; ++c) {
            const float value = coefficients[x * channels + c];
            sum += value * value;
        }
        square[x] = sum;
    }
    padded[0] = padded[1] = square[0];
    square[width] = square[width + 1] = square[width - 1];
    for (int x = 0; x < width; ++x) {
        out[x] = 0.0625f * (padded[x] + padded[x + 4]) + 0.25f * (padded[x + 1] + padded[x + 3]) +
                 0.375f * padded[x + 2];
    }
}

void reduce(const float* fine, float* coarse, Size fine_size, int channels, int threads) {
    const Size size{(fine_size.height + 1) / 2, (fine_size.width + 1) / 2};
    const int numbers = fine_size.width * channels;
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        Buffer<float> row(static_cast<std::size_t>(numbers));
        for (int y = first; y < end; ++y) {
            combine_rows(fine, fine_size.height, numbers, reduce_taps(y, fine_size.height),
                         row.data());
            float* to = coarse + std::ptrdiff_t(y) * size.width * channels;
            for (int x = 0; x < size.width; ++x) {
                const Taps taps = reduce_taps(x, fine_size.width);
                for (int c = 0; c < channels; ++c) {
                    to[x * channels + c] =
                        combine_pixels(row.data(), fine_size.width, channels, c, taps);
                }
            }
        }
    });
}

void add_expanded(const float* coarse, float* fine, float sign, Size fine_size, int channels,
                  int threads) {
    const Size size{(fine_size.height + 1) / 2, (fine_size.width + 1) / 2};
    const int numbers = size.width * channels;
    for_row_blocks(fine_size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        Buffer<float> row(static_cast<std::size_t>(numbers));
        for (int y = first; y < end; ++y) {
            combine_rows(coarse, size.height, numbers, expand_taps(y, fine_size.height),
                         row.data());
            float* to = fine + std::ptrdiff_t(y) * fine_size.width * channels;
            for (int x = 0; x < fine_size.width; ++x) {
                const Taps taps = expand_taps(x, fine_size.width);
                for (int c = 0; c < channels; ++c) {
                    to[x * channels + c] +=
                        sign * combine_pixels(row.data(), size.width, channels, c, taps);
                }
            }
        }
    });
}

void fusion_level(const FusionFrame& frame, const FusionLevel& level, Size size, int channels,
                  int threads) {
    const int width = size.width;
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        const int rows = end - first + 4;
        Buffer<float> energies(std::size_t(rows) * std::size_t(width));
        Buffer<float> padded(std::size_t(width) + 4), smooth(static_cast<std::size_t>(width));
        for (int r = 0; r < rows; ++r) {
            const int y = clamped(first - 2 + r, 0, size.height - 1);
            energy_row(frame.coefficients + std::ptrdiff_t(y) * width * channels, width, channels,
                       padded.data(), energies.data() + std::ptrdiff_t(r) * width);
        }
        for (int y = first; y < end; ++y) {
            const Taps taps{y - first, 5, {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f}};
            combine_rows(energies.data(), rows, width, taps, smooth.data());
            for (int x = 0; x < width; ++x) {
                const std::ptrdiff_t p = std::ptrdiff_t(y) * width + x;
                const float* value = frame.coefficients + p * channels;
                if (const float weight = frame.weight[p]; weight != 0.0f) {
                    float* blended = level.blended + p * channels;
                    for (int c = 0; c < channels; ++c) blended[c] += weight * value[c];
                }
                float e = smooth[std::size_t(x)];
                level.least[p] = smaller(level.least[p], e);
                const bool suggested = level.low[p] <= frame.number && frame.number <= level.high[p];
                e *= suggested ? 1.0f : frame.doubt;
                if (e > level.best[p]) {
                    level.best[p] = e;
                    level.chosen[p] = frame.number;
                    float* sharpest = level.sharpest + p * channels;
                    for (int c = 0; c < channels; ++c) sharpest[c] = value[c];
                }
            }
        }
    });
}

}  // namespace

void enter_fusion(Kernels& table) {
    table.reduce = reduce;
    table.add_expanded = add_expanded;
    table.fusion_level = fusion_level;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
