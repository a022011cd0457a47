// The front end: frames in, coefficients and first guess out, the focus volume never stored.
//
// Integer frames are differenced and summed as integers, exactly; they are scaled once, when
// they enter the coefficients.

#include "blocks.hpp"
#include "set.hpp"
#include "window_sum.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

// Few enough rows to stay in the cache, many enough to pay for the window sum of the first one.
constexpr int ROWS_PER_BLOCK = 48;

template <class Wide>
VARFOCUS_INLINE Wide magnitude(Wide value) {
    return value < 0 ? Wide(-value) : value;
}

// |I[i−1] − 2I[i] + I[i+1]|, in the order of subtractions of the array code.
template <class Wide, class Pixel>
VARFOCUS_INLINE Wide second_difference(Pixel before, Pixel here, Pixel after) {
    const Wide rise = Wide(Wide(after) - Wide(here));
    return magnitude(Wide(rise - Wide(Wide(here) - Wide(before))));
}

// Contrast of every number of one row, channels still interleaved.
template <class Wide, class Pixel>
VARFOCUS_INLINE void contrast_of_numbers(const Pixel* above, const Pixel* row, const Pixel* below,
                                         int length, int step, Wide* VARFOCUS_RESTRICT out) {
    for (int i = 0; i < length; ++i) {
        out[i] = second_difference<Wide>(above[i], row[i], below[i]);
    }
    if (length <= step) return;  // one pixel wide: no neighbours across
    for (int i = 0; i < step && i + step < length; ++i) {
        out[i] = Wide(out[i] + magnitude(Wide(Wide(row[i + step]) - Wide(row[i]))));
    }
    for (int i = step; i < length - step; ++i) {
        out[i] = Wide(out[i] + second_difference<Wide>(row[i - step], row[i], row[i + step]));
    }
    // From max(…): with two narrow pixels the two borders would overlap otherwise.
    for (int i = larger(length - step, step); i < length; ++i) {
        out[i] = Wide(out[i] + magnitude(Wide(Wide(row[i]) - Wide(row[i - step]))));
    }
}

template <int CHANNELS, int STEP, class Wide, class Contrast>
VARFOCUS_INLINE void sum_channels(const Wide* numbers, int width, Contrast* VARFOCUS_RESTRICT out) {
    for (int x = 0; x < width; ++x) {
        Wide sum = numbers[x * STEP];
        for (int c = 1; c < CHANNELS; ++c) sum = Wide(sum + numbers[x * STEP + c]);
        out[x] = Contrast(sum);
    }
}

template <class Wide, class Pixel, class Contrast>
VARFOCUS_INLINE void contrast_rows(const FrameView<Pixel>& frame, int first, int end,
                                   Wide* numbers, Contrast* out) {
    const int height = frame.size.height, width = frame.size.width;
    const int step = int(frame.pixel_stride);
    const int length = (width - 1) * step + frame.channels;  // not the alpha of the last pixel
    for (int y = first; y < end; ++y) {
        const Pixel* row = frame.data + y * frame.row_stride;
        const Pixel* above = y > 0 ? row - frame.row_stride : row;
        const Pixel* below = y + 1 < height ? row + frame.row_stride : row;
        contrast_of_numbers(above, row, below, length, step, numbers);
        Contrast* to = out + std::ptrdiff_t(y) * width;
        if (frame.channels == 1 && step == 1) {
            sum_channels<1, 1>(numbers, width, to);
        } else if (frame.channels == 3 && step == 3) {
            sum_channels<3, 3>(numbers, width, to);
        } else if (frame.channels == 3 && step == 4) {
            sum_channels<3, 4>(numbers, width, to);
        } else {
            for (int x = 0; x < width; ++x) {
                Wide sum = 0;
                for (int c = 0; c < frame.channels; ++c) sum = Wide(sum + numbers[x * step + c]);
                to[x] = Contrast(sum);
            }
        }
    }
}

void rows_of(const FrameView<std::uint8_t>& frame, int first, int end, std::int16_t* numbers,
             std::uint16_t* out) {
    contrast_rows(frame, first, end, numbers, out);
}
void rows_of(const FrameView<std::uint16_t>& frame, int first, int end, std::int32_t* numbers,
             std::int32_t* out) {
    contrast_rows(frame, first, end, numbers, out);
}
void rows_of(const FrameView<float>& frame, int first, int end, float* numbers, float* out) {
    contrast_rows(frame, first, end, numbers, out);
}

template <class Wide, class Pixel, class Contrast>
void contrast_of(const FrameView<Pixel>& frame, Contrast* out, int threads) {
    for_row_blocks(frame.size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        Buffer<Wide> numbers(std::size_t(frame.size.width * frame.pixel_stride));
        rows_of(frame, first, end, numbers.data(), out);
    });
}

// --- taking a batch of contrast images in ------------------------------------------------

