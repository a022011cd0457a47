// The contrast of one frame at two scales, with the edges of the picture in passing.
//
// A thread goes down a block of rows. Each row of the frame is turned into floats, one plane per
// channel, once; smoothed rows, contrast rows and their sums live in rings of rows that stay in the
// cache. Rows above and below a block are computed twice, so every pixel is computed alike whatever
// the blocks.

#include "blocks.hpp"
#include "compact.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int ROWS_PER_BLOCK = 128;

// Rows of `planes` × (width + 2 · margin) floats; row y lies where row y − count lay.
class Ring {
  public:
    Ring(int count, int planes, int width, int margin)
        : count_(count),
          margin_(margin),
          stride_(width + 2 * margin),
          planes_(planes),
          data_(std::size_t(count) * std::size_t(planes) * std::size_t(stride_)) {}
    float* row(int y, int plane = 0) {
        return data_.data() + (std::ptrdiff_t(y % count_) * planes_ + plane) * stride_ + margin_;
    }

  private:
    int count_, margin_;
    std::ptrdiff_t stride_, planes_;
    Buffer<float> data_;
};

VARFOCUS_INLINE void replicate(float* row, int width, int margin) {
    for (int i = 1; i <= margin; ++i) {
        row[-i] = row[0];
        row[width - 1 + i] = row[width - 1];
    }
}

// Σ_k w_|k| rows[k]: down the image with the pointers of 2r + 1 rows …
template <int RADIUS>
VARFOCUS_INLINE void weighted(const float* const* rows, const float* weights, int width,
                              float* VARFOCUS_RESTRICT out) {
    for (int x = 0; x < width; ++x) {
        float sum = weights[0] * rows[RADIUS][x];
#pragma GCC unroll 16
        for (int k = 1; k <= RADIUS; ++k) {
            sum += weights[k] * (rows[RADIUS - k][x] + rows[RADIUS + k][x]);
        }
        out[x] = sum;
    }
}

VARFOCUS_INLINE void weighted_of_any_radius(const float* const* rows, const float* weights,
                                            int radius, int width, float* VARFOCUS_RESTRICT out) {
    for (int x = 0; x < width; ++x) out[x] = weights[0] * rows[radius][x];
    for (int k = 1; k <= radius; ++k) {
        const float *before = rows[radius - k], *after = rows[radius + k];
        for (int x = 0; x < width; ++x) out[x] += weights[k] * (before[x] + after[x]);
    }
}

VARFOCUS_INLINE void weigh(const float* const* rows, const Smoothing& by, int width, float* out) {
    switch (by.radius) {
        case 2: return weighted<2>(rows, by.weights, width, out);
        case 3: return weighted<3>(rows, by.weights, width, out);
        case 4: return weighted<4>(rows, by.weights, width, out);
        case 5: return weighted<5>(rows, by.weights, width, out);
        case 6: return weighted<6>(rows, by.weights, width, out);
        default: return weighted_of_any_radius(rows, by.weights, by.radius, width, out);
    }
}

struct Scratch {
    Buffer<const float*> rows;
    Buffer<float> padded;
    float* middle;  // a row with room for the widest kernel on either side
    Scratch(int width, int radius)
        : rows(std::size_t(2 * radius + 1)), padded(std::size_t(width + 2 * radius)),
          middle(padded.data() + radius) {}
};

// Row y of a ring smoothed in both directions; `out` must not be scratch.
void smooth_row(Ring& ring, int plane, int y, int height, int width, const Smoothing& by,
                Scratch& scratch, float* out) {
    const int r = by.radius;
    const float** rows = scratch.rows.data();
    for (int k = -r; k <= r; ++k) rows[k + r] = ring.row(clamped(y + k, 0, height - 1), plane);
    weigh(rows, by, width, scratch.middle);
    replicate(scratch.middle, width, r);
    for (int k = -r; k <= r; ++k) rows[k + r] = scratch.middle + k;
    weigh(rows, by, width, out);
}

VARFOCUS_INLINE float magnitude(float x) { return x < 0.0f ? -x : x; }

// Adds the contrast of one channel; rows have a margin of one.
void add_contrast(const float* above, const float* row, const float* below, int width,
                  float* VARFOCUS_RESTRICT out) {
    for (int x = 0; x < width; ++x) {
        const float twice = 2.0f * row[x];
        // Neighbours first: turned images are rounded alike.
        out[x] += magnitude((row[x - 1] + row[x + 1]) - twice) +
                  magnitude((above[x] + below[x]) - twice);
    }
}

void add_gradient(const float* above, const float* row, const float* below, int width,
                  float* VARFOCUS_RESTRICT out) {
    for (int x = 0; x < width; ++x) {
        const float across = row[x + 1] - row[x - 1], down = below[x] - above[x];
        out[x] += across * across + down * down;
    }
}

void keep_largest(const float* values, int width, float* VARFOCUS_RESTRICT largest) {
    for (int x = 0; x < width; ++x) largest[x] = larger(largest[x], values[x]);
}

void keep_range(const float* values, int width, float* VARFOCUS_RESTRICT smallest,
                float* VARFOCUS_RESTRICT largest) {
    for (int x = 0; x < width; ++x) {
        smallest[x] = smaller(smallest[x], values[x]);
        largest[x] = larger(largest[x], values[x]);
    }
}

void compact_row(const float* values, int width, std::uint16_t* VARFOCUS_RESTRICT to) {
    for (int x = 0; x < width; ++x) to[x] = to_compact(values[x]);
}

