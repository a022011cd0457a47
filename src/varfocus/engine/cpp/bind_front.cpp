// Frames in: contrast, its curves, its two scales, and means over windows.

#include "bind.hpp"

namespace varfocus {
namespace bind {
namespace {

template <class Pixel>
void contrast(Strided<Pixel> frame, Image<ContrastOf<Pixel>> out, int threads) {
    const FrameView<Pixel> view = frame_view(frame);
    require_image("out", out, view.size);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels_of<Pixel>().contrast(view, out.data(), threads);
}

template <class Pixel>
void accumulate(Planes<const ContrastOf<Pixel>> slots, Image<const float> weights,
                Vector<const float> numbers, float scale, int window, Planes<float> coefficients,
                Image<float> peak, Image<float> best, Image<float> index, int threads) {
    const Size size = image_size(peak);
    const int count = checked_count("contrast images", slots.shape(0), 1, BATCH);
    const int degree = checked_degree(coefficients.shape(0));
    require_planes("slots", slots, count, size);
    require_planes("coefficients", coefficients, degree + 1, size);
    require_image("best", best, size);
    require_image("index", index, size);
    require_shape("weights", weights, degree + 1, count);
    require_shape("numbers", numbers, count);
    require_window(window);
    require_finite("scale", scale);
    threads = checked_threads(threads);
    const Batch<ContrastOf<Pixel>> batch{
        slots.data(), weights.data(), numbers.data(), count, degree, window, scale};
    const Running running{coefficients.data(), peak.data(), best.data(), index.data()};
    nb::gil_scoped_release release;
    kernels_of<Pixel>().accumulate(batch, size, running, threads);
}

Smoothing smoothing(const char* name, const Vector<const float>& weights) {
    return {weights.data(), checked_count(name, weights.shape(0), 1, WIDEST_WINDOW / 2) - 1};
}

template <class Pixel>
void two_scales(Strided<Pixel> frame, float scale, Vector<const float> blur,
                Vector<const float> support, Image<std::uint16_t> fine,
                Image<std::uint16_t> coarse, Image<float> gradient, Image<float> smallest,
                Image<float> largest, int threads) {
    const FrameView<Pixel> view = frame_view(frame);
    require_image("fine", fine, view.size);
    require_image("coarse", coarse, view.size);
    require_image("gradient", gradient, view.size);
    require_image("smallest", smallest, view.size);
    require_image("largest", largest, view.size);
    require_positive("scale", scale);
    const TwoScales how{scale, smoothing("weights of blur", blur),
                        smoothing("weights of support", support)};
    const ScaleOutputs out{fine.data(), coarse.data(), gradient.data(), smallest.data(),
                           largest.data()};
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels_of<Pixel>().two_scales(view, how, out, threads);
}

void box_mean(Image<const float> image, Image<float> out, int window, int threads) {
    const Size size = image_size(image);
    require_image("out", out, size);
    require(image.data() != out.data(), "out = image", "an output apart from the input");
    require_window(window);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().box_mean(image.data(), out.data(), size, window, threads);
}

void halve(Planes<const float> fine, Planes<float> coarse, int threads) {
    const Size size = size_of(fine.shape(1), fine.shape(2));
    const int planes = checked_count("planes", fine.shape(0), 1, LONGEST_SIDE);
    require_planes("coarse", coarse, planes, {(size.height + 1) / 2, (size.width + 1) / 2});
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().halve(fine.data(), coarse.data(), planes, size, threads);
}

template <class Pixel>
void define_for(nb::module_& m) {
    m.def("contrast", &contrast<Pixel>, array("frame"), array("out"), "threads"_a);
    m.def("accumulate", &accumulate<Pixel>, array("slots"), array("weights"), array("numbers"),
          "scale"_a, "window"_a, array("coefficients"), array("peak"), array("best"),
          array("index"), "threads"_a);
    m.def("two_scales", &two_scales<Pixel>, array("frame"), "scale"_a, array("blur"),
          array("support"), array("fine"), array("coarse"), array("gradient"), array("smallest"),
          array("largest"), "threads"_a);
}

}  // namespace

void define_front(nb::module_& m) {
    define_for<std::uint8_t>(m);
    define_for<std::uint16_t>(m);
    define_for<float>(m);
    m.def("box_mean", &box_mean, array("image"), array("out"), "window"_a, "threads"_a);
    m.def("halve", &halve, array("fine"), array("coarse"), "threads"_a);
}

}  // namespace bind
}  // namespace varfocus
