// The cost of every depth: small matrix products, their maximum over widths, and one logarithm.
//
// A strip of pixels at a time: contrast curves of all frames, their projection on the few curves
// that templates are made of, then for sixteen labels at a time the products with the templates of
// every width. Neither the products nor the costs of one scale ever leave the cache.

#include <algorithm>
#include <vector>

#include "compact.hpp"
#include "kernels.hpp"
#include "lanes.hpp"
#include "simd.hpp"
#include "threads.hpp"

namespace varfocus {
namespace {

constexpr int PIXELS = 48;  // of a strip: a multiple of LANES and of TOGETHER
constexpr int TOGETHER = 6;  // pixels whose products are in registers at once

struct Strip {
    std::vector<float> v, y, share;
    float whole[PIXELS];
    Strip(int n, int rank, int stride)
        : v(std::size_t(n) * PIXELS),
          y(std::size_t(rank) * PIXELS),
          share(std::size_t(stride) * PIXELS) {}
};

// v (n, PIXELS) ← curves less their mean; whole ← ‖v‖² + e.
VARFOCUS_INLINE void centred(const std::uint16_t* contrast, std::ptrdiff_t plane, int n, int count,
                             float noise, float* VARFOCUS_RESTRICT v,
                             float* VARFOCUS_RESTRICT whole) {
    float mean[PIXELS] = {}, energy[PIXELS] = {};
    for (int k = 0; k < n; ++k) {
        const std::uint16_t* VARFOCUS_RESTRICT from = contrast + k * plane;
        float* VARFOCUS_RESTRICT to = v + std::ptrdiff_t(k) * PIXELS;
        if (count == PIXELS) {
            for (int x = 0; x < PIXELS; ++x) to[x] = from_compact(from[x]);
        } else {
            for (int x = 0; x < count; ++x) to[x] = from_compact(from[x]);
            for (int x = count; x < PIXELS; ++x) to[x] = 0.0f;
        }
        for (int x = 0; x < PIXELS; ++x) mean[x] += to[x];
    }
    const float share = 1.0f / float(n);
    for (int x = 0; x < PIXELS; ++x) mean[x] *= share;
    for (int k = 0; k < n; ++k) {
        float* VARFOCUS_RESTRICT to = v + std::ptrdiff_t(k) * PIXELS;
        for (int x = 0; x < PIXELS; ++x) {
            to[x] -= mean[x];
            energy[x] += to[x] * to[x];
        }
    }
    for (int x = 0; x < PIXELS; ++x) whole[x] = energy[x] + noise;
}

// y (rank, PIXELS) ← basis (rank, n) · v, three vectors of pixels and two rows at a time.
VARFOCUS_INLINE void project(const float* basis, int rank, int n, const float* v, float* y) {
    for (int r = 0; r < rank; r += 2) {
        const float *one = basis + std::ptrdiff_t(r) * n, *two = r + 1 < rank ? one + n : one;
        Lanes sum[2][3] = {};
        for (int k = 0; k < n; ++k) {
            const float* at = v + std::ptrdiff_t(k) * PIXELS;
            for (int j = 0; j < 3; ++j) {
                Lanes values;
                load(at + j * LANES, values);
                sum[0][j] = sum[0][j] + values * one[k];
                sum[1][j] = sum[1][j] + values * two[k];
            }
        }
        for (int i = 0; i < 2 && r + i < rank; ++i) {
            for (int j = 0; j < 3; ++j) {
                store(sum[i][j], y + std::ptrdiff_t(r + i) * PIXELS + j * LANES);
            }
        }
    }
}

// best[i] ← max over widths of max(⟨T, v_i⟩, 0) for sixteen labels and six pixels.
VARFOCUS_INLINE void products(const float* bank, int widths, int rank, int stride, const float* y,
                              Lanes best[TOGETHER]) {
    for (int i = 0; i < TOGETHER; ++i) best[i] = Lanes{};
    for (int w = 0; w < widths; ++w) {
        Lanes sum[TOGETHER] = {};
        const float* templates = bank + std::ptrdiff_t(w) * rank * stride;
        for (int r = 0; r < rank; ++r) {
            Lanes t;
            load(templates + std::ptrdiff_t(r) * stride, t);
            const float* at = y + std::ptrdiff_t(r) * PIXELS;
#pragma GCC unroll 6
            for (int i = 0; i < TOGETHER; ++i) sum[i] = sum[i] + t * at[i];
        }
        for (int i = 0; i < TOGETHER; ++i) keep_larger(best[i], sum[i]);
    }
}

// Multiplies `share`, or sets it, to (s² − S + e)/(s² + e).
VARFOCUS_SIMD void strip_of_scale(const CostModel& model, int scale, const std::uint16_t* contrast,
                                  std::ptrdiff_t plane, int count, bool first, Strip& strip) {
    const int n = model.frames, rank = model.rank, stride = model.stride;
    const float noise = model.noise[scale];
    centred(contrast, plane, n, count, noise, strip.v.data(), strip.whole);
    const float* y = strip.v.data();
    if (model.basis != nullptr) {
        project(model.basis + std::ptrdiff_t(scale) * rank * n, rank, n, y, strip.y.data());
        y = strip.y.data();
    }
    const float* bank = model.bank + std::ptrdiff_t(scale) * model.widths * rank * stride;
    Lanes least;
    // Rounding may make S exceed s² by a hair where a template fits exactly.
    fill(least, 1e-3f * noise);
    for (int l = 0; l < stride; l += LANES) {
        for (int x = 0; x < count; x += TOGETHER) {
            Lanes best[TOGETHER];
            products(bank + l, model.widths, rank, stride, y + x, best);
            for (int i = 0; i < TOGETHER; ++i) {
                float* to = strip.share.data() + std::ptrdiff_t(x + i) * stride + l;
                Lanes whole, left, before;
                fill(whole, strip.whole[x + i]);
                left = whole - best[i] * best[i];
                keep_larger(left, least);
                left = left * (1.0f / strip.whole[x + i]);
                if (!first) {
                    load(to, before);
                    left = left * before;
                }
                store(left, to);
            }
        }
    }
}

VARFOCUS_SIMD void logarithms(const CostModel& model, const float* lost, int count,
                              const Strip& strip, float* out) {
    const int stride = model.stride;
    for (int x = 0; x < count; ++x) {
        const float* from = strip.share.data() + std::ptrdiff_t(x) * stride;
        float* to = out + std::ptrdiff_t(x) * stride;
        for (int l = 0; l < stride; l += LANES) {
            Lanes share, cost, end, one;
            load(from + l, share);
            load(model.ends + l, end);
            log_of(share, cost);
            fill(one, 1.0f);
            store(cost * model.unit * (one - end * lost[x]), to + l);
        }
        for (int l = model.labels; l < stride; ++l) to[l] = NO_LABEL;
    }
}

}  // namespace

void cost(const CostModel& model, const std::uint16_t* contrast, std::ptrdiff_t plane,
          const float* lost, float* out, Size size, int threads) {
    for_row_blocks(size.height, 1, threads, [&](int, int y, int) {
        Strip strip(model.frames, model.rank, model.stride);
        for (int x = 0; x < size.width; x += PIXELS) {
            const int count = std::min(PIXELS, size.width - x);
            const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width + x;
            for (int scale = 0; scale < model.scales; ++scale) {
                strip_of_scale(model, scale, contrast + scale * model.frames * plane + at, plane,
                               count, scale == 0, strip);
            }
            logarithms(model, lost + at, count, strip, out + at * model.stride);
        }
    });
}

}  // namespace varfocus
