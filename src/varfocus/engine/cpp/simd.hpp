// How kernels tell the compiler what it needs to know to make SIMD of a loop.
#pragma once

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
