// As many floats side by side as a register of the instruction set holds, for the loops that no
// compiler keeps in registers by itself.
//
// GCC and Clang have such a type; elsewhere it is an array. Twice as wide as the registers it would
// go through memory, six times slower. Every lane is computed alike, so that results do not depend
// on the width.
#pragma once

#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {

constexpr int LANES = VARFOCUS_LANES;
static_assert(LABEL_PADDING % LANES == 0, "labels are padded to whole vectors");

#if defined(__GNUC__)

typedef float Lanes __attribute__((vector_size(4 * LANES)));
typedef std::int32_t IntLanes __attribute__((vector_size(4 * LANES)));

VARFOCUS_INLINE void fill(Lanes& a, float value) { a = value - Lanes{}; }
VARFOCUS_INLINE void keep_smaller(Lanes& a, const Lanes& b) { a = a < b ? a : b; }
VARFOCUS_INLINE void keep_larger(Lanes& a, const Lanes& b) { a = a > b ? a : b; }
VARFOCUS_INLINE void bits_of(const Lanes& a, IntLanes& bits) { bits = (IntLanes)a; }
VARFOCUS_INLINE void from_bits(const IntLanes& bits, Lanes& a) { a = (Lanes)bits; }
VARFOCUS_INLINE void to_float(const IntLanes& whole, Lanes& a) {
    a = __builtin_convertvector(whole, Lanes);
}

// Where b is larger than a it replaces it, and `number` what is in `where`.
VARFOCUS_INLINE void take_larger(Lanes& a, IntLanes& where, const Lanes& b, std::int32_t number) {
    const IntLanes above = b > a;
    a = above ? b : a;
    where = above ? number - IntLanes{} : where;
}

// LANES numbers of `a` and `b` put together, from number `first` on.
#if VARFOCUS_LANES == 4
#define VARFOCUS_FROM(first) first, first + 1, first + 2, first + 3
#elif VARFOCUS_LANES == 8
#define VARFOCUS_FROM(first) \
    first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, first + 7
#else
#define VARFOCUS_FROM(first)                                                                  \
    first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, first + 7,       \
        first + 8, first + 9, first + 10, first + 11, first + 12, first + 13, first + 14, \
        first + 15
#endif
#if defined(__clang__) || __GNUC__ >= 12
#define VARFOCUS_JOINED(a, b, first) __builtin_shufflevector(a, b, VARFOCUS_FROM(first))
#else
#define VARFOCUS_JOINED(a, b, first) __builtin_shuffle(a, b, IntLanes{VARFOCUS_FROM(first)})
#endif

// The numbers one place to the left of `here`, and to its right.
VARFOCUS_INLINE void left_of(const Lanes& before, const Lanes& here, Lanes& out) {
    out = VARFOCUS_JOINED(before, here, LANES - 1);
}
VARFOCUS_INLINE void right_of(const Lanes& here, const Lanes& after, Lanes& out) {
    out = VARFOCUS_JOINED(here, after, 1);
}

#else

template <class T>
struct LanesOf {
    T v[LANES];
    T& operator[](int i) { return v[i]; }
    T operator[](int i) const { return v[i]; }
};
#define VARFOCUS_LANEWISE(op)                                                          \
    template <class T>                                                                 \
    VARFOCUS_INLINE LanesOf<T> operator op(const LanesOf<T>& a, const LanesOf<T>& b) { \
        LanesOf<T> c;                                                                  \
        for (int i = 0; i < LANES; ++i) c.v[i] = T(a.v[i] op b.v[i]);                  \
        return c;                                                                      \
    }                                                                                  \
    template <class T>                                                                 \
    VARFOCUS_INLINE LanesOf<T> operator op(const LanesOf<T>& a, T b) {                 \
        LanesOf<T> c;                                                                  \
        for (int i = 0; i < LANES; ++i) c.v[i] = T(a.v[i] op b);                       \
        return c;                                                                      \
    }
