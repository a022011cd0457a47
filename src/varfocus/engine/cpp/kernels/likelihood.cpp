// The cost of every depth: small matrix products, their maximum over widths, and one logarithm.
//
// A strip of pixels at a time: contrast curves of all frames, their projection on the few curves
// that templates are made of, then for sixteen labels at a time the products with the templates of
// every width. Neither the products nor the costs of one scale ever leave the cache.

#include "blocks.hpp"
#include "compact.hpp"
#include "lanes.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int PIXELS = 48;  // of a strip: a multiple of LANES and of TOGETHER

// Pixels, and vectors of labels, whose products are in registers at once: as many as fit. SSE2 has
// no load that repeats a number, and one register less for every product.
#if defined(__AVX512F__)
constexpr int TOGETHER = 12, CHUNKS = 1;  // twice the labels would not fit into the first cache
#elif defined(__AVX2__) || defined(__aarch64__) || defined(_M_ARM64)
constexpr int TOGETHER = 6, CHUNKS = 2;
#else
constexpr int TOGETHER = 3, CHUNKS = 3;
#endif

struct Strip {
    Buffer<float> v, y, share;
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
    constexpr int VECTORS = 3;
    static_assert(PIXELS % (VECTORS * LANES) == 0, "a strip is made of whole groups of vectors");
    for (int r = 0; r < rank; r += 2) {
        const float *one = basis + std::ptrdiff_t(r) * n, *two = r + 1 < rank ? one + n : one;
        for (int x = 0; x < PIXELS; x += VECTORS * LANES) {
            Lanes sum[2][VECTORS] = {};
            for (int k = 0; k < n; ++k) {
                const float* at = v + std::ptrdiff_t(k) * PIXELS + x;
                for (int j = 0; j < VECTORS; ++j) {
                    Lanes values;
                    load(at + j * LANES, values);
                    sum[0][j] = sum[0][j] + values * one[k];
                    sum[1][j] = sum[1][j] + values * two[k];
                }
            }
            for (int i = 0; i < 2 && r + i < rank; ++i) {
                for (int j = 0; j < VECTORS; ++j) {
                    store(sum[i][j], y + std::ptrdiff_t(r + i) * PIXELS + x + j * LANES);
                }
            }
        }
    }
}

// best ← max over widths of max(⟨T, v⟩, 0) for some pixels and one or two vectors of labels.
// `bank` holds LANES labels of all curves of all widths, then the next LANES labels.
template <int COUNT>
VARFOCUS_INLINE void products(const float* bank, int widths, int rank, const float* y,
                              Lanes best[TOGETHER][CHUNKS]) {
    const std::ptrdiff_t next = std::ptrdiff_t(widths) * rank * LANES;
    for (int i = 0; i < TOGETHER; ++i) {
        for (int j = 0; j < COUNT; ++j) best[i][j] = Lanes{};
    }
    for (int w = 0; w < widths; ++w) {
        Lanes sum[TOGETHER][CHUNKS] = {};
        const float* templates = bank + std::ptrdiff_t(w) * rank * LANES;
        for (int r = 0; r < rank; ++r) {
            Lanes t[CHUNKS];
            for (int j = 0; j < COUNT; ++j) load(templates + r * LANES + j * next, t[j]);
            const float* at = y + std::ptrdiff_t(r) * PIXELS;
#pragma GCC unroll 12
            for (int i = 0; i < TOGETHER; ++i) {
#pragma GCC unroll 4
                for (int j = 0; j < COUNT; ++j) sum[i][j] = sum[i][j] + t[j] * at[i];
            }
        }
        for (int i = 0; i < TOGETHER; ++i) {
            for (int j = 0; j < COUNT; ++j) keep_larger(best[i][j], sum[i][j]);
        }
    }
}

// Multiplies the share that was left so far, or sets it, to (s² − S + e)/(s² + e).
template <int COUNT>
VARFOCUS_INLINE void take_share(const CostModel& model, const float* bank, const float* y, int x,
                                int l, float noise, bool first, Strip& strip) {
    Lanes best[TOGETHER][CHUNKS], least;
    // Rounding may make S exceed s² by a hair where a template fits exactly.
    fill(least, 1e-3f * noise);
    products<COUNT>(bank + std::ptrdiff_t(l) * model.widths * model.rank, model.widths,
                              model.rank, y + x, best);
    for (int i = 0; i < TOGETHER; ++i) {
        const float whole = strip.whole[x + i];
        float* to = strip.share.data() + std::ptrdiff_t(x + i) * model.stride + l;
        for (int j = 0; j < COUNT; ++j) {
            Lanes left, before;
            fill(left, whole);
            left = left - best[i][j] * best[i][j];
            keep_larger(left, least);
            left = left * (1.0f / whole);
            if (!first) {
                load(to + j * LANES, before);
                left = left * before;
            }
            store(left, to + j * LANES);
        }
    }
}

void strip_of_scale(const CostModel& model, const float* bank, int scale,
                    const std::uint16_t* contrast, std::ptrdiff_t plane, int count, Strip& strip) {
    const int n = model.frames, rank = model.rank;
    const float noise = model.noise[scale];
    centred(contrast, plane, n, count, noise, strip.v.data(), strip.whole);
    const float* y = strip.v.data();
    if (model.basis != nullptr) {
        project(model.basis + std::ptrdiff_t(scale) * rank * n, rank, n, y, strip.y.data());
        y = strip.y.data();
    }
    int l = 0;
    for (; l + CHUNKS * LANES <= model.stride; l += CHUNKS * LANES) {
        for (int x = 0; x < count; x += TOGETHER) {
            take_share<CHUNKS>(model, bank, y, x, l, noise, scale == 0, strip);
        }
    }
    for (; l < model.stride; l += LANES) {
        for (int x = 0; x < count; x += TOGETHER) {
            take_share<1>(model, bank, y, x, l, noise, scale == 0, strip);
        }
    }
}

void logarithms(const CostModel& model, const float* lost, int count, const Strip& strip,
                float* out) {
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

void cost(const CostModel& model, const std::uint16_t* contrast, std::ptrdiff_t plane,
          const float* lost, float* out, Size size, int threads) {
    // (scales, widths, rank, stride) → (scales, stride / LANES, widths, rank, LANES).
    const std::ptrdiff_t rows = std::ptrdiff_t(model.widths) * model.rank;
    const std::ptrdiff_t bank_size = rows * model.stride;
    Buffer<float> bank(std::size_t(model.scales * bank_size));
    for (int scale = 0; scale < model.scales; ++scale) {
        for (std::ptrdiff_t row = 0; row < rows; ++row) {
            const float* from = model.bank + scale * bank_size + row * model.stride;
            for (int l = 0; l < model.stride; l += LANES) {
                copy_to(bank.data() + scale * bank_size + l * rows + row * LANES, from + l, LANES);
            }
        }
    }
    for_row_blocks(size.height, 1, threads, [&](int, int y, int) {
        Strip strip(model.frames, model.rank, model.stride);
        for (int x = 0; x < size.width; x += PIXELS) {
            const int count = smaller(PIXELS, size.width - x);
            const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width + x;
            for (int scale = 0; scale < model.scales; ++scale) {
                strip_of_scale(model, bank.data() + scale * bank_size, scale,
                               contrast + scale * model.frames * plane + at, plane, count, strip);
            }
            logarithms(model, lost + at, count, strip, out + at * model.stride);
        }
    });
}

}  // namespace

void enter_likelihood(Kernels& table) {
    table.cost = cost;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
