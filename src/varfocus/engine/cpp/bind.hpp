// What all bindings share: the types of arrays that cross the border, and the checks made there.
//
// nanobind itself refuses arrays of another dtype, rank or memory order (TypeError). Sizes and
// numbers are checked here, once; a refusal reads "received …; expected …", which Python turns into
// varfocus.errors.ParameterError (varfocus.engine.extension). The GIL is released afterwards.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>

#include "kernels.hpp"

namespace varfocus {
namespace bind {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Image = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Planes = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Volumes = nb::ndarray<T, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
template <class T>
using Strided = nb::ndarray<const T, nb::ndim<3>, nb::device::cpu>;

// Keeps width · stride and similar products well inside an int.
constexpr std::size_t LONGEST_SIDE = 1 << 24;
constexpr int HIGHEST_DEGREE = 1000;
constexpr int MOST_ITERATIONS = 1 << 24;

// noconvert: a silent copy of an output array would lose the result.
inline auto array(const char* name) { return nb::arg(name).noconvert(); }

[[noreturn]] inline void refuse(const std::string& received, const std::string& expected) {
    throw nb::value_error(("received " + received + "; expected " + expected).c_str());
}

inline void require(bool ok, const char* received, const char* expected) {
    if (!ok) refuse(received, expected);
}

inline std::string tuple_of(const std::size_t* lengths, std::size_t count) {
    std::string text = "(";
    for (std::size_t i = 0; i < count; ++i) {
        text += (i > 0 ? ", " : "") + std::to_string(lengths[i]);
    }
    return text + (count == 1 ? ",)" : ")");
}

template <class A>
std::string shape_of(const A& values) {
    std::size_t lengths[4] = {};
    for (std::size_t i = 0; i < values.ndim(); ++i) lengths[i] = values.shape(i);
    return tuple_of(lengths, values.ndim());
}

template <class A, class... Lengths>
void require_shape(const char* name, const A& values, Lengths... wanted) {
    const std::size_t lengths[] = {std::size_t(wanted)...};
    for (std::size_t i = 0; i < sizeof...(wanted); ++i) {
        if (values.shape(i) == lengths[i]) continue;
        refuse(std::string(name) + " of shape " + shape_of(values),
               tuple_of(lengths, sizeof...(wanted)));
    }
}

template <class A>
void require_image(const char* name, const A& image, Size size) {
    require_shape(name, image, size.height, size.width);
}

template <class A>
void require_planes(const char* name, const A& planes, int count, Size size) {
    require_shape(name, planes, count, size.height, size.width);
}

inline Size size_of(std::size_t height, std::size_t width) {
    require(height > 0 && width > 0, "an empty image", "at least one pixel");
    if (height > LONGEST_SIDE || width > LONGEST_SIDE) {
        refuse("an image of " + std::to_string(height) + "×" + std::to_string(width) + " pixels",
               "sides of at most " + std::to_string(LONGEST_SIDE));
    }
    return {int(height), int(width)};
}

template <class A>
Size image_size(const A& image) {
    return size_of(image.shape(0), image.shape(1));
}

// A size in `name`, of which there must be from `least` to `most`.
inline int checked_count(const char* name, std::size_t count, std::size_t least, std::size_t most) {
    if (count < least || count > most) {
        refuse(std::to_string(count) + " " + name,
               std::to_string(least) + " to " + std::to_string(most));
    }
    return int(count);
}

inline int checked_degree(std::size_t coefficients) {
    return checked_count("coefficients of a curve", coefficients, 1, HIGHEST_DEGREE + 1) - 1;
}

inline void require_number(const char* name, double value, bool ok, const char* expected) {
    if (std::isfinite(value) && ok) return;
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    refuse(std::string(name) + " = " + text, expected);
}
inline void require_positive(const char* name, double value) {
    require_number(name, value, value > 0.0, "a positive number");
}
inline void require_not_negative(const char* name, double value) {
    require_number(name, value, value >= 0.0, "a number of at least 0");
}
inline void require_finite(const char* name, double value) {
    require_number(name, value, true, "a finite number");
}

inline void require_within(const char* name, int value, int least, int most) {
    if (value >= least && value <= most) return;
    refuse(std::string(name) + " = " + std::to_string(value),
           "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}
inline int checked_threads(int threads) {
    require_within("threads", threads, 1, MOST_THREADS);
    return threads;
}
inline void require_iterations(int iterations) {
    require_within("iterations", iterations, 0, MOST_ITERATIONS - 1);
}

inline void require_window(int window) {
    if (window >= 1 && window % 2 == 1 && window <= WIDEST_WINDOW) return;
    refuse("a window of " + std::to_string(window) + " pixels",
           "an odd side of at most " + std::to_string(WIDEST_WINDOW));
}

// Labels of a volume whose last axis is padded.
inline void require_labels(int labels, std::size_t stride, int least) {
    constexpr std::size_t unit = LABEL_PADDING;
    if (labels >= least && labels <= MOST_LABELS && std::size_t(labels) <= stride &&
        stride % unit == 0 && stride < std::size_t(labels) + unit) {
        return;
    }
    refuse(std::to_string(labels) + " labels in a volume of " + std::to_string(stride),
           "at least " + std::to_string(least) + ", padded to a multiple of " +
               std::to_string(unit));
}

template <class Pixel>
FrameView<Pixel> frame_view(const Strided<Pixel>& frame) {
    const Size size = image_size(frame);
    const int channels = checked_count("channels", frame.shape(2), 1, 3);
    require(frame.stride(2) == 1 || channels == 1, "channels apart from each other",
            "channels next to each other");
    require(frame.stride(1) >= channels && frame.stride(1) <= 4,
            "pixels of a row apart from each other",
            "1 to 4 numbers per pixel, pixels of a row next to each other");
    return {frame.data(), size, channels, frame.stride(0), frame.stride(1)};
}

// What exists once per type of pixel, of the table in use.
template <class Pixel>
const PixelKernels<Pixel>& kernels_of();
template <>
inline const PixelKernels<std::uint8_t>& kernels_of() {
    return kernels().of_8;
}
template <>
inline const PixelKernels<std::uint16_t>& kernels_of() {
    return kernels().of_16;
}
template <>
inline const PixelKernels<float>& kernels_of() {
    return kernels().of_float;
}

// One per file bind_*.cpp.
void define_instruction_sets(nb::module_& m);
void define_front(nb::module_& m);
void define_solvers(nb::module_& m);
void define_search(nb::module_& m);
void define_fusion(nb::module_& m);
void define_align(nb::module_& m);
void define_edges(nb::module_& m);
void define_explain(nb::module_& m);

}  // namespace bind
}  // namespace varfocus