// The windowed sums of one contrast image against the best so far. `column` is the sum over the
// window's rows: integers for integer contrast, so that adding and subtracting rows is exact.
template <class Contrast, class Sum>
VARFOCUS_INLINE void search_peak(const Contrast* image, Size size, int window, float number,
                                 int first, int end, Sum* VARFOCUS_RESTRICT column, float* padded,
                                 float* VARFOCUS_RESTRICT sums, float* best, float* index) {
    const int half = window / 2, width = size.width;
    const auto row = [&](int y) {
        return image + std::ptrdiff_t(clamped(y, 0, size.height - 1)) * width;
    };
    for (int x = 0; x < width; ++x) column[x] = 0;
    for (int y = first - half; y <= first + half; ++y) {
        const Contrast* from = row(y);
        for (int x = 0; x < width; ++x) column[x] += Sum(from[x]);
    }
    for (int y = first; y < end; ++y) {
        if (y > first) {
            const Contrast *entering = row(y + half), *leaving = row(y - half - 1);
            for (int x = 0; x < width; ++x) column[x] += Sum(entering[x]) - Sum(leaving[x]);
        }
        float* VARFOCUS_RESTRICT middle = padded + half;
        for (int x = 0; x < width; ++x) middle[x] = float(column[x]);
        replicate_border(padded, width, window);
        window_sum(padded, sums, width, window);
        float* VARFOCUS_RESTRICT highest = best + std::ptrdiff_t(y) * width;
        float* VARFOCUS_RESTRICT where = index + std::ptrdiff_t(y) * width;
        for (int x = 0; x < width; ++x) {
            const bool better = sums[x] > highest[x];  // a tie stays with the earlier frame
            highest[x] = better ? sums[x] : highest[x];
            where[x] = better ? number : where[x];
        }
    }
}

// a_m += Σ_j weight_mj · contrast_j, and the running maximum, for one row of all slots.
template <class Contrast>
VARFOCUS_INLINE void fit_row(const Batch<Contrast>& batch, Size size, int y, const Running& running,
                             float* values) {
    const int width = size.width;
    const std::ptrdiff_t offset = std::ptrdiff_t(y) * width;
    float* VARFOCUS_RESTRICT peak = running.peak + offset;
    for (int j = 0; j < batch.count; ++j) {
        const Contrast* VARFOCUS_RESTRICT from = batch.slots + j * size.pixels() + offset;
        float* VARFOCUS_RESTRICT to = values + std::ptrdiff_t(j) * width;
        for (int x = 0; x < width; ++x) {
            to[x] = batch.scale * float(from[x]);
            peak[x] = larger(peak[x], to[x]);
        }
    }
    const float* VARFOCUS_RESTRICT v = values;
    for (int m = 0; m <= batch.degree; ++m) {
        float* VARFOCUS_RESTRICT a = running.coefficients + m * size.pixels() + offset;
        float w[BATCH] = {};
        for (int j = 0; j < batch.count; ++j) w[j] = batch.weights[m * batch.count + j];
        for (int x = 0; x < width; ++x) {
            float sum = 0.0f;
            for (int j = 0; j < BATCH; ++j) sum += w[j] * v[std::ptrdiff_t(j) * width + x];
            a[x] += sum;
        }
    }
}

template <class Sum>
struct Scratch {
    Buffer<Sum> column;
    Buffer<float> padded, sums, values;
    Scratch(Size size, int window)
        : column(std::size_t(size.width)),
          padded(std::size_t(size.width) + std::size_t(window) - 1),
          sums(std::size_t(size.width)),
          values(std::size_t(size.width) * BATCH) {}  // slots not in use stay zero
};

template <class Contrast, class Sum>
VARFOCUS_INLINE void take_in(const Batch<Contrast>& batch, Size size, const Running& running,
                             int first, int end, Scratch<Sum>& scratch) {
    for (int j = 0; j < batch.count; ++j) {
        search_peak(batch.slots + j * size.pixels(), size, batch.window, batch.numbers[j], first,
                    end, scratch.column.data(), scratch.padded.data(), scratch.sums.data(),
                    running.best, running.index);
    }
    for (int y = first; y < end; ++y) fit_row(batch, size, y, running, scratch.values.data());
}

void block_of(const Batch<std::uint16_t>& batch, Size size, const Running& running, int first,
              int end, Scratch<std::int32_t>& scratch) {
    take_in(batch, size, running, first, end, scratch);
}
void block_of(const Batch<std::int32_t>& batch, Size size, const Running& running, int first,
              int end, Scratch<std::int32_t>& scratch) {
    take_in(batch, size, running, first, end, scratch);
}
void block_of(const Batch<float>& batch, Size size, const Running& running, int first, int end,
              Scratch<double>& scratch) {
    take_in(batch, size, running, first, end, scratch);
}

template <class Sum, class Contrast>
void accumulate_in_blocks(const Batch<Contrast>& batch, Size size, Running running, int threads) {
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        Scratch<Sum> scratch(size, batch.window);
        block_of(batch, size, running, first, end, scratch);
    });
}

void contrast(const FrameView<std::uint8_t>& frame, std::uint16_t* out, int threads) {
    contrast_of<std::int16_t>(frame, out, threads);
}
void contrast(const FrameView<std::uint16_t>& frame, std::int32_t* out, int threads) {
    contrast_of<std::int32_t>(frame, out, threads);
}
void contrast(const FrameView<float>& frame, float* out, int threads) {
    contrast_of<float>(frame, out, threads);
}

void accumulate(const Batch<std::uint16_t>& batch, Size size, Running running, int threads) {
    accumulate_in_blocks<std::int32_t>(batch, size, running, threads);
}
void accumulate(const Batch<std::int32_t>& batch, Size size, Running running, int threads) {
    accumulate_in_blocks<std::int32_t>(batch, size, running, threads);
}
void accumulate(const Batch<float>& batch, Size size, Running running, int threads) {
    accumulate_in_blocks<double>(batch, size, running, threads);
}

}  // namespace

void enter_front(Kernels& table) {
    table.of_8.contrast = contrast;
    table.of_8.accumulate = accumulate;
    table.of_16.contrast = contrast;
    table.of_16.accumulate = accumulate;
    table.of_float.contrast = contrast;
    table.of_float.accumulate = accumulate;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
