// How kernels ask for wide instructions without asking for a particular machine.
//
// A function marked VARFOCUS_SIMD is compiled once per instruction set and chosen at load time.
// Everything it calls in its inner loop must be VARFOCUS_INLINE, or it would be called in its
// baseline version.
#pragma once

#if defined(VARFOCUS_CLONES)
#define VARFOCUS_SIMD \
    __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define VARFOCUS_SIMD
#endif

#if defined(_MSC_VER)
#define VARFOCUS_INLINE __forceinline
#define VARFOCUS_RESTRICT __restrict
#define VARFOCUS_INDEPENDENT __pragma(loop(ivdep))
#else
#define VARFOCUS_INLINE inline __attribute__((always_inline))
#define VARFOCUS_RESTRICT __restrict__
#if defined(__clang__)
#define VARFOCUS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define VARFOCUS_INDEPENDENT _Pragma("GCC ivdep")
#endif
#endif

namespace varfocus {

// Whether a function marked VARFOCUS_SIMD has 32 registers of 16 floats to work with.
inline bool has_many_registers() {
#if defined(VARFOCUS_CLONES)
    return __builtin_cpu_supports("avx512f") != 0;
#else
    return false;
#endif
}

// Written as comparisons, these are one instruction each; std::min on floats is not.
VARFOCUS_INLINE float smaller(float a, float b) { return a < b ? a : b; }
VARFOCUS_INLINE float larger(float a, float b) { return a > b ? a : b; }

}  // namespace varfocus
