// (I + λKᵀK) u = r: cosine transforms of the rows, a tridiagonal system down every column, and back.
//
// Rows are transformed side by side, a lane each, and in pairs: the even ones are the real part of a
// complex transform, the odd ones its imaginary part. Which two rows make a pair does not depend on
// the number of lanes, nor do the numbers that a lane sees, so that every width gives the same bits.
//
// The cosine transform of x_0 … x_{N−1} is that of Fourier of v = x_0, x_2, x_4, … x_5, x_3, x_1:
// X_k = s_k Re(e^{−iπk/2N} V_k). Fourier's goes through the factors of N (Stockham's order, which
// needs no bit reversal), the inverse is the same with real and imaginary part exchanged.

#include "blocks.hpp"
#include "lanes.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

// Rows that are transformed at once; a number of each lies next to one another in an element.
constexpr int ROWS = 2 * LANES;

struct Complex {
    Lanes re, im;
};
VARFOCUS_INLINE void fetch(const float* element, Complex& z) {
    load(element, z.re), load(element + LANES, z.im);
}
VARFOCUS_INLINE void put(const Complex& z, float* element) {
    store(z.re, element), store(z.im, element + LANES);
}
VARFOCUS_INLINE Complex operator+(const Complex& a, const Complex& b) {
    return {a.re + b.re, a.im + b.im};
}
VARFOCUS_INLINE Complex operator-(const Complex& a, const Complex& b) {
    return {a.re - b.re, a.im - b.im};
}
VARFOCUS_INLINE Complex operator*(const Complex& a, float factor) {
    return {a.re * factor, a.im * factor};
}
// a − ib
VARFOCUS_INLINE Complex minus_i(const Complex& a, const Complex& b) {
    return {a.re + b.im, a.im - b.re};
}
// a + ib
VARFOCUS_INLINE Complex plus_i(const Complex& a, const Complex& b) {
    return {a.re - b.im, a.im + b.re};
}
// a e^{−it}, given cos t and sin t.
VARFOCUS_INLINE Complex turned(const Complex& a, float cosine, float sine) {
    return {a.re * cosine + a.im * sine, a.im * cosine - a.re * sine};
}

// Fourier transforms of 2, 3, 4 and 5 numbers, and of any odd number of them.
template <int RADIX>
struct Butterfly;
template <>
struct Butterfly<2> {
    VARFOCUS_INLINE static void apply(Complex* z, const CosineTables&) {
        const Complex a = z[0], b = z[1];
        z[0] = a + b, z[1] = a - b;
    }
};
template <>
struct Butterfly<3> {
    VARFOCUS_INLINE static void apply(Complex* z, const CosineTables&) {
        const Complex sum = z[1] + z[2], off = (z[1] - z[2]) * 0.866025404f;
        const Complex rest = z[0] - sum * 0.5f;
        z[0] = z[0] + sum, z[1] = minus_i(rest, off), z[2] = plus_i(rest, off);
    }
};
template <>
struct Butterfly<4> {
    VARFOCUS_INLINE static void apply(Complex* z, const CosineTables&) {
        const Complex even = z[0] + z[2], odd = z[1] + z[3];
        const Complex even_off = z[0] - z[2], odd_off = z[1] - z[3];
        z[0] = even + odd, z[2] = even - odd;
        z[1] = minus_i(even_off, odd_off), z[3] = plus_i(even_off, odd_off);
    }
};
template <>
struct Butterfly<5> {
    VARFOCUS_INLINE static void apply(Complex* z, const CosineTables&) {
        constexpr float C1 = 0.309016994f, C2 = -0.809016994f, S1 = 0.951056516f, S2 = 0.587785252f;
        const Complex a = z[1] + z[4], b = z[2] + z[3], c = z[1] - z[4], d = z[2] - z[3];
        const Complex near = z[0] + (a * C1 + b * C2), far = z[0] + (a * C2 + b * C1);
        const Complex near_off = c * S1 + d * S2, far_off = c * S2 - d * S1;
        z[0] = z[0] + (a + b);
        z[1] = minus_i(near, near_off), z[4] = plus_i(near, near_off);
        z[2] = minus_i(far, far_off), z[3] = plus_i(far, far_off);
    }
};
template <int RADIX>
struct Butterfly {
    VARFOCUS_INLINE static void apply(Complex* z, const CosineTables& tables) {
        constexpr int HALF = RADIX / 2;
        const int apart = tables.length / RADIX;
        Complex sum[HALF + 1], off[HALF + 1], total = z[0];
#pragma GCC unroll 16
        for (int i = 1; i <= HALF; ++i) {
            sum[i] = z[i] + z[RADIX - i], off[i] = z[i] - z[RADIX - i];
            total = total + sum[i];
        }
#pragma GCC unroll 16
        for (int q = 1; q <= HALF; ++q) {
            Complex even = z[0], odd = off[1] * tables.sine[q * apart];
#pragma GCC unroll 16
            for (int i = 1; i <= HALF; ++i) {
                even = even + sum[i] * tables.cosine[(i * q % RADIX) * apart];
                if (i > 1) odd = odd + off[i] * tables.sine[(i * q % RADIX) * apart];
            }
            // z[0] is needed until the last q; the others are in `sum` and `off`.
            z[q] = minus_i(even, odd), z[RADIX - q] = plus_i(even, odd);
        }
        z[0] = total;
    }
};