VARFOCUS_LANEWISE(+)
VARFOCUS_LANEWISE(-)
VARFOCUS_LANEWISE(*)
VARFOCUS_LANEWISE(/)
#undef VARFOCUS_LANEWISE
VARFOCUS_INLINE LanesOf<std::int32_t> operator>>(const LanesOf<std::int32_t>& a, int bits) {
    LanesOf<std::int32_t> c;
    for (int i = 0; i < LANES; ++i) c.v[i] = a.v[i] >> bits;
    return c;
}
VARFOCUS_INLINE LanesOf<std::int32_t> operator<<(const LanesOf<std::int32_t>& a, int bits) {
    LanesOf<std::int32_t> c;
    for (int i = 0; i < LANES; ++i) c.v[i] = std::int32_t(std::uint32_t(a.v[i]) << bits);
    return c;
}
using Lanes = LanesOf<float>;
using IntLanes = LanesOf<std::int32_t>;

VARFOCUS_INLINE void fill(Lanes& a, float value) {
    for (int i = 0; i < LANES; ++i) a.v[i] = value;
}
VARFOCUS_INLINE void keep_smaller(Lanes& a, const Lanes& b) {
    for (int i = 0; i < LANES; ++i) a.v[i] = smaller(a.v[i], b.v[i]);
}
VARFOCUS_INLINE void keep_larger(Lanes& a, const Lanes& b) {
    for (int i = 0; i < LANES; ++i) a.v[i] = larger(a.v[i], b.v[i]);
}
VARFOCUS_INLINE void take_larger(Lanes& a, IntLanes& where, const Lanes& b, std::int32_t number) {
    for (int i = 0; i < LANES; ++i) {
        where.v[i] = b.v[i] > a.v[i] ? number : where.v[i];
        a.v[i] = larger(a.v[i], b.v[i]);
    }
}
VARFOCUS_INLINE void left_of(const Lanes& before, const Lanes& here, Lanes& out) {
    out.v[0] = before.v[LANES - 1];
    for (int i = 1; i < LANES; ++i) out.v[i] = here.v[i - 1];
}
VARFOCUS_INLINE void right_of(const Lanes& here, const Lanes& after, Lanes& out) {
    for (int i = 1; i < LANES; ++i) out.v[i - 1] = here.v[i];
    out.v[LANES - 1] = after.v[0];
}
VARFOCUS_INLINE void bits_of(const Lanes& a, IntLanes& bits) { memcpy(&bits, &a, sizeof a); }
VARFOCUS_INLINE void from_bits(const IntLanes& bits, Lanes& a) { memcpy(&a, &bits, sizeof a); }
VARFOCUS_INLINE void to_float(const IntLanes& whole, Lanes& a) {
    for (int i = 0; i < LANES; ++i) a.v[i] = float(whole.v[i]);
}

#endif

VARFOCUS_INLINE void load(const float* from, Lanes& a) { memcpy(&a, from, sizeof a); }
VARFOCUS_INLINE void store(const Lanes& a, float* to) { memcpy(to, &a, sizeof a); }

// Asks memory for some floats that will be needed soon. Sweeps that go backwards through memory
// confuse the processor's own foresight.
VARFOCUS_INLINE void prefetch(const float* from, int count) {
#if defined(__GNUC__)
    constexpr int LINE = 16;  // floats of a cache line
    for (int i = 0; i < count; i += LINE) __builtin_prefetch(from + i);
#else
    (void)from, (void)count;
#endif
}

VARFOCUS_INLINE float lowest_lane(const Lanes& a) {
    float lane[LANES];
    store(a, lane);
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) lane[i] = smaller(lane[i], lane[i + half]);
    }
    return lane[0];
}

// Natural logarithm of positive normal numbers, to 2e-7 of its value or 3e-8, whichever is more.
//
// x = 2^k m with √½ ≤ m < √2, log m = 2 artanh s, s = (m − 1)/(m + 1): four terms of the series.
VARFOCUS_INLINE void log_of(const Lanes& x, Lanes& out) {
    constexpr std::int32_t ROOT_HALF = 0x3f3504f3;
    IntLanes bits;
    bits_of(x, bits);
    const IntLanes exponent = (bits - ROOT_HALF) >> 23;
    const IntLanes mantissa = bits - (exponent << 23);
    Lanes m, k;
    from_bits(mantissa, m);
    to_float(exponent, k);
    const Lanes s = (m - 1.0f) / (m + 1.0f), q = s * s;
    const Lanes series = ((q * (2.0f / 7.0f) + 0.4f) * q + (2.0f / 3.0f)) * q + 2.0f;
    out = k * 0.693147181f + series * s;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
