// The layered rendering of a patch and what it says about the sides of its jumps:
// varfocus.edges.render and varfocus.edges.judge. One patch fits into the cache of one core, so a
// call uses one thread; the caller works on several patches at once.

#include "lanes.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

Buffer<float> kernel(double sigma, const EdgeConstants& constants) {
    if (sigma < double(constants.no_blur)) return Buffer<float>(1, 1.0f);
    const int radius = int(ceil(double(constants.reach) * sigma));
    Buffer<double> taps(std::size_t(2 * radius + 1));
    double sum = 0.0;
    for (int i = -radius; i <= radius; ++i) {
        sum += taps[std::size_t(i + radius)] = exp(-0.5 * (i / sigma) * (i / sigma));
    }
    Buffer<float> result(taps.size());
    for (std::size_t i = 0; i < taps.size(); ++i) result[i] = float(taps[i] / sum);
    return result;
}

Buffer<float> squared(const Buffer<float>& taps) {
    Buffer<float> result(taps.size());
    for (std::size_t i = 0; i < taps.size(); ++i) result[i] = taps[i] * taps[i];
    return result;
}

// Rows [top, bottom) and columns [left, right).
struct Box {
    int top, bottom, left, right;

    bool empty() const { return bottom <= top || right <= left; }
    Box grown(int by, Size size) const {
        if (empty()) return *this;
        return {larger(top - by, 0), smaller(bottom + by, size.height), larger(left - by, 0),
                smaller(right + by, size.width)};
    }
    Box within(const Box& other) const {
        return {larger(top, other.top), smaller(bottom, other.bottom),
                larger(left, other.left), smaller(right, other.right)};
    }
};

Box whole(Size size) { return {0, size.height, 0, size.width}; }

template <class Test>
Box bounds(Size size, Test test) {
    Box box{size.height, 0, size.width, 0};
    for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
            if (!test(std::ptrdiff_t(y) * size.width + x)) continue;
            box = {smaller(box.top, y), y + 1, smaller(box.left, x), larger(box.right, x + 1)};
        }
    }
    return box;
}

// Memory that a thread keeps from patch to patch; not initialised.
class Arena {
   public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() {
        while (first_ != nullptr) {
            Block* next = first_->next;
            delete first_;
            first_ = next;
        }
    }
    void reset() { current_ = first_, used_ = 0; }
    float* take(std::size_t count) {
        for (; current_ != nullptr; current_ = current_->next, used_ = 0) {
            if (used_ + count <= current_->memory.size()) return claim(count);
        }
        Block* block = new Block;
        block->memory.resize(count > LEAST ? count : LEAST);
        (last_ == nullptr ? first_ : last_->next) = block;
        last_ = current_ = block, used_ = 0;
        return claim(count);
    }

   private:
    struct Block {
        Buffer<float> memory;
        Block* next = nullptr;
    };
    static constexpr std::size_t LEAST = std::size_t(1) << 20;
    float* claim(std::size_t count) {
        float* start = current_->memory.data() + used_;
        used_ += count;
        return start;
    }
    Block *first_ = nullptr, *last_ = nullptr, *current_ = nullptr;
    std::size_t used_ = 0;
};

constexpr int ROWS = 4;  // that are filtered together: their sums do not wait for one another

int rounded_up(int count, int unit) { return (count + unit - 1) / unit * unit; }

// Taps are symmetric. What lies equally far on either side is added first: a mirrored image has the
// same sums, to the last bit.

// Sums over rows.
void add_rows(const float* in, int stride, const float* taps, int count, int rows, int width,
              float* out, int out_stride) {
    const int radius = count / 2;
    for (int y = 0; y < rows; y += ROWS) {
        for (int x = 0; x < width; x += LANES) {
            const float* middle = in + std::ptrdiff_t(y + radius) * stride + x;
            Lanes sum[ROWS], before, after;
            for (int i = 0; i < ROWS; ++i) {
                load(middle + std::ptrdiff_t(i) * stride, before);
                sum[i] = before * taps[radius];
            }
            for (int j = 1; j <= radius; ++j) {
                for (int i = 0; i < ROWS; ++i) {
                    load(middle + std::ptrdiff_t(i - j) * stride, before);
                    load(middle + std::ptrdiff_t(i + j) * stride, after);
                    sum[i] = sum[i] + (before + after) * taps[radius + j];
                }
            }
            for (int i = 0; i < ROWS; ++i) {
                store(sum[i], out + std::ptrdiff_t(y + i) * out_stride + x);
            }
        }
    }
}

