// Frames resampled by a projective map, and frames shrunk to block means.

#include <limits>
#include <type_traits>

#include "blocks.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int ROWS_PER_BLOCK = 16;

// Where an output pixel comes from: the first of TAPS neighbours, and its row in the table.
struct Source {
    int first, phase;
};

// Positions beyond the border see the border: clamped before they become an int.
VARFOCUS_INLINE Source source_of(double position, int length, int taps, int phases) {
    position = position > -1.0 ? position : -1.0;  // also catches NaN
    position = position < double(length) ? position : double(length);
    const int whole = int(position), below = whole - (double(whole) > position);
    const int phase = int((position - double(below)) * phases + 0.5);
    return {below - taps / 2 + 1, phase};
}

template <class Pixel>
VARFOCUS_INLINE Pixel stored(float value) {
    if constexpr (std::is_floating_point_v<Pixel>) {
        return value;
    } else {
        constexpr float top = float(std::numeric_limits<Pixel>::max());
        value = value > 0.0f ? value : 0.0f;
        value = value < top ? value : top;
        return Pixel(lrintf(value));
    }
}

template <int TAPS, int C, class Pixel>
VARFOCUS_INLINE void warped_row(const WarpView<Pixel>& view, int y, Pixel* out) {
    const Size from = view.from;
    const std::ptrdiff_t stride = std::ptrdiff_t(from.width) * C;
    const double* m = view.matrix;
    for (int x = 0; x < view.to.width; ++x) {
        const double depth = m[6] * x + m[7] * y + m[8];
        const double scale = depth > 1e-9 ? 1.0 / depth : double(INFINITY);
        const Source h = source_of((m[0] * x + m[1] * y + m[2]) * scale, from.width, TAPS,
                                   view.phases);
        const Source v = source_of((m[3] * x + m[4] * y + m[5]) * scale, from.height, TAPS,
                                   view.phases);
        const float* wx = view.table + h.phase * TAPS;
        const float* wy = view.table + v.phase * TAPS;
        float sums[TAPS * C] = {};
        if (h.first >= 0 && v.first >= 0 && h.first + TAPS <= from.width &&
            v.first + TAPS <= from.height) {
            const Pixel* corner = view.data + v.first * stride + std::ptrdiff_t(h.first) * C;
            for (int j = 0; j < TAPS; ++j) {
                const Pixel* row = corner + j * stride;
                const float weight = wy[j];
                for (int i = 0; i < TAPS * C; ++i) sums[i] += weight * float(row[i]);
            }
        } else {
            for (int j = 0; j < TAPS; ++j) {
                const Pixel* row =
                    view.data + clamped(v.first + j, 0, from.height - 1) * stride;
                for (int i = 0; i < TAPS; ++i) {
                    const Pixel* pixel =
                        row + std::ptrdiff_t(clamped(h.first + i, 0, from.width - 1)) * C;
                    for (int c = 0; c < C; ++c) sums[i * C + c] += wy[j] * float(pixel[c]);
                }
            }
        }
        for (int c = 0; c < C; ++c) {
            float value = 0.0f;
            for (int i = 0; i < TAPS; ++i) value += wx[i] * sums[i * C + c];
            out[x * C + c] = stored<Pixel>(view.gains[c] * value);
        }
    }
}

template <class Pixel>
VARFOCUS_INLINE void warped_row_of(const WarpView<Pixel>& view, int y, Pixel* out) {
    if (view.taps == 2) {
        if (view.channels == 1) warped_row<2, 1>(view, y, out);
        else warped_row<2, 3>(view, y, out);
    } else {
        if (view.channels == 1) warped_row<6, 1>(view, y, out);
        else warped_row<6, 3>(view, y, out);
    }
}

void row_of(const WarpView<std::uint8_t>& view, int y, std::uint8_t* out) {
    warped_row_of(view, y, out);
}
void row_of(const WarpView<std::uint16_t>& view, int y, std::uint16_t* out) {
    warped_row_of(view, y, out);
}
void row_of(const WarpView<float>& view, int y, float* out) {
    warped_row_of(view, y, out);
}

template <class Pixel>
void warp_rows(const WarpView<Pixel>& view, Pixel* out, int threads) {
    const std::ptrdiff_t stride = std::ptrdiff_t(view.to.width) * view.channels;
    for_row_blocks(view.to.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        for (int y = first; y < end; ++y) row_of(view, y, out + y * stride);
    });
}