// One factor of the length: transforms of RADIX · m numbers, `apart` of them side by side, become
// RADIX times as many of m. Loops over the radix are unrolled: only then it stays in registers.
template <int RADIX, bool TURNED>
VARFOCUS_INLINE void transforms_of(const float* from, float* to, int m, int apart, int j,
                                   const CosineTables& tables) {
    const std::ptrdiff_t step = std::ptrdiff_t(apart) * ROWS, wide = m * step;
    float cosine[RADIX], sine[RADIX];
#pragma GCC unroll 16
    for (int q = 1; q < RADIX; ++q) {
        cosine[q] = tables.cosine[j * q * apart], sine[q] = tables.sine[j * q * apart];
    }
    from += j * step, to += RADIX * j * step;
    for (const float* const end = from + step; from < end; from += ROWS, to += ROWS) {
        Complex z[RADIX];
#pragma GCC unroll 16
        for (int i = 0; i < RADIX; ++i) fetch(from + i * wide, z[i]);
        Butterfly<RADIX>::apply(z, tables);
        put(z[0], to);
#pragma GCC unroll 16
        for (int q = 1; q < RADIX; ++q) {
            put(TURNED ? turned(z[q], cosine[q], sine[q]) : z[q], to + q * step);
        }
    }
}

template <int RADIX>
void stage(const float* from, float* to, int m, int apart, const CosineTables& tables) {
    transforms_of<RADIX, false>(from, to, m, apart, 0, tables);
    for (int j = 1; j < m; ++j) transforms_of<RADIX, true>(from, to, m, apart, j, tables);
}

// Returns which of the two buffers holds the result.
float* fourier(float* one, float* other, const CosineTables& tables) {
    int left = tables.length, apart = 1;
    const auto by = [&](int radix, void (*how)(const float*, float*, int, int,
                                               const CosineTables&)) {
        while (left % radix == 0) {
            left /= radix;
            how(one, other, left, apart, tables);
            apart *= radix;
            float* written = other;
            other = one, one = written;
        }
    };
    by(4, stage<4>), by(2, stage<2>), by(3, stage<3>), by(5, stage<5>);
    by(7, stage<7>), by(11, stage<11>), by(13, stage<13>);
    return one;
}

// --- rows into elements, and back ----------------------------------------------------------------

// Four rows of four numbers become four columns.
#if defined(__GNUC__)
typedef float Four __attribute__((vector_size(16)));
#if defined(__clang__) || __GNUC__ >= 12
#define VARFOCUS_PICKED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef std::int32_t IntFour __attribute__((vector_size(16)));
#define VARFOCUS_PICKED(a, b, ...) __builtin_shuffle(a, b, IntFour{__VA_ARGS__})
#endif
VARFOCUS_INLINE void turn(const float* const* from, float* const* to) {
    Four r[4];
    for (int i = 0; i < 4; ++i) memcpy(&r[i], from[i], sizeof r[i]);
    const Four a = VARFOCUS_PICKED(r[0], r[1], 0, 4, 1, 5), b = VARFOCUS_PICKED(r[2], r[3], 0, 4, 1, 5);
    const Four c = VARFOCUS_PICKED(r[0], r[1], 2, 6, 3, 7), d = VARFOCUS_PICKED(r[2], r[3], 2, 6, 3, 7);
    r[0] = VARFOCUS_PICKED(a, b, 0, 1, 4, 5), r[1] = VARFOCUS_PICKED(a, b, 2, 3, 6, 7);
    r[2] = VARFOCUS_PICKED(c, d, 0, 1, 4, 5), r[3] = VARFOCUS_PICKED(c, d, 2, 3, 6, 7);
    for (int i = 0; i < 4; ++i) memcpy(to[i], &r[i], sizeof r[i]);
}
#else
VARFOCUS_INLINE void turn(const float* const* from, float* const* to) {
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) to[i][j] = from[j][i];
    }
}
#endif

// Where a number of a row goes before Fourier's transform: even ones first, odd ones from the end.
struct Folded {
    int length;
    VARFOCUS_INLINE int operator()(int x) const { return x % 2 ? length - 1 - x / 2 : x / 2; }
};
struct InOrder {
    VARFOCUS_INLINE int operator()(int x) const { return x; }
};