template <int STEP, class Pixel>
VARFOCUS_INLINE void plane_row(const Pixel* from, int step, float scale, int width,
                               float* VARFOCUS_RESTRICT out) {
    const int by = STEP > 0 ? STEP : step;
    for (int x = 0; x < width; ++x) out[x] = scale * float(from[std::ptrdiff_t(x) * by]);
}

template <class Pixel>
VARFOCUS_INLINE void read_row(const Pixel* from, int step, float scale, int width, float* out) {
    if (step == 1) return plane_row<1>(from, step, scale, width, out);
    if (step == 3) return plane_row<3>(from, step, scale, width, out);
    return plane_row<0>(from, step, scale, width, out);
}
void read(const std::uint8_t* from, int step, float scale, int width, float* out) {
    read_row(from, step, scale, width, out);
}
void read(const std::uint16_t* from, int step, float scale, int width, float* out) {
    read_row(from, step, scale, width, out);
}
void read(const float* from, int step, float scale, int width, float* out) {
    read_row(from, step, scale, width, out);
}

// What one block of rows needs, in the order in which it is made.
template <class Pixel>
class Block {
  public:
    Block(const FrameView<Pixel>& frame, const TwoScales& how, const ScaleOutputs& out)
        : frame_(frame), how_(how), out_(out), height_(frame.size.height),
          width_(frame.size.width),
          input_(2 * how.blur.radius + 4, frame.channels, width_, 1),
          smooth_(3, frame.channels, width_, 1),
          fine_(2 * how.support.radius + 1, 1, width_, 0),
          coarse_(2 * how.support.radius + 1, 1, width_, 0),
          scratch_(width_, larger(how.blur.radius, how.support.radius)),
          values_(std::size_t(width_)) {}

    void run(int first, int end) {
        const int r = how_.support.radius;
        const int begin = larger(first - r, 0), last = smaller(end - 1 + r, height_ - 1);
        next_smooth_ = larger(begin - 1, 0);
        next_input_ = larger(next_smooth_ - how_.blur.radius, 0);
        int done = first;
        for (int y = begin; y <= last; ++y) {
            while (next_smooth_ <= smaller(y + 1, height_ - 1)) smooth(next_smooth_++);
            contrast(y, y >= first && y < end);
            for (; done < end && (done + r <= y || y == last); ++done) finish(done);
        }
    }

  private:
    void smooth(int y) {
        const int needed = smaller(y + larger(how_.blur.radius, 1), height_ - 1);
        for (; next_input_ <= needed; ++next_input_) {
            for (int c = 0; c < frame_.channels; ++c) {
                float* row = input_.row(next_input_, c);
                read(frame_.data + next_input_ * frame_.row_stride + c, int(frame_.pixel_stride),
                     how_.scale, width_, row);
                replicate(row, width_, 1);
            }
        }
        for (int c = 0; c < frame_.channels; ++c) {
            float* row = smooth_.row(y, c);
            smooth_row(input_, c, y, height_, width_, how_.blur, scratch_, row);
            replicate(row, width_, 1);
        }
    }

    void contrast_of(Ring& ring, int above, int y, int below, float* to) {
        fill_with(to, width_, 0.0f);
        for (int c = 0; c < frame_.channels; ++c) {
            add_contrast(ring.row(above, c), ring.row(y, c), ring.row(below, c), width_, to);
        }
    }

    void contrast(int y, bool inside) {
        const int above = larger(y - 1, 0), below = smaller(y + 1, height_ - 1);
        contrast_of(input_, above, y, below, fine_.row(y));
        contrast_of(smooth_, above, y, below, coarse_.row(y));
        if (!inside) return;
        fill_with(values_.data(), width_, 0.0f);
        for (int c = 0; c < frame_.channels; ++c) {
            add_gradient(smooth_.row(above, c), smooth_.row(y, c), smooth_.row(below, c), width_,
                         values_.data());
        }
        keep_largest(values_.data(), width_, out_.gradient + std::ptrdiff_t(y) * width_);
    }

    void finish(int y) {
        const std::ptrdiff_t at = std::ptrdiff_t(y) * width_;
        smooth_row(fine_, 0, y, height_, width_, how_.support, scratch_, values_.data());
        compact_row(values_.data(), width_, out_.fine + at);
        smooth_row(coarse_, 0, y, height_, width_, how_.support, scratch_, values_.data());
        compact_row(values_.data(), width_, out_.coarse + at);
        keep_range(values_.data(), width_, out_.smallest + at, out_.largest + at);
    }

    const FrameView<Pixel>& frame_;
    const TwoScales& how_;
    const ScaleOutputs& out_;
    int height_, width_;
    Ring input_, smooth_, fine_, coarse_;
    Scratch scratch_;
    Buffer<float> values_;
    int next_smooth_ = 0, next_input_ = 0;
};

template <class Pixel>
void scales_of(const FrameView<Pixel>& frame, const TwoScales& how, const ScaleOutputs& out,
               int threads) {
    for_row_blocks(frame.size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        Block<Pixel>(frame, how, out).run(first, end);
    });
}

void two_scales(const FrameView<std::uint8_t>& frame, const TwoScales& how, const ScaleOutputs& out,
                int threads) {
    scales_of(frame, how, out, threads);
}
void two_scales(const FrameView<std::uint16_t>& frame, const TwoScales& how,
                const ScaleOutputs& out, int threads) {
    scales_of(frame, how, out, threads);
}
void two_scales(const FrameView<float>& frame, const TwoScales& how, const ScaleOutputs& out,
                int threads) {
    scales_of(frame, how, out, threads);
}

}  // namespace

void enter_scales(Kernels& table) {
    table.of_8.two_scales = two_scales;
    table.of_16.two_scales = two_scales;
    table.of_float.two_scales = two_scales;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
