// Values and derivatives of the contrast curves of one row of pixels, by Clenshaw's recurrence.
//
// c(s) = Σ a_m T_m(s) on s = x / 10, c′(s) = Σ m a_m U_{m−1}(s); the derivative of the recurrence
// gives c″. Only a is stored: differentiated coefficients would cost 64 more bytes per pixel.
#pragma once

#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {

constexpr float X_MAX = 10.0f;

// Pixels per strip where the degree is not known to the compiler.
constexpr int STRIP = 64;

struct CurveRow {
    const float* a;        // coefficient 0 of the row's first pixel
    std::ptrdiff_t plane;  // distance to the next coefficient
    int degree, width;
};

// c′(x) and c″(x). The common degrees are unrolled into registers …
template <int DEGREE>
VARFOCUS_INLINE void slopes_of_degree(const CurveRow& row, const float* VARFOCUS_RESTRICT d,
                                      float* VARFOCUS_RESTRICT first,
                                      float* VARFOCUS_RESTRICT second) {
    const float* VARFOCUS_RESTRICT a = row.a;
    VARFOCUS_INDEPENDENT
    for (int x = 0; x < row.width; ++x) {
        const float two_s = d[x] * (2.0f / X_MAX);
        float u = 0, u_later = 0, v = 0, v_later = 0;
#pragma GCC unroll 16
        for (int m = DEGREE; m >= 1; --m) {
            const float v_new = two_s * v + (2.0f * u - v_later);
            const float u_new = two_s * u + (float(m) * a[m * row.plane + x] - u_later);
            v_later = v, v = v_new, u_later = u, u = u_new;
        }
        first[x] = u * (1.0f / X_MAX);
        second[x] = v * (1.0f / (X_MAX * X_MAX));
    }
}

// … and any other runs in strips that stay in the innermost cache.
VARFOCUS_INLINE void slopes_of_any_degree(const CurveRow& row, const float* d, float* first,
                                          float* second) {
    for (int begin = 0; begin < row.width; begin += STRIP) {
        const int count = smaller(STRIP, row.width - begin);
        float u[STRIP] = {}, u_later[STRIP] = {}, v[STRIP] = {}, v_later[STRIP] = {};
        for (int m = row.degree; m >= 1; --m) {
            const float* VARFOCUS_RESTRICT a = row.a + m * row.plane + begin;
            for (int i = 0; i < count; ++i) {
                const float two_s = d[begin + i] * (2.0f / X_MAX);
                const float v_new = two_s * v[i] + (2.0f * u[i] - v_later[i]);
                const float u_new = two_s * u[i] + (float(m) * a[i] - u_later[i]);
                v_later[i] = v[i], v[i] = v_new, u_later[i] = u[i], u[i] = u_new;
            }
        }
        for (int i = 0; i < count; ++i) {
            first[begin + i] = u[i] * (1.0f / X_MAX);
            second[begin + i] = v[i] * (1.0f / (X_MAX * X_MAX));
        }
    }
}

VARFOCUS_INLINE void slopes(const CurveRow& row, const float* d, float* first, float* second) {
    switch (row.degree) {
        case 2: return slopes_of_degree<2>(row, d, first, second);
        case 3: return slopes_of_degree<3>(row, d, first, second);
        case 4: return slopes_of_degree<4>(row, d, first, second);
        case 5: return slopes_of_degree<5>(row, d, first, second);
        case 6: return slopes_of_degree<6>(row, d, first, second);
        case 7: return slopes_of_degree<7>(row, d, first, second);
        case 8: return slopes_of_degree<8>(row, d, first, second);
        default: return slopes_of_any_degree(row, d, first, second);
    }
}

// c(x) and c′(x), in the same two ways.
template <int DEGREE>
VARFOCUS_INLINE void values_of_degree(const CurveRow& row, const float* VARFOCUS_RESTRICT d,
                                      float* VARFOCUS_RESTRICT value,
                                      float* VARFOCUS_RESTRICT first) {
    const float* VARFOCUS_RESTRICT a = row.a;
    VARFOCUS_INDEPENDENT
    for (int x = 0; x < row.width; ++x) {
        const float two_s = d[x] * (2.0f / X_MAX);
        float t = 0, t_later = 0, u = 0, u_later = 0;
#pragma GCC unroll 16
        for (int m = DEGREE; m >= 1; --m) {
            const float a_m = a[m * row.plane + x];
            const float t_new = two_s * t + (a_m - t_later);
            const float u_new = two_s * u + (float(m) * a_m - u_later);
            t_later = t, t = t_new, u_later = u, u = u_new;
        }
        value[x] = 0.5f * two_s * t + (a[x] - t_later);
        first[x] = u * (1.0f / X_MAX);
    }
}

VARFOCUS_INLINE void values_of_any_degree(const CurveRow& row, const float* d, float* value,
                                          float* first) {
    for (int begin = 0; begin < row.width; begin += STRIP) {
        const int count = smaller(STRIP, row.width - begin);
        float t[STRIP] = {}, t_later[STRIP] = {}, u[STRIP] = {}, u_later[STRIP] = {};
        for (int m = row.degree; m >= 1; --m) {
            const float* VARFOCUS_RESTRICT a = row.a + m * row.plane + begin;
            for (int i = 0; i < count; ++i) {
                const float two_s = d[begin + i] * (2.0f / X_MAX);
                const float t_new = two_s * t[i] + (a[i] - t_later[i]);
                const float u_new = two_s * u[i] + (float(m) * a[i] - u_later[i]);
                t_later[i] = t[i], t[i] = t_new, u_later[i] = u[i], u[i] = u_new;
            }
        }
        for (int i = 0; i < count; ++i) {
            const float s = d[begin + i] * (1.0f / X_MAX);
            value[begin + i] = s * t[i] + (row.a[begin + i] - t_later[i]);
            first[begin + i] = u[i] * (1.0f / X_MAX);
        }
    }
}

VARFOCUS_INLINE void values_and_slopes(const CurveRow& row, const float* d, float* value,
                                       float* first) {
    switch (row.degree) {
        case 2: return values_of_degree<2>(row, d, value, first);
        case 3: return values_of_degree<3>(row, d, value, first);
        case 4: return values_of_degree<4>(row, d, value, first);
        case 5: return values_of_degree<5>(row, d, value, first);
        case 6: return values_of_degree<6>(row, d, value, first);
        case 7: return values_of_degree<7>(row, d, value, first);
        case 8: return values_of_degree<8>(row, d, value, first);
        default: return values_of_any_degree(row, d, value, first);
    }
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
