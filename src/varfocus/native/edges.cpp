// The layered rendering of a patch and what it says about the sides of its jumps:
// varfocus.edges.render and varfocus.edges.judge. One patch fits into the cache of one core, so a
// call uses one thread; the caller works on several patches at once.

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels.hpp"
#include "simd.hpp"

namespace varfocus {
namespace {

using Planes = std::vector<float>;

constexpr float NO_BLUR = 0.2f, REACH = 3.0f, OPAQUE = 0.35f, CONTINUED = 2.0f, FAINT = 1e-4f;
constexpr float COVERED = 0.05f, WIDER = 0.01f;

std::vector<float> kernel(double sigma) {
    if (sigma < double(NO_BLUR)) return {1.0f};
    const int radius = int(std::ceil(double(REACH) * sigma));
    std::vector<double> taps(std::size_t(2 * radius + 1));
    double sum = 0.0;
    for (int i = -radius; i <= radius; ++i) {
        sum += taps[std::size_t(i + radius)] = std::exp(-0.5 * (i / sigma) * (i / sigma));
    }
    std::vector<float> result;
    for (double tap : taps) result.push_back(float(tap / sum));
    return result;
}

std::vector<float> squared(std::vector<float> taps) {
    for (float& tap : taps) tap *= tap;
    return taps;
}

// out[x] += Σ_j taps[j] · rows[j][x], four taps per pass over the row.
VARFOCUS_INLINE void add_rows(const float* const* rows, const float* taps, int count,
                              float* VARFOCUS_RESTRICT out, int width) {
    int j = 0;
    for (; j + 4 <= count; j += 4) {
        const float *a = rows[j], *b = rows[j + 1], *c = rows[j + 2], *d = rows[j + 3];
        const float s = taps[j], t = taps[j + 1], u = taps[j + 2], v = taps[j + 3];
        for (int x = 0; x < width; ++x) out[x] += (s * a[x] + t * b[x]) + (u * c[x] + v * d[x]);
    }
    for (; j < count; ++j) {
        const float* a = rows[j];
        const float s = taps[j];
        for (int x = 0; x < width; ++x) out[x] += s * a[x];
    }
}

// One row of a convolution: the sum over the rows [first, end) of `count`, then along the row.
// `shifted` points at the starts of `padded`, one number apart.
VARFOCUS_SIMD void convolve_row(const float* const* rows, const float* taps, int count, int first,
                                int end, float* padded, const float* const* shifted, float* out,
                                int width) {
    const int radius = count / 2;
    float* middle = padded + radius;
    for (int x = 0; x < width; ++x) middle[x] = 0.0f;
    add_rows(rows + first, taps + first, end - first, middle, width);
    for (int i = 0; i < radius; ++i) {
        padded[i] = middle[0];
        middle[width + i] = middle[width - 1];
    }
    for (int x = 0; x < width; ++x) out[x] = 0.0f;
    add_rows(shifted, taps, count, out, width);
}

VARFOCUS_SIMD void scale_row(const float* from, float factor, float* VARFOCUS_RESTRICT out,
                             std::ptrdiff_t count) {
    for (std::ptrdiff_t x = 0; x < count; ++x) out[x] = factor * from[x];
}

// varfocus.edges.render.convolved; rows outside [top, bottom) of the input are known to be zero.
void convolve(const float* in, float* out, int planes, Size size, const std::vector<float>& taps,
              int top, int bottom) {
    const int count = int(taps.size()), radius = count / 2;
    const std::ptrdiff_t pixels = size.pixels();
    if (count == 1) {
        scale_row(in, taps[0] * taps[0], out, planes * pixels);
        return;
    }
    std::vector<float> padded(std::size_t(size.width + 2 * radius));
    std::vector<const float*> rows(static_cast<std::size_t>(count)), shifted(rows.size());
    for (int j = 0; j < count; ++j) shifted[std::size_t(j)] = padded.data() + j;
    for (int m = 0; m < planes; ++m) {
        const float* image = in + m * pixels;
        for (int y = 0; y < size.height; ++y) {
            float* to = out + m * pixels + std::ptrdiff_t(y) * size.width;
            int first = count, end = 0;
            for (int j = 0; j < count; ++j) {
                const int row = std::clamp(y + j - radius, 0, size.height - 1);
                rows[std::size_t(j)] = image + std::ptrdiff_t(row) * size.width;
                if (row >= top && row < bottom) {
                    first = std::min(first, j);
                    end = j + 1;
                }
            }
            if (end == 0) {
                std::fill(to, to + size.width, 0.0f);
            } else {
                convolve_row(rows.data(), taps.data(), count, first, end, padded.data(),
                             shifted.data(), to, size.width);
            }
        }
    }
}

VARFOCUS_SIMD void cover(float* VARFOCUS_RESTRICT acc, float* VARFOCUS_RESTRICT through,
                         const float* VARFOCUS_RESTRICT sheet, int channels,
                         std::ptrdiff_t pixels) {
    const float* VARFOCUS_RESTRICT alpha = sheet + channels * pixels;
    for (int c = 0; c < channels; ++c) {
        for (std::ptrdiff_t i = 0; i < pixels; ++i) {
            acc[c * pixels + i] += sheet[c * pixels + i] *
                                   (smaller(through[i], alpha[i]) / larger(alpha[i], FAINT));
        }
    }
    for (std::ptrdiff_t i = 0; i < pixels; ++i) through[i] -= smaller(through[i], alpha[i]);
}

VARFOCUS_SIMD void normalise(float* VARFOCUS_RESTRICT acc, const float* VARFOCUS_RESTRICT through,
                             const float* VARFOCUS_RESTRICT otherwise, int channels,
                             std::ptrdiff_t pixels) {
    for (int c = 0; c < channels; ++c) {
        for (std::ptrdiff_t i = 0; i < pixels; ++i) {
            const float covered = 1.0f - through[i];
            const float ratio = acc[c * pixels + i] / larger(covered, COVERED);
            acc[c * pixels + i] = covered > COVERED ? ratio : otherwise[c * pixels + i];
        }
    }
}

VARFOCUS_SIMD void unmix(const float* VARFOCUS_RESTRICT frame, const float* VARFOCUS_RESTRICT acc,
                         const float* VARFOCUS_RESTRICT through, float* VARFOCUS_RESTRICT colour,
                         int channels, std::ptrdiff_t pixels) {
    for (int c = 0; c < channels; ++c) {
        for (std::ptrdiff_t i = 0; i < pixels; ++i) {
            const std::ptrdiff_t at = c * pixels + i;
            const bool clear = through[i] >= OPAQUE;
            const float behind = (frame[at] - acc[at]) / (clear ? through[i] : 1.0f);
            colour[at] = clear ? smaller(larger(behind, 0.0f), 1.0f) : frame[at];
        }
    }
}

// Weights and what they multiply, for the first and second moments of one frame and layer.
VARFOCUS_SIMD void weigh(const float* VARFOCUS_RESTRICT r, const float* VARFOCUS_RESTRICT trust,
                         const float* VARFOCUS_RESTRICT through,
                         const float* VARFOCUS_RESTRICT behind, float* VARFOCUS_RESTRICT linear,
                         float* VARFOCUS_RESTRICT square, int channels, std::ptrdiff_t pixels) {
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

VARFOCUS_SIMD void add_change(const float* VARFOCUS_RESTRICT F,
                              const float* VARFOCUS_RESTRICT linear,
                              const float* VARFOCUS_RESTRICT square,
                              const std::int32_t* VARFOCUS_RESTRICT label,
                              const std::int32_t* VARFOCUS_RESTRICT near,
                              const std::int32_t* VARFOCUS_RESTRICT far, int layer,
                              float* VARFOCUS_RESTRICT change, int channels,
                              std::ptrdiff_t pixels) {
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

VARFOCUS_SIMD void residuals(const float* VARFOCUS_RESTRICT frame,
                             const float* VARFOCUS_RESTRICT rendered, float* VARFOCUS_RESTRICT r,
                             float* VARFOCUS_RESTRICT trust, float* VARFOCUS_RESTRICT error,
                             float tau2, int channels, std::ptrdiff_t pixels) {
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

struct Work {
    const EdgePatch& patch;
    std::ptrdiff_t pixels;
    int n, channels, layers;
    std::vector<bool> present;    // layers that the patch shows or may show
    std::vector<Planes> colour;   // per layer
    std::vector<Planes> sheets;   // frame · layers + layer
    Planes rendered;              // (n, C, pixels)

    explicit Work(const EdgePatch& p)
        : patch(p),
          pixels(p.size.pixels()),
          n(p.frames_count),
          channels(p.channels),
          layers(p.layers),
          present(std::size_t(p.layers), false),
          colour(std::size_t(p.layers)),
          sheets(std::size_t(p.frames_count) * std::size_t(p.layers)),
          rendered(std::size_t(p.frames_count * p.channels) * std::size_t(p.size.pixels()), 0.0f) {
        for (std::ptrdiff_t i = 0; i < pixels; ++i) {
            present[std::size_t(p.label[i])] = true;
            present[std::size_t(p.near[i])] = true;
            present[std::size_t(p.far[i])] = true;
        }
    }

    float sigma(int k, int layer) const { return patch.sigma[k * layers + layer]; }
    const float* frame(int k) const { return patch.frames + k * channels * pixels; }
    const Planes& sheet(int k, int layer) const {
        return sheets[std::size_t(k) * std::size_t(layers) + std::size_t(layer)];
    }

    int sharpest(int layer) const {
        int best = 0;
        for (int k = 1; k < n; ++k) {
            if (sigma(k, layer) < sigma(best, layer)) best = k;
        }
        return best;
    }

    // Premultiplied colours and mask of a layer, continued where it is hidden; rows that are used.
    Planes continued(int layer, int& top, int& bottom) const {
        const auto planes = std::size_t(channels + 1);
        Planes result(planes * std::size_t(pixels), 0.0f);
        const float* A = colour[std::size_t(layer)].data();
        top = patch.size.height, bottom = 0;
        bool hides = false;
        const auto use_row = [&](std::ptrdiff_t i) {
            top = std::min(top, int(i / patch.size.width));
            bottom = std::max(bottom, int(i / patch.size.width) + 1);
        };
        const auto hidden = [&](std::ptrdiff_t i) {
            return patch.far[i] == layer && patch.label[i] == patch.near[i] &&
                   patch.near[i] < patch.far[i];
        };
        for (std::ptrdiff_t i = 0; i < pixels; ++i) {
            hides = hides || hidden(i);
            if (patch.label[i] != layer) continue;
            for (int c = 0; c < channels; ++c) result[std::size_t(c * pixels + i)] = A[c * pixels + i];
            result[std::size_t(channels * pixels + i)] = 1.0f;
            use_row(i);
        }
        if (!hides || bottom == 0) return result;
        Planes around(result.size()), wide(result.size());
        convolve(result.data(), around.data(), channels + 1, patch.size, kernel(double(CONTINUED)),
                 top, bottom);
        convolve(result.data(), wide.data(), channels + 1, patch.size,
                 kernel(2.0 * double(CONTINUED)), top, bottom);
        for (std::size_t i = 0; i < around.size(); ++i) around[i] += WIDER * wide[i];
        for (std::ptrdiff_t i = 0; i < pixels; ++i) {
            const float weight = around[std::size_t(channels * pixels + i)];
            if (!hidden(i) || !(weight > FAINT)) continue;
            for (int c = 0; c <= channels; ++c) {
                const auto at = std::size_t(c * pixels + i);
                result[at] = around[at] / weight;
            }
            use_row(i);
        }
        return result;
    }

    void render() {
        Planes through(std::size_t(n) * std::size_t(pixels), 1.0f);
        for (int layer = 0; layer < layers; ++layer) {
            if (!present[std::size_t(layer)]) continue;
            Planes& A = colour[std::size_t(layer)];
            A.resize(std::size_t(channels) * std::size_t(pixels));
            const int own = sharpest(layer);
            unmix(frame(own), rendered.data() + own * channels * pixels,
                  through.data() + own * pixels, A.data(), channels, pixels);
            int top, bottom;
            const Planes flat = continued(layer, top, bottom);
            for (int k = 0; k < n; ++k) {
                Planes& blurred =
                    sheets[std::size_t(k) * std::size_t(layers) + std::size_t(layer)];
                blurred.resize(flat.size());
                convolve(flat.data(), blurred.data(), channels + 1, patch.size,
                         kernel(double(sigma(k, layer))), top, bottom);
                cover(rendered.data() + k * channels * pixels, through.data() + k * pixels,
                      blurred.data(), channels, pixels);
            }
        }
        for (int k = 0; k < n; ++k) {
            normalise(rendered.data() + k * channels * pixels, through.data() + k * pixels, frame(k),
                      channels, pixels);
        }
    }
};

}  // namespace

void edge_judge(const EdgePatch& patch, float tau2, float sharp, float* change, float* error,
                float* colour) {
    Work work(patch);
    work.render();
    const std::ptrdiff_t pixels = work.pixels;
    const int n = work.n, channels = work.channels;
    const auto plane = std::size_t(pixels);
    Planes r(work.rendered.size()), trust(std::size_t(n) * plane);
    std::fill(change, change + pixels, 0.0f);
    std::fill(error, error + pixels, 0.0f);
    for (int k = 0; k < n; ++k) {
        residuals(work.frame(k), work.rendered.data() + k * channels * pixels,
                  r.data() + k * channels * pixels, trust.data() + k * pixels, error, tau2,
                  channels, pixels);
    }
    std::vector<bool> asked(std::size_t(work.layers), false);
    for (std::ptrdiff_t i = 0; i < pixels; ++i) {
        if (patch.near[i] < patch.far[i]) asked[std::size_t(patch.near[i])] = true;
    }
    const auto C = std::size_t(channels);
    Planes front, back, rest, light, linear((C + 1) * plane), square((C + 2) * plane);
    Planes linear_out(linear.size()), square_out(square.size());
    for (int layer = 0; layer < work.layers; ++layer) {
        if (!asked[std::size_t(layer)]) continue;
        for (int k = 0; k < n; ++k) {
            if (!(work.sigma(k, layer) <= sharp)) continue;
            light.assign(C * plane, 0.0f), front.assign(plane, 1.0f);
            back.assign(C * plane, 0.0f), rest.assign(plane, 1.0f);
            for (int other = 0; other < work.layers; ++other) {
                if (!work.present[std::size_t(other)] || other == layer) continue;
                float* acc = other < layer ? light.data() : back.data();
                float* through = other < layer ? front.data() : rest.data();
                cover(acc, through, work.sheet(k, other).data(), channels, pixels);
            }
            normalise(back.data(), rest.data(), work.rendered.data() + k * channels * pixels,
                      channels, pixels);
            weigh(r.data() + k * channels * pixels, trust.data() + k * pixels, front.data(),
                  back.data(), linear.data(), square.data(), channels, pixels);
            const std::vector<float> taps = kernel(double(work.sigma(k, layer)));
            const int height = patch.size.height;
            convolve(linear.data(), linear_out.data(), channels + 1, patch.size, taps, 0, height);
            convolve(square.data(), square_out.data(), channels + 2, patch.size, squared(taps), 0,
                     height);
            add_change(work.colour[std::size_t(layer)].data(), linear_out.data(), square_out.data(),
                       patch.label, patch.near, patch.far, layer, change, channels, pixels);
        }
    }
    for (std::ptrdiff_t i = 0; i < pixels; ++i) {
        const Planes& A = work.colour[std::size_t(patch.label[i])];
        for (int c = 0; c < channels; ++c) {
            colour[c * pixels + i] = A[std::size_t(c * pixels + i)];
        }
    }
}

void edge_plain_error(const EdgePatch& patch, float tau2, float* error) {
    const Work work(patch);
    const std::ptrdiff_t pixels = work.pixels;
    const int channels = work.channels, height = patch.size.height;
    Planes sharp(std::size_t(channels) * std::size_t(pixels));
    std::vector<bool> shown(std::size_t(work.layers), false);
    std::vector<int> own;
    for (int layer = 0; layer < work.layers; ++layer) own.push_back(work.sharpest(layer));
    for (std::ptrdiff_t i = 0; i < pixels; ++i) {
        shown[std::size_t(patch.label[i])] = true;
        const float* frame = work.frame(own[std::size_t(patch.label[i])]);
        for (int c = 0; c < channels; ++c) sharp[std::size_t(c * pixels + i)] = frame[c * pixels + i];
    }
    std::fill(error, error + pixels, 0.0f);
    Planes blurred(sharp.size()), rendered(sharp.size()), r(sharp.size());
    Planes trust(static_cast<std::size_t>(pixels));
    for (int k = 0; k < work.n; ++k) {
        for (int layer = 0; layer < work.layers; ++layer) {
            if (!shown[std::size_t(layer)]) continue;
            convolve(sharp.data(), blurred.data(), channels, patch.size,
                     kernel(double(work.sigma(k, layer))), 0, height);
            for (std::ptrdiff_t i = 0; i < pixels; ++i) {
                if (patch.label[i] != layer) continue;
                for (int c = 0; c < channels; ++c) {
                    const auto at = std::size_t(c * pixels + i);
                    rendered[at] = blurred[at];
                }
            }
        }
        residuals(work.frame(k), rendered.data(), r.data(), trust.data(), error, tau2, channels,
                  pixels);
    }
}

}  // namespace varfocus