// Sums along rows.
void add_columns(const float* in, int stride, const float* taps, int count, int rows, int width,
                 float* out, int out_stride) {
    const int radius = count / 2;
    for (int y = 0; y < rows; y += ROWS) {
        for (int x = 0; x < width; x += LANES) {
            const float* middle = in + std::ptrdiff_t(y) * stride + x + radius;
            Lanes sum[ROWS], before, after;
            for (int i = 0; i < ROWS; ++i) {
                load(middle + i * stride, before);
                sum[i] = before * taps[radius];
            }
            for (int j = 1; j <= radius; ++j) {
                for (int i = 0; i < ROWS; ++i) {
                    load(middle + i * stride - j, before);
                    load(middle + i * stride + j, after);
                    sum[i] = sum[i] + (before + after) * taps[radius + j];
                }
            }
            for (int i = 0; i < smaller(ROWS, rows - y); ++i) {
                float lanes[LANES];
                store(sum[i], lanes);
                memcpy(out + std::ptrdiff_t(y + i) * out_stride + x, lanes,
                            sizeof(float) * std::size_t(smaller(LANES, width - x)));
            }
        }
    }
}

// varfocus.edges.render.convolved where it is wanted and not zero: that box is returned, and
// nothing is written outside. The input is known to be zero outside of `filled`.
Box convolve(const float* in, float* out, int planes, Size size, const Buffer<float>& taps,
             const Box& filled, const Box& wanted) {
    const int count = int(taps.size()), radius = count / 2;
    const Box box = filled.grown(radius, size).within(wanted);
    if (filled.empty() || box.empty()) return {0, 0, 0, 0};
    const std::ptrdiff_t pixels = size.pixels();
    const int rows = rounded_up(box.bottom - box.top, ROWS);
    // Columns that are read, and where they lie in a row that begins `radius` before the box.
    const int left = larger(filled.left, box.left - radius);
    const int right = smaller(filled.right, box.right + radius);
    const int width = right - left, padded = rounded_up(width, LANES);
    const int offset = left - (box.left - radius);
    const int stride = rounded_up(box.right - box.left, LANES) + 2 * radius + 2 * LANES;
    thread_local Buffer<float> tall, wide;
    tall.resize(std::size_t(rows + count - 1) * std::size_t(padded));
    wide.resize(std::size_t(rows) * std::size_t(stride));
    for (int m = 0; m < planes; ++m) {
        for (int y = 0; y < rows + count - 1; ++y) {
            float* to = tall.data() + std::ptrdiff_t(y) * padded;
            const int row = clamped(box.top - radius + y, 0, size.height - 1);
            const float* from = in + m * pixels + std::ptrdiff_t(row) * size.width + left;
            const bool used = row >= filled.top && row < filled.bottom;
            if (used) copy_to(to, from, width);
            const int begun = used ? width : 0;
            fill_with(to + begun, padded - begun, 0.0f);
        }
        add_rows(tall.data(), padded, taps.data(), count, rows, padded, wide.data() + offset,
                 stride);
        for (int y = 0; y < rows; ++y) {
            float* row = wide.data() + std::ptrdiff_t(y) * stride;
            const float first = left == 0 ? row[offset] : 0.0f;
            const float last = right == size.width ? row[offset + width - 1] : 0.0f;
            fill_with(row, offset, first);
            fill_with(row + offset + width, stride - offset - width, last);
        }
        float* to = out + m * pixels + std::ptrdiff_t(box.top) * size.width + box.left;
        add_columns(wide.data(), stride, taps.data(), count, box.bottom - box.top,
                    box.right - box.left, to, size.width);
    }
    return box;
}