// Rows of an image as lanes: row 2j is lane j of one half of an element, row 2j + 1 of the other.
template <class Place>
void gather(const float* image, int rows, int width, const float* nothing, const Place& place,
            float* elements) {
    for (int lane = 0; lane < ROWS; lane += 4) {
        const float* row[4];
        for (int i = 0; i < 4; ++i) {
            const int y = 2 * ((lane + i) % LANES) + (lane >= LANES);
            row[i] = y < rows ? image + std::ptrdiff_t(y) * width : nothing;
        }
        int x = 0;
        for (; x + 4 <= width; x += 4) {
            const float* from[4] = {row[0] + x, row[1] + x, row[2] + x, row[3] + x};
            float* to[4];
            for (int i = 0; i < 4; ++i) to[i] = elements + std::ptrdiff_t(place(x + i)) * ROWS + lane;
            turn(from, to);
        }
        for (; x < width; ++x) {
            float* to = elements + std::ptrdiff_t(place(x)) * ROWS + lane;
            for (int i = 0; i < 4; ++i) to[i] = row[i][x];
        }
    }
}

// The way back; `swapped` if the halves of the elements are exchanged.
template <class Place>
void scatter(const float* elements, int rows, int width, bool swapped, const Place& place,
             float* nowhere, float* image) {
    for (int lane = 0; lane < ROWS; lane += 4) {
        float* row[4];
        for (int i = 0; i < 4; ++i) {
            const int y = 2 * ((lane + i) % LANES) + ((lane >= LANES) != swapped);
            row[i] = y < rows ? image + std::ptrdiff_t(y) * width : nowhere;
        }
        int x = 0;
        for (; x + 4 <= width; x += 4) {
            const float* from[4];
            for (int i = 0; i < 4; ++i) {
                from[i] = elements + std::ptrdiff_t(place(x + i)) * ROWS + lane;
            }
            float* const to[4] = {row[0] + x, row[1] + x, row[2] + x, row[3] + x};
            turn(from, to);
        }
        for (; x < width; ++x) {
            const float* from = elements + std::ptrdiff_t(place(x)) * ROWS + lane;
            for (int i = 0; i < 4; ++i) row[i][x] = from[i];
        }
    }
}

// --- between Fourier's transform and the cosines --------------------------------------------------

// With Z_k = A_k + iB_k, A and B the transforms of two rows of real numbers, 2A_k = Z_k + Z*_{N−k};
// s (c Re A + s′ Im A) and s (s′ Re A − c Im A) are the numbers k and N − k of the first row.
void to_cosines(const float* from, float* to, const CosineTables& tables) {
    const int n = tables.length;
    Complex z, other;
    fetch(from, z);
    put(z * tables.constant, to);
    for (int k = 1; k <= n - k; ++k) {
        const float c = 0.5f * tables.half_cosine[k], s = 0.5f * tables.half_sine[k];
        fetch(from + std::ptrdiff_t(k) * ROWS, z);
        fetch(from + std::ptrdiff_t(n - k) * ROWS, other);
        const Complex sum = z + other, off = z - other;  // of the first row: sum.re, off.im
        const Complex here{sum.re * c + off.im * s, sum.im * c - off.re * s};
        const Complex there{sum.re * s - off.im * c, sum.im * s + off.re * c};
        put(here, to + std::ptrdiff_t(k) * ROWS);
        put(there, to + std::ptrdiff_t(n - k) * ROWS);
    }
}

// The way back, with real and imaginary part exchanged.
void from_cosines(const float* from, float* to, const CosineTables& tables) {
    const int n = tables.length;
    Complex here, there;
    fetch(from, here);
    const Complex first = here * tables.constant;
    put(Complex{first.im, first.re}, to);
    for (int k = 1; k <= n - k; ++k) {
        const float c = 0.5f * tables.half_cosine[k], s = 0.5f * tables.half_sine[k];
        fetch(from + std::ptrdiff_t(k) * ROWS, here);
        fetch(from + std::ptrdiff_t(n - k) * ROWS, there);
        const Complex sum = here * c + there * s, off = here * s - there * c;
        // Z_k = A + iB, Z_{N−k} = A* + iB*, A = (sum.re, off.re), B = (sum.im, off.im)
        put(Complex{off.re + sum.im, sum.re - off.im}, to + std::ptrdiff_t(k) * ROWS);
        put(Complex{sum.im - off.re, sum.re + off.im}, to + std::ptrdiff_t(n - k) * ROWS);
    }
}

