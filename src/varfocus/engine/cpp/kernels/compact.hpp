// Contrast in 16 bits: no sign, 6 bits of exponent, 10 of mantissa.
//
// 2^−40 to 2^24 with a relative error of at most 2^−11; what is smaller counts as none. The focus
// volume is the largest thing the robust method holds, and noise is a hundred times that error.
#pragma once

#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {

constexpr std::int32_t COMPACT_HIGHEST = COMPACT_LOWEST + (0xffff << 13);

VARFOCUS_INLINE std::uint16_t to_compact(float value) {
    std::int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = bits > COMPACT_LOWEST ? bits : COMPACT_LOWEST;
    bits = bits < COMPACT_HIGHEST ? bits : COMPACT_HIGHEST;
    return std::uint16_t((bits - COMPACT_LOWEST + 0xfff) >> 13);
}

VARFOCUS_INLINE float from_compact(std::uint16_t compact) {
    const std::int32_t shifted = (std::int32_t(compact) << 13) + COMPACT_LOWEST;
    const std::int32_t bits = compact == 0 ? 0 : shifted;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