void cover(float* VARFOCUS_RESTRICT acc, float* VARFOCUS_RESTRICT through,
           const float* VARFOCUS_RESTRICT sheet, int channels, Size size, const Box& box,
           float faint) {
    const std::ptrdiff_t pixels = size.pixels();
    const float* VARFOCUS_RESTRICT alpha = sheet + channels * pixels;
    constexpr int PIECE = 64;
    float share[PIECE];
    for (int y = box.top; y < box.bottom; ++y) {
        for (int x = box.left; x < box.right; x += PIECE) {
            const int count = smaller(PIECE, box.right - x);
            const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width + x;
            for (int i = 0; i < count; ++i) {
                const float weight = smaller(through[at + i], alpha[at + i]);
                share[i] = weight / larger(alpha[at + i], faint);
                through[at + i] -= weight;
            }
            for (int c = 0; c < channels; ++c) {
                float* VARFOCUS_RESTRICT to = acc + c * pixels + at;
                const float* VARFOCUS_RESTRICT from = sheet + c * pixels + at;
                for (int i = 0; i < count; ++i) to[i] += from[i] * share[i];
            }
        }
    }
}

void normalise(float* VARFOCUS_RESTRICT acc, const float* VARFOCUS_RESTRICT through,
               const float* VARFOCUS_RESTRICT otherwise, int channels, std::ptrdiff_t pixels,
               float least) {
    for (int c = 0; c < channels; ++c) {
        for (std::ptrdiff_t i = 0; i < pixels; ++i) {
            const float covered = 1.0f - through[i];
            const float ratio = acc[c * pixels + i] / larger(covered, least);
            acc[c * pixels + i] = covered > least ? ratio : otherwise[c * pixels + i];
        }
    }
}

void unmix(const float* VARFOCUS_RESTRICT frame, const float* VARFOCUS_RESTRICT acc,
           const float* VARFOCUS_RESTRICT through, float* VARFOCUS_RESTRICT colour, int channels,
           std::ptrdiff_t pixels, float opaque) {
    for (int c = 0; c < channels; ++c) {
        for (std::ptrdiff_t i = 0; i < pixels; ++i) {
            const std::ptrdiff_t at = c * pixels + i;
            const bool clear = through[i] >= opaque;
            const float behind = (frame[at] - acc[at]) / (clear ? through[i] : 1.0f);
            colour[at] = clear ? smaller(larger(behind, 0.0f), 1.0f) : frame[at];
        }
    }
}

// Weights and what they multiply, for the first and second moments of one frame and layer.
void weigh(const float* VARFOCUS_RESTRICT r, const float* VARFOCUS_RESTRICT trust,
           const float* VARFOCUS_RESTRICT through, const float* VARFOCUS_RESTRICT behind,
           float* VARFOCUS_RESTRICT linear, float* VARFOCUS_RESTRICT square, int channels,
           std::ptrdiff_t pixels) {
    for (std::ptrdiff_t i = 0; i < pixels; ++i) {
        const float weight = trust[i] * trust[i] * through[i], twice = weight * through[i];
        float product = 0.0f, light = 0.0f;
        for (int c = 0; c < channels; ++c) {
            const std::ptrdiff_t at = c * pixels + i;
            linear[at] = weight * r[at];
            product += weight * behind[at] * r[at];
            square[at] = twice * behind[at];
            light += behind[at] * behind[at];
        }
        linear[channels * pixels + i] = product;
        square[channels * pixels + i] = twice;
        square[(channels + 1) * pixels + i] = twice * light;
    }
}

void add_change(const float* VARFOCUS_RESTRICT F, const float* VARFOCUS_RESTRICT linear,
                const float* VARFOCUS_RESTRICT square, const std::int32_t* VARFOCUS_RESTRICT label,
                const std::int32_t* VARFOCUS_RESTRICT near,
                const std::int32_t* VARFOCUS_RESTRICT far, int layer,
                float* VARFOCUS_RESTRICT change, int channels, std::ptrdiff_t pixels) {
    for (std::ptrdiff_t i = 0; i < pixels; ++i) {
        if (near[i] != layer || near[i] >= far[i]) continue;
        float first = 0.0f, power = 0.0f, mixed = 0.0f;
        for (int c = 0; c < channels; ++c) {
            const std::ptrdiff_t at = c * pixels + i;
            first += F[at] * linear[at];
            power += F[at] * F[at];
            mixed += F[at] * square[at];
        }
        first -= linear[channels * pixels + i];
        const float second = power * square[channels * pixels + i] - 2.0f * mixed +
                             square[(channels + 1) * pixels + i];
        change[i] -= 2.0f * first + (label[i] == layer ? second : -second);
    }
}