struct Scratch {
    Buffer<float> elements, spare;
    explicit Scratch(int width) : spare(std::size_t(width)) {
        elements.resize(2 * std::size_t(width) * ROWS);
    }
    float* one() { return elements.data(); }
    float* other() { return elements.data() + elements.size() / 2; }
    // A row that does not exist: read as zeros, and written to.
    float* nothing() { return spare.data(); }
};

void transform(const float* image, float* out, int rows, int width, bool inverse,
               const CosineTables& tables, Scratch& scratch) {
    fill_with(scratch.nothing(), width, 0.0f);
    if (inverse) {
        gather(image, rows, width, scratch.nothing(), InOrder(), scratch.one());
        from_cosines(scratch.one(), scratch.other(), tables);
        const float* back = fourier(scratch.other(), scratch.one(), tables);
        scatter(back, rows, width, true, Folded{width}, scratch.nothing(), out);
        return;
    }
    gather(image, rows, width, scratch.nothing(), Folded{width}, scratch.one());
    float* spectrum = fourier(scratch.one(), scratch.other(), tables);
    float* free = spectrum == scratch.one() ? scratch.other() : scratch.one();
    to_cosines(spectrum, free, tables);
    scatter(free, rows, width, false, InOrder(), scratch.nothing(), out);
}

void transform_rows(const float* image, float* out, Size size, bool inverse,
                    const CosineTables& tables, int threads) {
    for_row_blocks(
        size.height, ROWS, threads, [&] { return Scratch(size.width); },
        [&](int, int first, int end, Scratch& scratch) {
            const std::ptrdiff_t at = std::ptrdiff_t(first) * size.width;
            transform(image + at, out + at, end - first, size.width, inverse, tables, scratch);
        });
}

// --- the columns ---------------------------------------------------------------------------------

constexpr int COLUMNS_PER_BLOCK = 64;

// Solves (1 + λe_x + λKᵀK) x = r down `count` neighbouring columns, in place; `q` is scratch.
//
// Elimination for the tridiagonal KᵀK, written so that only positive numbers are added: with
// q_i = 1 + λe_x + λ s_{i−1}, s_i = q_i / (q_i + λ), the factor λ / (q_i + λ) = 1 − s_i is never
// rounded by itself. At large λ it is so close to 1 that its rounding would move the mean of x.
void solve_block(float* spectrum, const float* VARFOCUS_RESTRICT e_x, Size size, float lam,
                 int count, float* q) {
    const int last = size.height - 1;
    for (int y = 0; y <= last; ++y) {
        float* VARFOCUS_RESTRICT row = spectrum + std::ptrdiff_t(y) * size.width;
        float* VARFOCUS_RESTRICT q_here = q + std::ptrdiff_t(y) * COLUMNS_PER_BLOCK;
        if (y == 0) {
            for (int x = 0; x < count; ++x) q_here[x] = 1.0f + lam * e_x[x];
            continue;
        }
        const float* above = row - size.width;
        const float* q_above = q_here - COLUMNS_PER_BLOCK;
        VARFOCUS_INDEPENDENT
        for (int x = 0; x < count; ++x) {
            const float s = q_above[x] / (q_above[x] + lam);
            q_here[x] = 1.0f + lam * e_x[x] + lam * s;
            row[x] += above[x] - s * above[x];
        }
    }
    for (int y = last; y >= 0; --y) {
        float* row = spectrum + std::ptrdiff_t(y) * size.width;
        const float* VARFOCUS_RESTRICT q_here = q + std::ptrdiff_t(y) * COLUMNS_PER_BLOCK;
        if (y == last) {
            for (int x = 0; x < count; ++x) row[x] /= q_here[x];
            continue;
        }
        const float* below = row + size.width;
        VARFOCUS_INDEPENDENT
        for (int x = 0; x < count; ++x) {
            const float share = 1.0f / (q_here[x] + lam);
            row[x] = row[x] * share + (below[x] - q_here[x] * share * below[x]);
        }
    }
}

void solve_columns(float* spectrum, const float* e_x, Size size, float lam, int threads) {
    const auto room = [&] {
        Buffer<float> q;
        q.resize(std::size_t(size.height) * COLUMNS_PER_BLOCK);
        return q;
    };
    for_row_blocks(size.width, COLUMNS_PER_BLOCK, threads, room,
                   [&](int, int first, int end, Buffer<float>& q) {
                       solve_block(spectrum + first, e_x + first, size, lam, end - first, q.data());
                   });
}

void screened_poisson(const float* r, float* u, Size size, const CosineTables& tables,
                      const float* e_x, float lam, int threads) {
    transform_rows(r, u, size, false, tables, threads);
    solve_columns(u, e_x, size, lam, threads);
    transform_rows(u, u, size, true, tables, threads);
}

}  // namespace

void enter_cosine(Kernels& table) {
    table.solve_columns = solve_columns;
    table.screened_poisson = screened_poisson;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
