// Products of some curves with all templates, and what is largest among them.
//
// Two vectors of pixels and six labels at a time stay in registers, or one wide vector and twelve
// labels; the products themselves are never stored. Curves and templates split into even and odd
// halves give the products with all templates seen backwards as well.

#include "blocks.hpp"
#include "lanes.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

#if defined(__AVX512F__)
constexpr int VECTORS = 1, TOGETHER = 12;  // of pixels, and labels
#else
constexpr int VECTORS = 2, TOGETHER = 6;
#endif
constexpr int PIXELS = VECTORS * LANES;

// Products of the templates of labels l, l + 1, … (the last one repeated) with numbers first …
// end − 1 of one strip.
VARFOCUS_INLINE void products(const float* templates, int l, const Templates& bank, int first,
                              int end, const float* strip, Lanes sum[TOGETHER][VECTORS]) {
    const float* rows[TOGETHER];
    for (int i = 0; i < TOGETHER; ++i) {
        rows[i] = templates + std::ptrdiff_t(smaller(l + i, bank.labels - 1)) * bank.frames;
        for (int j = 0; j < VECTORS; ++j) sum[i][j] = Lanes{};
    }
    for (int k = first; k < end; ++k) {
        Lanes values[VECTORS];
        for (int j = 0; j < VECTORS; ++j) {
            load(strip + std::ptrdiff_t(k) * PIXELS + j * LANES, values[j]);
        }
#pragma GCC unroll 12
        for (int i = 0; i < TOGETHER; ++i) {
#pragma GCC unroll 2
            for (int j = 0; j < VECTORS; ++j) sum[i][j] = sum[i][j] + values[j] * rows[i][k];
        }
    }
}

// The largest product of every pixel of a strip, and its number.
struct Match {
    Lanes value[VECTORS];
    IntLanes where[VECTORS] = {};
    Match() {
        for (int j = 0; j < VECTORS; ++j) fill(value[j], -NO_LABEL);
    }
    VARFOCUS_INLINE void take(const Lanes* sum, std::int32_t here) {
        for (int j = 0; j < VECTORS; ++j) take_larger(value[j], where[j], sum[j], here);
    }
    void write(int count, float* best, std::int32_t* number) const {
        float values[PIXELS];
        std::int32_t numbers[PIXELS];
        memcpy(values, value, sizeof values);
        memcpy(numbers, where, sizeof numbers);
        copy_to(best, values, count);
        copy_to(number, numbers, count);
    }
};

// The sum of even and odd products belongs to a template, their difference to its mirror image.
template <bool FOLDED>
VARFOCUS_INLINE void match_strip(const Templates& bank, int even, const float* strip, Match& match,
                                 Match& mirrored) {
    for (int w = 0; w < bank.widths; ++w) {
        const float* templates = bank.data + std::ptrdiff_t(w) * bank.labels * bank.frames;
        for (int l = 0; l < bank.labels; l += TOGETHER) {
            Lanes sum[TOGETHER][VECTORS], odd[TOGETHER][VECTORS];
            products(templates, l, bank, 0, FOLDED ? even : bank.frames, strip, sum);
            if (FOLDED) products(templates, l, bank, even, bank.frames, strip, odd);
            for (int i = 0; i < TOGETHER && l + i < bank.labels; ++i) {
                const std::int32_t here = w * bank.labels + l + i;
                if (FOLDED) {
                    Lanes difference[VECTORS];
                    for (int j = 0; j < VECTORS; ++j) {
                        difference[j] = sum[i][j] - odd[i][j];
                        sum[i][j] = sum[i][j] + odd[i][j];
                    }
                    mirrored.take(difference, here);
                }
                match.take(sum[i], here);
            }
        }
    }
}

void explain_strip(const Templates& bank, const float* strip, int count, std::ptrdiff_t pixels,
                   float* out) {
    const std::ptrdiff_t next_width = std::ptrdiff_t(bank.labels) * bank.frames;
    for (int l = 0; l < bank.labels; l += TOGETHER) {
        Lanes best[TOGETHER][VECTORS] = {};
        for (int w = 0; w < bank.widths; ++w) {
            Lanes sum[TOGETHER][VECTORS];
            products(bank.data + w * next_width, l, bank, 0, bank.frames, strip, sum);
            for (int i = 0; i < TOGETHER; ++i) {
                for (int j = 0; j < VECTORS; ++j) keep_larger(best[i][j], sum[i][j]);
            }
        }
        for (int i = 0; i < TOGETHER && l + i < bank.labels; ++i) {
            float squares[PIXELS];
            for (int j = 0; j < VECTORS; ++j) store(best[i][j] * best[i][j], squares + j * LANES);
            copy_to(out + (l + i) * pixels, squares, count);
        }
    }
}

// Calls f(first pixel, how many, their curves) for strips of pixels.
template <class F>
void for_strips(const float* v, int n, int pixels, int threads, const F& f) {
    for_row_blocks(pixels, PIXELS, threads, [&](int, int first, int end) {
        Buffer<float> strip(std::size_t(n) * PIXELS, 0.0f);
        for (int k = 0; k < n; ++k) {
            const float* from = v + std::ptrdiff_t(k) * pixels;
            copy_to(strip.data() + std::ptrdiff_t(k) * PIXELS, from + first, end - first);
        }
        f(first, end - first, strip.data());
    });
}

void best_match(const Templates& bank, int even, const float* v, int pixels, float* best,
                std::int32_t* number, int threads) {
    for_strips(v, bank.frames, pixels, threads, [&](int first, int count, const float* strip) {
        Match match, mirrored;
        if (even > 0) {
            match_strip<true>(bank, even, strip, match, mirrored);
            mirrored.write(count, best + pixels + first, number + pixels + first);
        } else {
            match_strip<false>(bank, even, strip, match, mirrored);
        }
        match.write(count, best + first, number + first);
    });
}

void explained(const Templates& bank, const float* v, int pixels, float* out, int threads) {
    for_strips(v, bank.frames, pixels, threads, [&](int first, int count, const float* strip) {
        explain_strip(bank, strip, count, pixels, out + first);
    });
}

}  // namespace

void enter_templates(Kernels& table) {
    table.best_match = best_match;
    table.explained = explained;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