void residuals(const float* VARFOCUS_RESTRICT frame, const float* VARFOCUS_RESTRICT rendered,
               float* VARFOCUS_RESTRICT r, float* VARFOCUS_RESTRICT trust,
               float* VARFOCUS_RESTRICT error, float tau2, int channels, std::ptrdiff_t pixels) {
    for (std::ptrdiff_t i = 0; i < pixels; ++i) {
        float square = 0.0f;
        for (int c = 0; c < channels; ++c) {
            const float difference = frame[c * pixels + i] - rendered[c * pixels + i];
            r[c * pixels + i] = difference;
            square += difference * difference;
        }
        trust[i] = 1.0f / (1.0f + square / tau2);
        error[i] += square * trust[i];
    }
}

struct Sheet {
    float* planes = nullptr;  // (C + 1, pixels), not written outside of the box
    Box box{0, 0, 0, 0};
};

struct Work {
    const EdgePatch& patch;
    Arena& arena;
    std::size_t pixels;
    int n, channels, layers;
    Buffer<bool> present;    // layers that the patch shows or may show
    Buffer<bool> asked;      // layers that are the near side of a jump
    Buffer<float*> colour;   // per layer
    Buffer<Sheet> sheets;    // frame · layers + layer
    Buffer<float*> front;    // what layers in front let through, where it is asked
    float* rendered;              // (n, C, pixels)

    Work(const EdgePatch& p, Arena& memory)
        : patch(p),
          arena(memory),
          pixels(std::size_t(p.size.pixels())),
          n(p.frames_count),
          channels(p.channels),
          layers(p.layers),
          present(std::size_t(p.layers), false),
          asked(std::size_t(p.layers), false),
          colour(std::size_t(p.layers), nullptr),
          sheets(std::size_t(p.frames_count) * std::size_t(p.layers)),
          front(sheets.size(), nullptr) {
        arena.reset();
        rendered = arena.take(std::size_t(n) * C() * pixels);
        for (std::size_t i = 0; i < pixels; ++i) {
            present[std::size_t(p.label[i])] = true;
            present[std::size_t(p.near[i])] = true;
            present[std::size_t(p.far[i])] = true;
            if (p.near[i] < p.far[i]) asked[std::size_t(p.near[i])] = true;
        }
    }

    std::size_t C() const { return std::size_t(channels); }
    float sigma(int k, int layer) const { return patch.sigma[k * layers + layer]; }
    Buffer<float> taps(double blur) const { return kernel(blur, patch.constants); }
    const float* frame(int k) const { return patch.frames + std::size_t(k) * C() * pixels; }
    float* rendering(int k) const { return rendered + std::size_t(k) * C() * pixels; }
    std::size_t pair(int k, int layer) const {
        return std::size_t(k) * std::size_t(layers) + std::size_t(layer);
    }

    int sharpest(int layer) const {
        int best = 0;
        for (int k = 1; k < n; ++k) {
            if (sigma(k, layer) < sigma(best, layer)) best = k;
        }
        return best;
    }

