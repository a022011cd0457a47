// The border between Python and the kernels: every size is checked here, then the GIL is released.
//
// nanobind itself refuses arrays of another dtype, rank or memory order (TypeError).

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "kernels.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using varfocus::Size;

template <class T>
using Image = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Planes = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Strided = nb::ndarray<const T, nb::ndim<3>, nb::device::cpu>;

// Keeps width · stride and similar products well inside an int.
constexpr std::size_t LONGEST_SIDE = 1 << 24;
constexpr int WIDEST_WINDOW = 1999;
constexpr int HIGHEST_DEGREE = 1000;
constexpr int MOST_THREADS = 1024;

void require(bool condition, const std::string& message) {
    if (!condition) throw nb::value_error(message.c_str());
}

Size size_of(std::size_t height, std::size_t width) {
    require(height > 0 && width > 0, "received an empty image; expected at least one pixel");
    require(height <= LONGEST_SIDE && width <= LONGEST_SIDE, "received an image too long a side");
    return {int(height), int(width)};
}

template <class A>
Size image_size(const A& image) {
    return size_of(image.shape(0), image.shape(1));
}

template <class A>
void require_image(const char* name, const A& image, Size size) {
    require(int(image.shape(0)) == size.height && int(image.shape(1)) == size.width,
            std::string("received ") + name + " of a shape unlike the other images");
}

template <class A>
void require_planes(const char* name, const A& planes, std::size_t count, Size size) {
    require(planes.shape(0) == count && int(planes.shape(1)) == size.height &&
                int(planes.shape(2)) == size.width,
            std::string("received ") + name + " of a shape unlike the other images");
}

int checked_degree(std::size_t coefficients) {
    require(coefficients >= 1 && coefficients <= HIGHEST_DEGREE + 1,
            "received coefficients of a degree outside 0 to 1000");
    return int(coefficients) - 1;
}

void require_window(int window) {
    require(window >= 1 && window % 2 == 1 && window <= WIDEST_WINDOW,
            "expected an odd window side of at most 1999 pixels");
}

int checked_threads(int threads) {
    require(threads >= 1 && threads <= MOST_THREADS, "expected 1 to 1024 threads");
    return threads;
}

void require_number(const char* name, double value, bool ok) {
    require(std::isfinite(value) && ok, std::string("received ") + name + " out of range");
}

template <class Pixel, class Contrast>
void contrast(Strided<Pixel> frame, Image<Contrast> out, int threads) {
    const Size size = size_of(frame.shape(0), frame.shape(1));
    const std::size_t channels = frame.shape(2);
    require_image("out", out, size);
    require(channels >= 1 && channels <= 3, "expected 1 to 3 channels");
    require(frame.stride(2) == 1 || channels == 1, "expected channels next to each other");
    require(frame.stride(1) >= std::int64_t(channels) && frame.stride(1) <= 4,
            "expected 1 to 4 numbers per pixel, pixels of a row next to each other");
    const varfocus::FrameView<Pixel> view{frame.data(), size, int(channels), frame.stride(0),
                                          frame.stride(1)};
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::contrast(view, out.data(), threads);
}

template <class Contrast>
void accumulate(Planes<const Contrast> slots, Image<const float> weights,
                Vector<const float> numbers, float scale, int window, Planes<float> coefficients,
                Image<float> peak, Image<float> best, Image<float> index, int threads) {
    const Size size = image_size(peak);
    const std::size_t count = slots.shape(0);
    require(count >= 1 && count <= varfocus::BATCH, "expected 1 to 8 contrast images at a time");
    require_planes("slots", slots, count, size);
    const int degree = checked_degree(coefficients.shape(0));
    require_planes("coefficients", coefficients, std::size_t(degree) + 1, size);
    require_image("best", best, size);
    require_image("index", index, size);
    require(weights.shape(0) == std::size_t(degree) + 1 && weights.shape(1) == count,
            "expected weights of shape (degree + 1, contrast images)");
    require(numbers.shape(0) == count, "expected one frame number per contrast image");
    require_window(window);
    require_number("scale", scale, true);
    threads = checked_threads(threads);
    const varfocus::Batch<Contrast> batch{slots.data(), weights.data(), numbers.data(), int(count),
                                          degree,       window,         scale};
    const varfocus::Running running{coefficients.data(), peak.data(), best.data(), index.data()};
    nb::gil_scoped_release release;
    varfocus::accumulate(batch, size, running, threads);
}

void box_mean(Image<const float> image, Image<float> out, int window, int threads) {
    const Size size = image_size(image);
    require_image("out", out, size);
    require(image.data() != out.data(), "expected an output apart from the input");
    require_window(window);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::box_mean(image.data(), out.data(), size, window, threads);
}

