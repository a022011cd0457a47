// Values and derivatives of the contrast curves of one row of pixels, by Clenshaw's recurrence.
//
// c(s) = Σ a_m T_m(s) on s = x / 10, c′(s) = Σ m a_m U_{m−1}(s); the derivative of the recurrence,
// halved throughout, gives c″. Only a is stored: differentiated coefficients would cost 64 more bytes
// per pixel.
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

// The common degrees are unrolled into registers, and Degree<0> stands for any other, …
template <int DEGREE>
struct Degree {
    static constexpr int value = DEGREE;
};
template <class F>
VARFOCUS_INLINE void with_degree(int degree, const F& f) {
    switch (degree) {
        case 2: return f(Degree<2>());
        case 3: return f(Degree<3>());
        case 4: return f(Degree<4>());
        case 5: return f(Degree<5>());
        case 6: return f(Degree<6>());
        case 7: return f(Degree<7>());
        case 8: return f(Degree<8>());
        default: return f(Degree<0>());
    }
}

// c′(x) of one pixel, whose first coefficient `a` points to.
template <int DEGREE>
VARFOCUS_INLINE float slope_at(const float* a, std::ptrdiff_t plane, float x) {
    const float two_s = x * (2.0f / X_MAX);
    float u = 0, u_later = 0;
#pragma GCC unroll 16
    for (int m = DEGREE; m >= 1; --m) {
        const float u_new = two_s * u + (float(m) * a[m * plane] - u_later);
        u_later = u, u = u_new;
    }
    return u * (1.0f / X_MAX);
}

// c(x) and c′(x) of one pixel.
template <int DEGREE>
VARFOCUS_INLINE void value_at(const float* a, std::ptrdiff_t plane, float x, float& value,
                              float& first) {
    const float two_s = x * (2.0f / X_MAX);
    float t = 0, t_later = 0, u = 0, u_later = 0;
#pragma GCC unroll 16
    for (int m = DEGREE; m >= 1; --m) {
        const float a_m = a[m * plane];
        const float t_new = two_s * t + (a_m - t_later);
        const float u_new = two_s * u + (float(m) * a_m - u_later);
        t_later = t, t = t_new, u_later = u, u = u_new;
    }
    value = 0.5f * two_s * t + (a[0] - t_later);
    first = u * (1.0f / X_MAX);
}

// … which runs in strips that stay in the innermost cache.
VARFOCUS_INLINE void slopes_of_any_degree(const CurveRow& row, const float* d, float* first,
                                          float* second) {
    for (int begin = 0; begin < row.width; begin += STRIP) {
        const int count = smaller(STRIP, row.width - begin);
        float u[STRIP] = {}, u_later[STRIP] = {}, v[STRIP] = {}, v_later[STRIP] = {};
        for (int m = row.degree; m >= 1; --m) {
            const float* VARFOCUS_RESTRICT a = row.a + m * row.plane + begin;
            for (int i = 0; i < count; ++i) {
                const float two_s = d[begin + i] * (2.0f / X_MAX);
                const float v_new = two_s * v[i] + (u[i] - v_later[i]);
                const float u_new = two_s * u[i] + (float(m) * a[i] - u_later[i]);
                v_later[i] = v[i], v[i] = v_new, u_later[i] = u[i], u[i] = u_new;
            }
        }
        for (int i = 0; i < count; ++i) {
            first[begin + i] = u[i] * (1.0f / X_MAX);
            second[begin + i] = v[i] * (2.0f / (X_MAX * X_MAX));
        }
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

// c(x) and c′(x) of a row of any degree.
VARFOCUS_INLINE void values_and_slopes(const CurveRow& row, const float* VARFOCUS_RESTRICT d,
                                       float* VARFOCUS_RESTRICT value,
                                       float* VARFOCUS_RESTRICT first) {
    with_degree(row.degree, [&](auto degree) {
        constexpr int DEGREE = decltype(degree)::value;
        if constexpr (DEGREE == 0) {
            values_of_any_degree(row, d, value, first);
        } else {
            const float* VARFOCUS_RESTRICT a = row.a;
            VARFOCUS_INDEPENDENT
            for (int x = 0; x < row.width; ++x) {
                value_at<DEGREE>(a + x, row.plane, d[x], value[x], first[x]);
            }
        }
    });
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
