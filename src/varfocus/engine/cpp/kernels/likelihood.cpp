// The cost of every depth: small matrix products, their maximum over widths, and one logarithm.
//
// A strip of pixels at a time: contrast curves of all frames, their projection on the few curves
// that templates are made of, then for sixteen labels at a time the products with the templates of
// every width. Neither the products nor the costs of one scale ever leave the cache.
//
// Where the templates of the last labels are those of the first ones seen backwards, curves are
// split into an even and an odd half: the sum of their products belongs to a label, the difference
// to its mirror image, and half the products suffice.

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

// Labels that templates are given for, and after them as many mirror images, or none.
struct Layout {
    int given, vectors, row;  // labels; those of whole vectors; numbers per pixel
    explicit Layout(const CostModel& model)
        : given(model.even > 0 ? (model.labels + 1) / 2 : model.labels),
          vectors((given + LANES - 1) / LANES * LANES),
          row(model.even > 0 ? 2 * vectors : vectors) {}
};

struct Strip {
    Buffer<float> v, y, share, line;
    float whole[PIXELS];
    Strip(const CostModel& model, const Layout& layout)
        : v(std::size_t(model.frames) * PIXELS),
          y(std::size_t(model.rank) * PIXELS),
          share(std::size_t(layout.row) * PIXELS),
          line(std::size_t(model.stride), 1.0f) {}
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

// v(k) ← v(k) + v(n−1−k), and v(n−1−k) ← the difference of the two.
VARFOCUS_INLINE void fold(int n, float* v) {
    for (int k = 0; k < n / 2; ++k) {
        float* VARFOCUS_RESTRICT one = v + std::ptrdiff_t(k) * PIXELS;
        float* VARFOCUS_RESTRICT other = v + std::ptrdiff_t(n - 1 - k) * PIXELS;
        for (int x = 0; x < PIXELS; ++x) {
            const float sum = one[x] + other[x];
            other[x] = one[x] - other[x];
            one[x] = sum;
        }
    }
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

// sum ← Σ_r t_r y_r over curves first … end − 1, for some pixels and one or more vectors of labels.
template <int COUNT>
VARFOCUS_INLINE void products(const float* templates, std::ptrdiff_t next, int first, int end,
                              const float* y, Lanes sum[TOGETHER][CHUNKS]) {
    for (int i = 0; i < TOGETHER; ++i) {
        for (int j = 0; j < COUNT; ++j) sum[i][j] = Lanes{};
    }
    for (int r = first; r < end; ++r) {
        Lanes t[CHUNKS];
        for (int j = 0; j < COUNT; ++j) load(templates + r * LANES + j * next, t[j]);
        const float* at = y + std::ptrdiff_t(r) * PIXELS;
#pragma GCC unroll 12
        for (int i = 0; i < TOGETHER; ++i) {
#pragma GCC unroll 4
            for (int j = 0; j < COUNT; ++j) sum[i][j] = sum[i][j] + t[j] * at[i];
        }
    }
}

// best ← max over widths of max(⟨T, v⟩, 0), and the same of the mirror images if FOLDED.
// `bank` holds LANES labels of all curves of all widths, then the next LANES labels.
template <int COUNT, bool FOLDED>
VARFOCUS_INLINE void best_products(const CostModel& model, const float* bank, const float* y,
                                   Lanes best[TOGETHER][CHUNKS], Lanes mirrored[TOGETHER][CHUNKS]) {
    const int rank = model.rank;
    const std::ptrdiff_t next = std::ptrdiff_t(model.widths) * rank * LANES;
    for (int i = 0; i < TOGETHER; ++i) {
        for (int j = 0; j < COUNT; ++j) best[i][j] = mirrored[i][j] = Lanes{};
    }
    for (int w = 0; w < model.widths; ++w) {
        const float* templates = bank + std::ptrdiff_t(w) * rank * LANES;
        Lanes sum[TOGETHER][CHUNKS];
        products<COUNT>(templates, next, 0, FOLDED ? model.even : rank, y, sum);
        if (FOLDED) {
            Lanes odd[TOGETHER][CHUNKS];
            products<COUNT>(templates, next, model.even, rank, y, odd);
            for (int i = 0; i < TOGETHER; ++i) {
                for (int j = 0; j < COUNT; ++j) {
                    keep_larger(mirrored[i][j], sum[i][j] - odd[i][j]);
                    sum[i][j] = sum[i][j] + odd[i][j];
                }
            }
        }
        for (int i = 0; i < TOGETHER; ++i) {
            for (int j = 0; j < COUNT; ++j) keep_larger(best[i][j], sum[i][j]);
        }
    }
}

// Multiplies the share that was left so far, or sets it, to (s² − S + e)/(s² + e).
VARFOCUS_INLINE void take_share(const Lanes& best, float whole, const Lanes& least, bool first,
                                float* to) {
    Lanes left, before;
    fill(left, whole);
    left = left - best * best;
    keep_larger(left, least);
    left = left * (1.0f / whole);
    if (!first) {
        load(to, before);
        left = left * before;
    }
    store(left, to);
}

template <int COUNT, bool FOLDED>
VARFOCUS_INLINE void take_shares(const CostModel& model, const Layout& layout, const float* bank,
                                 const float* y, int x, int l, float noise, bool first,
                                 Strip& strip) {
    Lanes best[TOGETHER][CHUNKS], mirrored[TOGETHER][CHUNKS], least;
    // Rounding may make S exceed s² by a hair where a template fits exactly.
    fill(least, 1e-3f * noise);
    best_products<COUNT, FOLDED>(model, bank + std::ptrdiff_t(l) * model.widths * model.rank, y + x,
                                 best, mirrored);
    for (int i = 0; i < TOGETHER; ++i) {
        const float whole = strip.whole[x + i];
        float* to = strip.share.data() + std::ptrdiff_t(x + i) * layout.row + l;
        for (int j = 0; j < COUNT; ++j) {
            take_share(best[i][j], whole, least, first, to + j * LANES);
            if (FOLDED) {
                take_share(mirrored[i][j], whole, least, first, to + layout.vectors + j * LANES);
            }
        }
    }
}

template <bool FOLDED>
void strip_of_scale(const CostModel& model, const Layout& layout, const float* bank, int scale,
                    const std::uint16_t* contrast, std::ptrdiff_t plane, int count, Strip& strip) {
    const int n = model.frames, rank = model.rank;
    const float noise = model.noise[scale];
    centred(contrast, plane, n, count, noise, strip.v.data(), strip.whole);
    const float* y = strip.v.data();
    if (model.basis != nullptr) {
        project(model.basis + std::ptrdiff_t(scale) * rank * n, rank, n, y, strip.y.data());
        y = strip.y.data();
    } else if (FOLDED) {
        fold(n, strip.v.data());
    }
    int l = 0;
    for (; l + CHUNKS * LANES <= layout.vectors; l += CHUNKS * LANES) {
        for (int x = 0; x < count; x += TOGETHER) {
            take_shares<CHUNKS, FOLDED>(model, layout, bank, y, x, l, noise, scale == 0, strip);
        }
    }
    for (; l < layout.vectors; l += LANES) {
        for (int x = 0; x < count; x += TOGETHER) {
            take_shares<1, FOLDED>(model, layout, bank, y, x, l, noise, scale == 0, strip);
        }
    }
}

void logarithms(const CostModel& model, const Layout& layout, const float* lost, int count,
                Strip& strip, float* out) {
    const int stride = model.stride, labels = model.labels;
    float* line = strip.line.data();
    for (int x = 0; x < count; ++x) {
        const float* from = strip.share.data() + std::ptrdiff_t(x) * layout.row;
        copy_to(line, from, layout.given);
        const float* mirrored = from + layout.vectors;
        for (int l = layout.given; l < labels; ++l) line[l] = mirrored[labels - 1 - l];
        float* to = out + std::ptrdiff_t(x) * stride;
        for (int l = 0; l < labels; l += LANES) {
            Lanes share, cost, end, one;
            load(line + l, share);
            load(model.ends + l, end);
            log_of(share, cost);
            fill(one, 1.0f);
            store(cost * model.unit * (one - end * lost[x]), to + l);
        }
        for (int l = labels; l < stride; ++l) to[l] = NO_LABEL;
    }
}

template <bool FOLDED>
void cost_of(const CostModel& model, const std::uint16_t* contrast, std::ptrdiff_t plane,
             const float* lost, float* out, Size size, int threads) {
    const Layout layout(model);
    // (scales, widths, rank, labels) → (scales, labels / LANES, widths, rank, LANES).
    const std::ptrdiff_t rows = std::ptrdiff_t(model.widths) * model.rank;
    const std::ptrdiff_t bank_size = rows * layout.vectors;
    Buffer<float> bank(std::size_t(model.scales * bank_size));
    for (int scale = 0; scale < model.scales; ++scale) {
        for (std::ptrdiff_t row = 0; row < rows; ++row) {
            const float* from = model.bank + (scale * rows + row) * model.bank_stride;
            for (int l = 0; l < layout.vectors; l += LANES) {
                copy_to(bank.data() + scale * bank_size + l * rows + row * LANES, from + l, LANES);
            }
        }
    }
    for_row_blocks(
        size.height, 1, threads, [&] { return Strip(model, layout); },
        [&](int, int y, int, Strip& strip) {
            for (int x = 0; x < size.width; x += PIXELS) {
                const int count = smaller(PIXELS, size.width - x);
                const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width + x;
                for (int scale = 0; scale < model.scales; ++scale) {
                    strip_of_scale<FOLDED>(model, layout, bank.data() + scale * bank_size, scale,
                                           contrast + scale * model.frames * plane + at, plane,
                                           count, strip);
                }
                logarithms(model, layout, lost + at, count, strip, out + at * model.stride);
            }
        });
}

void cost(const CostModel& model, const std::uint16_t* contrast, std::ptrdiff_t plane,
          const float* lost, float* out, Size size, int threads) {
    (model.even > 0 ? cost_of<true> : cost_of<false>)(model, contrast, plane, lost, out, size,
                                                      threads);
}

}  // namespace

void enter_likelihood(Kernels& table) {
    table.cost = cost;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