void halve(Planes<const float> fine, Planes<float> coarse, int threads) {
    const Size size = size_of(fine.shape(1), fine.shape(2));
    require(fine.shape(0) >= 1 && fine.shape(0) <= LONGEST_SIDE, "expected at least one plane");
    require_planes("coarse", coarse, fine.shape(0),
                   {(size.height + 1) / 2, (size.width + 1) / 2});
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::halve(fine.data(), coarse.data(), int(fine.shape(0)), size, threads);
}

void solve_columns(Image<float> spectrum, Vector<const float> e_x, float lam, int threads) {
    const Size size = image_size(spectrum);
    require(int(e_x.shape(0)) == size.width, "expected one eigenvalue per column");
    require_number("lam", lam, lam >= 0.0f);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::solve_columns(spectrum.data(), e_x.data(), size, lam, threads);
}

std::tuple<double, double, double, double> admm_update(
    Planes<const float> a, Image<const float> u, Image<float> d, Planes<float> g, Planes<float> b,
    Image<float> r, float alpha, float tau, float lam, float next_lam, float growth,
    bool multipliers, int threads) {
    const Size size = image_size(d);
    const int degree = checked_degree(a.shape(0));
    require_planes("a", a, std::size_t(degree) + 1, size);
    require_image("u", u, size);
    require_image("r", r, size);
    require_planes("g", g, 2, size);
    require_planes("b", b, 2, size);
    require(u.data() != d.data() && u.data() != r.data(), "expected u apart from d and r");
    require_number("alpha", alpha, alpha >= 0.0f);
    require_number("tau", tau, tau > 0.0f);
    require_number("lam", lam, lam > 0.0f);
    require_number("next_lam", next_lam, next_lam > 0.0f);
    require_number("growth", growth, growth >= 1.0f);
    threads = checked_threads(threads);
    const varfocus::AdmmStep step{a.data(), degree,   alpha,  tau,
                                  lam,      next_lam, growth, multipliers};
    const varfocus::AdmmVariables variables{u.data(), d.data(), g.data(), b.data(), r.data()};
    varfocus::AdmmSums sums{};
    {
        nb::gil_scoped_release release;
        sums = varfocus::admm_update(step, variables, size, threads);
    }
    return {sums.data, sums.tv, sums.constraint, sums.change};
}

void primal_dual(Planes<const float> a, Image<float> d, Planes<float> p, float alpha, float sigma,
                 int iterations, int threads) {
    const Size size = image_size(d);
    const int degree = checked_degree(a.shape(0));
    require_planes("a", a, std::size_t(degree) + 1, size);
    require_planes("p", p, 2, size);
    require_number("alpha", alpha, alpha > 0.0f);
    require_number("sigma", sigma, sigma > 0.0f);
    require(iterations >= 0 && iterations < (1 << 24), "received iterations out of range");
    threads = checked_threads(threads);
    const varfocus::PrimalDual problem{a.data(), degree, alpha, sigma, iterations};
    nb::gil_scoped_release release;
    varfocus::primal_dual(problem, d.data(), p.data(), size, threads);
}

std::tuple<double, double> energy_terms(Planes<const float> a, Image<const float> d, int threads) {
    const Size size = image_size(d);
    const int degree = checked_degree(a.shape(0));
    require_planes("a", a, std::size_t(degree) + 1, size);
    threads = checked_threads(threads);
    varfocus::EnergyTerms terms{};
    {
        nb::gil_scoped_release release;
        terms = varfocus::energy_terms(a.data(), degree, d.data(), nullptr, size, threads);
    }
    return {terms.data, terms.tv};
}

void slope(Planes<const float> a, Image<const float> d, Image<float> out, int threads) {
    const Size size = image_size(d);
    const int degree = checked_degree(a.shape(0));
    require_planes("a", a, std::size_t(degree) + 1, size);
    require_image("out", out, size);
    require(d.data() != out.data(), "expected an output apart from the input");
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::energy_terms(a.data(), degree, d.data(), out.data(), size, threads);
}

void margin(Planes<const float> a, Image<const float> basis, float rival_distance,
            Image<const float> index, Image<float> out, int threads) {
    const Size size = image_size(index);
    const int degree = checked_degree(a.shape(0));
    require_planes("a", a, std::size_t(degree) + 1, size);
    require_image("out", out, size);
    require(basis.shape(0) >= 2 && basis.shape(0) <= LONGEST_SIDE &&
                basis.shape(1) == std::size_t(degree) + 1,
            "expected a basis of shape (frames, degree + 1), with at least 2 frames");
    require_number("rival_distance", rival_distance, rival_distance >= 0.0f);
    threads = checked_threads(threads);
    const varfocus::MarginTable table{basis.data(), int(basis.shape(0)), rival_distance};
    nb::gil_scoped_release release;
    varfocus::margin(a.data(), degree, table, index.data(), out.data(), size, threads);
}

template <class T>
using Stack = nb::ndarray<T, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Labels = Image<const std::int32_t>;

