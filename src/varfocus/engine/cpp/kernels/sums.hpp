// Sums over a row in a fixed order that SIMD can follow.
#pragma once

#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {

// Sixteen interleaved sums in double precision, added up at the end: the same result on every
// machine with the same instruction set, whatever the number of threads.
VARFOCUS_INLINE double row_sum(const float* values, int width) {
    constexpr int LANES = 16;
    double lane[LANES] = {};
    int x = 0;
    for (; x + LANES <= width; x += LANES) {
        for (int l = 0; l < LANES; ++l) lane[l] += double(values[x + l]);
    }
    double sum = 0.0;
    for (int l = 0; l < LANES; ++l) sum += lane[l];
    for (; x < width; ++x) sum += double(values[x]);
    return sum;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