    // Premultiplied colours and mask of a layer, continued where it is hidden; `filled` tells where.
    void continued(int layer, float* sheet, Box& filled) const {
        const Size size = patch.size;
        const float* A = colour[std::size_t(layer)];
        const auto shown = [&](std::ptrdiff_t i) { return patch.label[i] == layer; };
        const auto hidden = [&](std::ptrdiff_t i) {
            return patch.far[i] == layer && patch.label[i] == patch.near[i] &&
                   patch.near[i] < patch.far[i];
        };
        fill_with(sheet, (C() + 1) * pixels, 0.0f);
        for (std::size_t i = 0; i < pixels; ++i) {
            if (!shown(std::ptrdiff_t(i))) continue;
            for (std::size_t c = 0; c < C(); ++c) sheet[c * pixels + i] = A[c * pixels + i];
            sheet[C() * pixels + i] = 1.0f;
        }
        filled = bounds(size, shown);
        const Box under = bounds(size, hidden);
        if (filled.empty() || under.empty()) return;
        float* around = arena.take((C() + 1) * pixels);
        float* wide = arena.take((C() + 1) * pixels);
        const double reach = double(patch.constants.continued);
        const Box close = convolve(sheet, around, channels + 1, size, taps(reach), filled, under);
        const Box far = convolve(sheet, wide, channels + 1, size, taps(2.0 * reach), filled, under);
        for (int y = far.top; y < far.bottom; ++y) {
            for (int x = far.left; x < far.right; ++x) {
                const std::ptrdiff_t i = std::ptrdiff_t(y) * size.width + x;
                if (!hidden(i)) continue;
                const bool both = y >= close.top && y < close.bottom && x >= close.left &&
                                  x < close.right;
                const auto value = [&](std::size_t c) {
                    const std::size_t at = c * pixels + std::size_t(i);
                    return (both ? around[at] : 0.0f) + patch.constants.wider * wide[at];
                };
                const float weight = value(C());
                if (!(weight > patch.constants.faint)) continue;
                for (std::size_t c = 0; c <= C(); ++c) {
                    sheet[c * pixels + std::size_t(i)] = value(c) / weight;
                }
            }
        }
        filled = {smaller(filled.top, under.top), larger(filled.bottom, under.bottom),
                  smaller(filled.left, under.left), larger(filled.right, under.right)};
    }

    // Layers are blurred and laid over one another; `front` is kept for blurs up to `sharp`.
    void render(float sharp) {
        fill_with(rendered, std::size_t(n) * C() * pixels, 0.0f);
        float* through = arena.take(std::size_t(n) * pixels);
        fill_with(through, std::size_t(n) * pixels, 1.0f);
        float* flat = arena.take((C() + 1) * pixels);
        for (int layer = 0; layer < layers; ++layer) {
            if (!present[std::size_t(layer)]) continue;
            float*& A = colour[std::size_t(layer)];
            A = arena.take(C() * pixels);
            const auto own = std::size_t(sharpest(layer));
            unmix(frame(int(own)), rendering(int(own)), through + own * pixels, A, channels,
                  std::ptrdiff_t(pixels), patch.constants.opaque);
            Box filled;
            continued(layer, flat, filled);
            for (int k = 0; k < n; ++k) {
                float* clear = through + std::size_t(k) * pixels;
                if (asked[std::size_t(layer)] && sigma(k, layer) <= sharp) {
                    float*& kept = front[pair(k, layer)];
                    kept = arena.take(pixels);
                    copy_to(kept, clear, pixels);
                }
                Sheet& sheet = sheets[pair(k, layer)];
                sheet.planes = arena.take((C() + 1) * pixels);
                sheet.box = convolve(flat, sheet.planes, channels + 1, patch.size,
                                     taps(double(sigma(k, layer))), filled, whole(patch.size));
                cover(rendering(k), clear, sheet.planes, channels, patch.size, sheet.box,
                      patch.constants.faint);
            }
        }
        for (int k = 0; k < n; ++k) {
            normalise(rendering(k), through + std::size_t(k) * pixels, frame(k), channels,
                      std::ptrdiff_t(pixels), patch.constants.covered);
        }
    }
};

Arena& arena_of_thread() {
    thread_local Arena arena;
    return arena;
}