varfocus::EdgePatch edge_patch(const Stack<const float>& frames, const Labels& label,
                               const Labels& near, const Labels& far,
                               const Image<const float>& sigma) {
    const Size size = image_size(label);
    require_image("near", near, size);
    require_image("far", far, size);
    require(frames.shape(0) >= 1 && frames.shape(0) <= LONGEST_SIDE && frames.shape(1) >= 1 &&
                frames.shape(1) <= 4 && int(frames.shape(2)) == size.height &&
                int(frames.shape(3)) == size.width,
            "expected frames of shape (n, 1 to 4 channels, H, W)");
    require(sigma.shape(0) == frames.shape(0) && sigma.shape(1) >= 1 &&
                sigma.shape(1) <= LONGEST_SIDE,
            "expected sigma of shape (n, layers)");
    for (std::size_t i = 0; i < sigma.shape(0) * sigma.shape(1); ++i) {
        require_number("sigma", sigma.data()[i], sigma.data()[i] >= 0.0f && sigma.data()[i] < 1e4f);
    }
    const auto layers = std::int32_t(sigma.shape(1));
    for (const Labels* map : {&label, &near, &far}) {
        for (std::ptrdiff_t i = 0; i < size.pixels(); ++i) {
            const std::int32_t value = map->data()[i];
            require(value >= 0 && value < layers, "received a layer that has no sigma");
        }
    }
    return {frames.data(), int(frames.shape(0)), int(frames.shape(1)), label.data(), near.data(),
            far.data(),    sigma.data(),         layers,               size};
}

void edge_judge(Stack<const float> frames, Labels label, Labels near, Labels far,
                Image<const float> sigma, float tau2, float sharp, Image<float> change,
                Image<float> error, Planes<float> colour) {
    const varfocus::EdgePatch patch = edge_patch(frames, label, near, far, sigma);
    require_image("change", change, patch.size);
    require_image("error", error, patch.size);
    require_planes("colour", colour, std::size_t(patch.channels), patch.size);
    require_number("tau2", tau2, tau2 > 0.0f);
    nb::gil_scoped_release release;
    varfocus::edge_judge(patch, tau2, sharp, change.data(), error.data(), colour.data());
}

void edge_plain_error(Stack<const float> frames, Labels label, Labels near, Labels far,
                      Image<const float> sigma, float tau2, Image<float> error) {
    const varfocus::EdgePatch patch = edge_patch(frames, label, near, far, sigma);
    require_image("error", error, patch.size);
    require_number("tau2", tau2, tau2 > 0.0f);
    nb::gil_scoped_release release;
    varfocus::edge_plain_error(patch, tau2, error.data());
}

}  // namespace

NB_MODULE(_kernels, m) {
    // noconvert: a silent copy of an output array would lose the result.
    const auto array = [](const char* name) { return nb::arg(name).noconvert(); };

    m.def("contrast", &contrast<std::uint8_t, std::uint16_t>, array("frame"), array("out"),
          "threads"_a);
    m.def("contrast", &contrast<std::uint16_t, std::int32_t>, array("frame"), array("out"),
          "threads"_a);
    m.def("contrast", &contrast<float, float>, array("frame"), array("out"), "threads"_a);

    const auto def_accumulate = [&](auto function) {
        m.def("accumulate", function, array("slots"), array("weights"), array("numbers"),
              "scale"_a, "window"_a, array("coefficients"), array("peak"), array("best"),
              array("index"), "threads"_a);
    };
    def_accumulate(&accumulate<std::uint16_t>);
    def_accumulate(&accumulate<std::int32_t>);
    def_accumulate(&accumulate<float>);

    m.def("box_mean", &box_mean, array("image"), array("out"), "window"_a, "threads"_a);
    m.def("halve", &halve, array("fine"), array("coarse"), "threads"_a);
    m.def("solve_columns", &solve_columns, array("spectrum"), array("e_x"), "lam"_a, "threads"_a);
    m.def("admm_update", &admm_update, array("a"), array("u"), array("d"), array("g"), array("b"),
          array("r"), "alpha"_a, "tau"_a, "lam"_a, "next_lam"_a, "growth"_a, "multipliers"_a,
          "threads"_a);
    m.def("primal_dual", &primal_dual, array("a"), array("d"), array("p"), "alpha"_a, "sigma"_a,
          "iterations"_a, "threads"_a);
    m.def("energy_terms", &energy_terms, array("a"), array("d"), "threads"_a);
    m.def("margin", &margin, array("a"), array("basis"), "rival_distance"_a, array("index"),
          array("out"), "threads"_a);
    m.def("slope", &slope, array("a"), array("d"), array("out"), "threads"_a);
    m.def("edge_judge", &edge_judge, array("frames"), array("label"), array("near"), array("far"),
          array("sigma"), "tau2"_a, "sharp"_a, array("change"), array("error"), array("colour"));
    m.def("edge_plain_error", &edge_plain_error, array("frames"), array("label"), array("near"),
          array("far"), array("sigma"), "tau2"_a, array("error"));
}