// Sums of `factor` rows, as numbers that hold them exactly for integer frames.
template <class Pixel, class Sum>
VARFOCUS_INLINE void added_row(const Pixel* row, Sum* VARFOCUS_RESTRICT sums, int count) {
    for (int i = 0; i < count; ++i) sums[i] += Sum(row[i]);
}
void add_row(const std::uint8_t* row, std::uint32_t* sums, int count) {
    added_row(row, sums, count);
}
void add_row(const std::uint16_t* row, std::uint32_t* sums, int count) {
    added_row(row, sums, count);
}
void add_row(const float* row, float* sums, int count) {
    added_row(row, sums, count);
}

template <class Pixel>
VARFOCUS_INLINE void scaled_row(const Pixel* row, int count, double share,
                                float* VARFOCUS_RESTRICT out) {
    for (int i = 0; i < count; ++i) out[i] = float(share * double(row[i]));
}

// Sums of `factor` columns times `share`; those of integers are exact, whatever they are added as.
template <int C, class Sum>
VARFOCUS_INLINE void block_means(const Sum* sums, int width, int factor, double share, float* out) {
    using Total = std::conditional_t<std::is_floating_point_v<Sum>, double, std::uint64_t>;
    for (int x = 0; x < width; ++x) {
        const Sum* block = sums + std::ptrdiff_t(x) * factor * C;
        Total total[C] = {};
        for (int i = 0; i < factor; ++i) {
            for (int c = 0; c < C; ++c) total[c] += Total(block[i * C + c]);
        }
        for (int c = 0; c < C; ++c) out[x * C + c] = float(share * double(total[c]));
    }
}

template <class Pixel>
void shrink_rows(const Pixel* frame, Size from, int channels, int factor, float scale, float* out,
                 int threads) {
    using Sum = std::conditional_t<std::is_floating_point_v<Pixel>, float, std::uint32_t>;
    const Size to{from.height / factor, from.width / factor};
    const int count = to.width * factor * channels;
    const std::ptrdiff_t stride = std::ptrdiff_t(from.width) * channels;
    const double share = double(scale) / (double(factor) * factor);
    for_row_blocks(to.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        Buffer<Sum> sums(static_cast<std::size_t>(count));
        for (int y = first; y < end; ++y) {
            if (factor == 1) {
                scaled_row(frame + y * stride, count, share, out + std::ptrdiff_t(y) * count);
                continue;
            }
            fill_with(sums.data(), count, Sum(0));
            for (int j = 0; j < factor; ++j) {
                add_row(frame + (std::ptrdiff_t(y) * factor + j) * stride, sums.data(), count);
            }
            float* to_row = out + std::ptrdiff_t(y) * to.width * channels;
            switch (channels) {
                case 1: block_means<1>(sums.data(), to.width, factor, share, to_row); break;
                case 2: block_means<2>(sums.data(), to.width, factor, share, to_row); break;
                case 3: block_means<3>(sums.data(), to.width, factor, share, to_row); break;
                default: block_means<4>(sums.data(), to.width, factor, share, to_row);
            }
        }
    });
}

void warp(const WarpView<std::uint8_t>& view, std::uint8_t* out, int threads) {
    warp_rows(view, out, threads);
}
void warp(const WarpView<std::uint16_t>& view, std::uint16_t* out, int threads) {
    warp_rows(view, out, threads);
}
void warp(const WarpView<float>& view, float* out, int threads) {
    warp_rows(view, out, threads);
}
void shrink(const std::uint8_t* frame, Size from, int channels, int factor, float scale, float* out,
            int threads) {
    shrink_rows(frame, from, channels, factor, scale, out, threads);
}
void shrink(const std::uint16_t* frame, Size from, int channels, int factor, float scale,
            float* out, int threads) {
    shrink_rows(frame, from, channels, factor, scale, out, threads);
}
void shrink(const float* frame, Size from, int channels, int factor, float scale, float* out,
            int threads) {
    shrink_rows(frame, from, channels, factor, scale, out, threads);
}

}  // namespace

void enter_warp(Kernels& table) {
    table.of_8.warp = warp;
    table.of_8.shrink = shrink;
    table.of_16.warp = warp;
    table.of_16.shrink = shrink;
    table.of_float.warp = warp;
    table.of_float.shrink = shrink;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