void edge_judge(const EdgePatch& patch, float tau2, float sharp, float* change, float* error,
                float* colour) {
    Arena& arena = arena_of_thread();
    Work work(patch, arena);
    work.render(sharp);
    const std::size_t plane = work.pixels, C = work.C();
    const auto pixels = std::ptrdiff_t(plane);
    const int n = work.n, channels = work.channels;
    float* r = arena.take(std::size_t(n) * C * plane);
    float* trust = arena.take(std::size_t(n) * plane);
    fill_with(change, pixels, 0.0f);
    fill_with(error, pixels, 0.0f);
    for (int k = 0; k < n; ++k) {
        residuals(work.frame(k), work.rendering(k), r + std::size_t(k) * C * plane,
                  trust + std::size_t(k) * plane, error, tau2, channels, pixels);
    }
    float *back = arena.take(C * plane), *rest = arena.take(plane);
    float *linear = arena.take((C + 1) * plane), *linear_out = arena.take((C + 1) * plane);
    float *square = arena.take((C + 2) * plane), *square_out = arena.take((C + 2) * plane);
    const Box all = whole(patch.size);
    for (int layer = 0; layer < work.layers; ++layer) {
        if (!work.asked[std::size_t(layer)]) continue;
        const Box askers = bounds(patch.size, [&](std::ptrdiff_t i) {
            return patch.near[i] == layer && patch.near[i] < patch.far[i];
        });
        for (int k = 0; k < n; ++k) {
            if (!(work.sigma(k, layer) <= sharp)) continue;
            fill_with(back, C * plane, 0.0f);
            fill_with(rest, plane, 1.0f);
            for (int other = layer + 1; other < work.layers; ++other) {
                const Sheet& sheet = work.sheets[work.pair(k, other)];
                if (sheet.box.empty()) continue;
                cover(back, rest, sheet.planes, channels, patch.size, sheet.box,
                      patch.constants.faint);
            }
            normalise(back, rest, work.rendering(k), channels, pixels, patch.constants.covered);
            weigh(r + std::size_t(k) * C * plane, trust + std::size_t(k) * plane,
                  work.front[work.pair(k, layer)], back, linear, square, channels, pixels);
            const Buffer<float> taps = work.taps(double(work.sigma(k, layer)));
            convolve(linear, linear_out, channels + 1, patch.size, taps, all, askers);
            convolve(square, square_out, channels + 2, patch.size, squared(taps), all, askers);
            add_change(work.colour[std::size_t(layer)], linear_out, square_out, patch.label,
                       patch.near, patch.far, layer, change, channels, pixels);
        }
    }
    for (std::size_t i = 0; i < plane; ++i) {
        const float* A = work.colour[std::size_t(patch.label[i])];
        for (std::size_t c = 0; c < C; ++c) colour[c * plane + i] = A[c * plane + i];
    }
}

void edge_plain_error(const EdgePatch& patch, float tau2, float* error) {
    Arena& arena = arena_of_thread();
    const Work work(patch, arena);
    const std::size_t plane = work.pixels, C = work.C();
    const auto pixels = std::ptrdiff_t(plane);
    const int channels = work.channels;
    float *sharp = arena.take(C * plane), *blurred = arena.take(C * plane);
    float *rendered = arena.take(C * plane), *r = arena.take(C * plane);
    float* trust = arena.take(plane);
    Buffer<int> own(std::size_t(work.layers));
    Buffer<Box> shown(std::size_t(work.layers));
    for (int layer = 0; layer < work.layers; ++layer) {
        own[std::size_t(layer)] = work.sharpest(layer);
        shown[std::size_t(layer)] =
            bounds(patch.size, [&](std::ptrdiff_t i) { return patch.label[i] == layer; });
    }
    for (std::size_t i = 0; i < plane; ++i) {
        const float* frame = work.frame(own[std::size_t(patch.label[i])]);
        for (std::size_t c = 0; c < C; ++c) sharp[c * plane + i] = frame[c * plane + i];
    }
    fill_with(error, pixels, 0.0f);
    for (int k = 0; k < work.n; ++k) {
        for (int layer = 0; layer < work.layers; ++layer) {
            if (shown[std::size_t(layer)].empty()) continue;
            convolve(sharp, blurred, channels, patch.size, work.taps(double(work.sigma(k, layer))),
                     whole(patch.size), shown[std::size_t(layer)]);
            for (std::size_t i = 0; i < plane; ++i) {
                if (patch.label[i] != layer) continue;
                for (std::size_t c = 0; c < C; ++c) {
                    rendered[c * plane + i] = blurred[c * plane + i];
                }
            }
        }
        residuals(work.frame(k), rendered, r, trust, error, tau2, channels, pixels);
    }
}

void edge_convolve(const float* planes, int count, const float* taps, int taps_count, float* out,
                   Size size) {
    constexpr int BAND = 64;  // rows: what is read again and again stays in the cache
    Buffer<float> all(static_cast<std::size_t>(taps_count));
    copy_to(all.data(), taps, taps_count);
    for (int top = 0; top < size.height; top += BAND) {
        const Box band{top, smaller(top + BAND, size.height), 0, size.width};
        convolve(planes, out, count, size, all, whole(size), band);
    }
}

}  // namespace

void enter_edges(Kernels& table) {
    table.edge_judge = edge_judge;
    table.edge_plain_error = edge_plain_error;
    table.edge_convolve = edge_convolve;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
