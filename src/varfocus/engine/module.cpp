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
using Volumes = nb::ndarray<T, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
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

template <class Pixel>
varfocus::FrameView<Pixel> frame_view(const Strided<Pixel>& frame) {
    const Size size = size_of(frame.shape(0), frame.shape(1));
    const std::size_t channels = frame.shape(2);
    require(channels >= 1 && channels <= 3, "expected 1 to 3 channels");
    require(frame.stride(2) == 1 || channels == 1, "expected channels next to each other");
    require(frame.stride(1) >= std::int64_t(channels) && frame.stride(1) <= 4,
            "expected 1 to 4 numbers per pixel, pixels of a row next to each other");
    return {frame.data(), size, int(channels), frame.stride(0), frame.stride(1)};
}

template <class Pixel, class Contrast>
void contrast(Strided<Pixel> frame, Image<Contrast> out, int threads) {
    const varfocus::FrameView<Pixel> view = frame_view(frame);
    require_image("out", out, view.size);
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

template <class A>
void require_pixels(const char* name, const A& image, Size size, std::size_t channels) {
    require_image(name, image, size);
    require(image.shape(2) == channels,
            std::string("received ") + name + " with another number of channels");
}

std::size_t channels_of(std::size_t channels) {
    require(channels >= 1 && channels <= 16, "expected 1 to 16 channels");
    return channels;
}

void reduce(Planes<const float> fine, Planes<float> coarse, int threads) {
    const Size size = image_size(fine);
    const std::size_t channels = channels_of(fine.shape(2));
    require_pixels("coarse", coarse, {(size.height + 1) / 2, (size.width + 1) / 2}, channels);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::reduce(fine.data(), coarse.data(), size, int(channels), threads);
}

void add_expanded(Planes<const float> coarse, Planes<float> fine, float sign, int threads) {
    const Size size = image_size(fine);
    const std::size_t channels = channels_of(fine.shape(2));
    require_pixels("coarse", coarse, {(size.height + 1) / 2, (size.width + 1) / 2}, channels);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::add_expanded(coarse.data(), fine.data(), sign, size, int(channels), threads);
}

void fusion_level(Planes<const float> coefficients, Image<const float> weight, int number,
                  float doubt, Image<const std::uint16_t> low, Image<const std::uint16_t> high,
                  Planes<float> blended, Planes<float> sharpest, Image<float> best,
                  Image<float> least, Image<std::uint16_t> chosen, int threads) {
    const Size size = image_size(coefficients);
    const std::size_t channels = channels_of(coefficients.shape(2));
    require_pixels("blended", blended, size, channels);
    require_pixels("sharpest", sharpest, size, channels);
    require_image("weight", weight, size);
    require_image("low", low, size);
    require_image("high", high, size);
    require_image("best", best, size);
    require_image("least", least, size);
    require_image("chosen", chosen, size);
    require(number >= 0 && number <= 65535, "expected a frame number of 16 bits");
    threads = checked_threads(threads);
    const varfocus::FusionFrame frame{coefficients.data(), weight.data(), std::uint16_t(number),
                                      doubt};
    const varfocus::FusionLevel level{low.data(),  high.data(),  blended.data(), sharpest.data(),
                                      best.data(), least.data(), chosen.data()};
    nb::gil_scoped_release release;
    varfocus::fusion_level(frame, level, size, int(channels), threads);
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

// --- the robust method -----------------------------------------------------------------------

constexpr int MOST_LABELS = 30000;

varfocus::Smoothing smoothing(const Vector<const float>& weights) {
    require(weights.shape(0) >= 1 && weights.shape(0) <= WIDEST_WINDOW / 2,
            "expected 1 to 999 weights of a smoothing kernel");
    return {weights.data(), int(weights.shape(0)) - 1};
}

template <class Pixel>
void two_scales(Strided<Pixel> frame, float scale, Vector<const float> blur,
                Vector<const float> support, Image<std::uint16_t> fine,
                Image<std::uint16_t> coarse, Image<float> gradient, Image<float> smallest,
                Image<float> largest, int threads) {
    const varfocus::FrameView<Pixel> view = frame_view(frame);
    require_image("fine", fine, view.size);
    require_image("coarse", coarse, view.size);
    require_image("gradient", gradient, view.size);
    require_image("smallest", smallest, view.size);
    require_image("largest", largest, view.size);
    require_number("scale", scale, scale > 0.0f);
    const varfocus::TwoScales how{scale, smoothing(blur), smoothing(support)};
    const varfocus::ScaleOutputs out{fine.data(), coarse.data(), gradient.data(), smallest.data(),
                                     largest.data()};
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::two_scales(view, how, out, threads);
}

varfocus::Templates checked_templates(const Planes<const float>& bank,
                                      const Image<const float>& v) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
        require(bank.shape(axis) >= 1 && bank.shape(axis) <= 1 << 20,
                "expected templates of shape (widths, labels, frames)");
    }
    require(bank.shape(0) * bank.shape(1) < std::size_t(1) << 30, "received too many templates");
    image_size(v);
    require(v.shape(0) == bank.shape(2), "expected as many frames as the templates have");
    return {bank.data(), int(bank.shape(0)), int(bank.shape(1)), int(bank.shape(2))};
}

void best_match(Planes<const float> bank, Image<const float> v, Vector<float> best,
                Vector<std::int32_t> number, int threads) {
    const varfocus::Templates templates = checked_templates(bank, v);
    require(best.shape(0) == v.shape(1) && number.shape(0) == v.shape(1),
            "expected one result per pixel");
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::best_match(templates, v.data(), int(v.shape(1)), best.data(), number.data(),
                         threads);
}

void explained(Planes<const float> bank, Image<const float> v, Image<float> out, int threads) {
    const varfocus::Templates templates = checked_templates(bank, v);
    require(out.shape(0) == bank.shape(1) && out.shape(1) == v.shape(1),
            "expected out of shape (labels, pixels)");
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::explained(templates, v.data(), int(v.shape(1)), out.data(), threads);
}

// Labels of a volume whose last axis is padded to a multiple of 16.
void require_labels(int labels, std::size_t stride, int least) {
    require(labels >= least && labels <= MOST_LABELS && std::size_t(labels) <= stride &&
                stride % 16 == 0 && stride < std::size_t(labels) + 16,
            "received labels that do not suit the volume; expected it padded to a multiple of 16");
}

void cost(Planes<const std::uint16_t> contrast, Planes<const float> basis,
          Volumes<const float> bank, Vector<const float> noise, Vector<const float> ends,
          float unit, int labels, Image<const float> lost, int first_row, Planes<float> out,
          int threads) {
    const Size size = size_of(out.shape(0), out.shape(1));
    const std::size_t scales = bank.shape(0), widths = bank.shape(1), rank = bank.shape(2),
                      stride = bank.shape(3);
    require(scales >= 1 && scales <= 64 && widths >= 1 && widths <= 1024 && rank >= 1,
            "expected a bank of shape (scales, widths, rank, labels)");
    require(contrast.shape(0) % scales == 0, "expected as many planes for every scale");
    const std::size_t frames = contrast.shape(0) / scales;
    require(frames >= 1 && frames <= LONGEST_SIDE && rank <= frames, "received too many frames");
    const bool projected = basis.shape(0) > 0;
    require(projected ? basis.shape(0) == scales && basis.shape(1) == rank &&
                            basis.shape(2) == frames
                      : rank == frames,
            "expected a basis of shape (scales, rank, frames), or none and rank = frames");
    require_labels(labels, stride, 3);
    require(out.shape(2) == stride && ends.shape(0) == stride && noise.shape(0) == scales,
            "expected out, ends and noise to suit the bank");
    require(first_row >= 0 && std::size_t(first_row) + out.shape(0) <= contrast.shape(1) &&
                contrast.shape(2) == out.shape(1),
            "received a band outside the image");
    require(lost.shape(0) == contrast.shape(1) && lost.shape(1) == contrast.shape(2),
            "received lost of a shape unlike the other images");
    require_number("unit", unit, unit > 0.0f);
    for (std::size_t s = 0; s < scales; ++s) {
        require_number("noise", noise.data()[s], noise.data()[s] > 0.0f);
    }
    const varfocus::CostModel model{int(scales),
                                    int(frames),
                                    int(rank),
                                    int(widths),
                                    labels,
                                    int(stride),
                                    projected ? basis.data() : nullptr,
                                    bank.data(),
                                    noise.data(),
                                    ends.data(),
                                    unit};
    const std::ptrdiff_t plane = std::ptrdiff_t(contrast.shape(1) * contrast.shape(2));
    const std::ptrdiff_t at = std::ptrdiff_t(first_row) * size.width;
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::cost(model, contrast.data() + at, plane, lost.data() + at, out.data(), size, threads);
}

// An empty array stands for a border of the image, or for what nobody asks for.
template <class T>
T* edge_data(const char* name, const Planes<T>& edge, std::size_t width, std::size_t stride) {
    if (edge.shape(0) == 0) return nullptr;
    require(edge.shape(0) == 3 && edge.shape(1) == width && edge.shape(2) == stride,
            std::string("received ") + name + " of a shape other than (3, width, labels)");
    return edge.data();
}

void semi_global(Planes<const float> cost, float p1, Image<const float> jump, int first_row,
                 bool upward, Planes<const float> entering, Planes<float> total,
                 Planes<float> leaving, int threads) {
    const Size size = size_of(cost.shape(0), cost.shape(1));
    const std::size_t stride = cost.shape(2);
    require(stride > 0 && stride % 16 == 0 && stride <= MOST_LABELS,
            "expected a volume padded to a multiple of 16 labels");
    require(first_row >= 0 && std::size_t(first_row) + cost.shape(0) <= jump.shape(0) &&
                jump.shape(1) == cost.shape(1),
            "received a band outside the image");
    require(total.shape(0) == 0 || (total.shape(0) == cost.shape(0) &&
                                    total.shape(1) == cost.shape(1) && total.shape(2) == stride),
            "received total of a shape unlike cost");
    require(total.data() != cost.data() || total.shape(0) == 0, "expected total apart from cost");
    require_number("p1", p1, p1 >= 0.0f);
    const varfocus::SemiGlobal problem{
        int(stride),
        p1,
        jump.data(),
        first_row,
        upward,
        cost.data(),
        edge_data("entering", entering, cost.shape(1), stride),
        total.shape(0) == 0 ? nullptr : total.data(),
        edge_data("leaving", leaving, cost.shape(1), stride)};
    require(problem.entering == nullptr ||
                (upward ? std::size_t(first_row) + cost.shape(0) < jump.shape(0) : first_row > 0),
            "received path costs from outside the image");
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::semi_global(problem, size, threads);
}

void lowest(Planes<const float> volume, int labels, Image<float> out, int threads) {
    const Size size = size_of(volume.shape(0), volume.shape(1));
    require_labels(labels, volume.shape(2), 3);
    require_image("out", out, size);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::lowest(volume.data(), labels, int(volume.shape(2)), out.data(), size, threads);
}

void judge(Planes<const float> total, Planes<const float> cost, int labels,
           Image<const float> label, float distance, int reach, Image<float> lead,
           Image<float> bend, Image<float> value, int threads) {
    const Size size = image_size(label);
    require_labels(labels, total.shape(2), 3);
    require_planes("total", total, std::size_t(size.height), {size.width, int(total.shape(2))});
    require_planes("cost", cost, std::size_t(size.height), {size.width, int(total.shape(2))});
    require_image("lead", lead, size);
    require_image("bend", bend, size);
    require_image("value", value, size);
    require(reach >= 1 && 2 * reach <= labels - 1, "received a reach beyond the labels");
    require_number("distance", distance, distance >= 0.0f);
    const varfocus::Judgement how{labels, int(total.shape(2)), reach, distance};
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::judge(how, total.data(), cost.data(), label.data(), lead.data(), bend.data(),
                    value.data(), size, threads);
}

void cut_windows(Planes<const float> cost, int labels, Image<const float> label,
                 Planes<std::uint16_t> samples, Image<float> scale, Image<std::int16_t> base,
                 Vector<double> offsets, int threads) {
    const Size size = image_size(label);
    require_labels(labels, cost.shape(2), varfocus::WINDOW - 2);
    require_planes("cost", cost, std::size_t(size.height), {size.width, int(cost.shape(2))});
    require_planes("samples", samples, std::size_t(size.height), {size.width, varfocus::WINDOW});
    require_image("scale", scale, size);
    require_image("base", base, size);
    require(int(offsets.shape(0)) == size.height, "expected one offset per row");
    const varfocus::Windows out{samples.data(), scale.data(), base.data(), offsets.data()};
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::cut_windows(cost.data(), label.data(), labels, int(cost.shape(2)), out, size,
                          threads);
}

varfocus::HuberProblem huber_problem(const Planes<std::uint16_t>& samples, const Image<float>& scale,
                                     const Image<std::int16_t>& base, const Vector<double>& offsets,
                                     const Image<const float>& weight, float step, float alpha,
                                     float epsilon, float sigma, Size size) {
    require_planes("samples", samples, std::size_t(size.height), {size.width, varfocus::WINDOW});
    require_image("scale", scale, size);
    require_image("base", base, size);
    require(int(offsets.shape(0)) == size.height, "expected one offset per row");
    require_image("weight", weight, size);
    require_number("step", step, step > 0.0f);
    require_number("alpha", alpha, alpha >= 0.0f);
    require_number("epsilon", epsilon, epsilon >= 0.0f);
    require_number("sigma", sigma, sigma > 0.0f);
    return {{samples.data(), scale.data(), base.data(), offsets.data()},
            weight.data(),
            step,
            alpha,
            epsilon,
            sigma};
}

std::tuple<double, double> huber_primal_dual(Planes<std::uint16_t> samples, Image<float> scale,
                                             Image<std::int16_t> base, Vector<double> offsets,
                                             Image<const float> weight, float step, float alpha,
                                             float epsilon, float sigma, Image<float> d,
                                             Planes<float> p, int iterations, int threads) {
    const Size size = image_size(d);
    const varfocus::HuberProblem problem =
        huber_problem(samples, scale, base, offsets, weight, step, alpha, epsilon, sigma, size);
    require_planes("p", p, 2, size);
    require(iterations >= 0 && iterations < (1 << 24), "received iterations out of range");
    threads = checked_threads(threads);
    varfocus::EnergyTerms terms{};
    {
        nb::gil_scoped_release release;
        varfocus::huber_primal_dual(problem, d.data(), p.data(), iterations, size, threads);
        terms = varfocus::huber_terms(problem, d.data(), size, threads);
    }
    return {terms.data, terms.tv};
}

template <class Pixel>
void warp(Planes<const Pixel> frame, Planes<Pixel> out, Image<const double> matrix,
          Image<const float> table, Vector<const float> gains, int threads) {
    const Size from = size_of(frame.shape(0), frame.shape(1));
    const Size to = size_of(out.shape(0), out.shape(1));
    const std::size_t channels = frame.shape(2), taps = table.shape(1);
    require(channels == 1 || channels == 3, "expected 1 or 3 channels");
    require(out.shape(2) == channels && gains.shape(0) == channels,
            "expected as many channels and gains as the frame has channels");
    require(matrix.shape(0) == 3 && matrix.shape(1) == 3, "expected a matrix of shape (3, 3)");
    require(taps == 2 || taps == 6, "expected a table of 2 or 6 taps");
    require(table.shape(0) >= 2 && table.shape(0) <= LONGEST_SIDE, "expected at least 2 phases");
    threads = checked_threads(threads);
    const varfocus::WarpView<Pixel> view{frame.data(),  from,      to,
                                         int(channels), matrix.data(), table.data(),
                                         int(taps),     int(table.shape(0)) - 1, gains.data()};
    nb::gil_scoped_release release;
    varfocus::warp(view, out.data(), threads);
}

template <class Pixel>
void shrink(Planes<const Pixel> frame, Planes<float> out, int factor, float scale, int threads) {
    const Size from = size_of(frame.shape(0), frame.shape(1));
    const std::size_t channels = frame.shape(2);
    require(channels >= 1 && channels <= 4, "expected 1 to 4 channels");
    require(factor >= 1 && factor <= 256, "expected a factor from 1 to 256");
    require(from.height >= factor && from.width >= factor, "expected a frame of a block at least");
    require_planes("out", out, std::size_t(from.height / factor),
                   {from.width / factor, int(channels)});
    require_number("scale", scale, true);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    varfocus::shrink(frame.data(), from, int(channels), factor, scale, out.data(), threads);
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

void edge_convolve(Planes<const float> planes, Vector<const float> taps, Planes<float> out) {
    const Size size = size_of(planes.shape(1), planes.shape(2));
    require(planes.shape(0) >= 1 && planes.shape(0) <= LONGEST_SIDE, "expected at least one plane");
    require_planes("out", out, planes.shape(0), size);
    require(out.data() != planes.data(), "expected out apart from planes");
    require(taps.shape(0) % 2 == 1 && taps.shape(0) <= LONGEST_SIDE,
            "expected an odd number of taps");
    nb::gil_scoped_release release;
    varfocus::edge_convolve(planes.data(), int(planes.shape(0)), taps.data(), int(taps.shape(0)),
                            out.data(), size);
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
    m.def("reduce", &reduce, array("fine"), array("coarse"), "threads"_a);
    m.def("add_expanded", &add_expanded, array("coarse"), array("fine"), "sign"_a, "threads"_a);
    m.def("fusion_level", &fusion_level, array("coefficients"), array("weight"), "number"_a,
          "doubt"_a, array("low"), array("high"), array("blended"), array("sharpest"),
          array("best"), array("least"), array("chosen"), "threads"_a);
    m.def("solve_columns", &solve_columns, array("spectrum"), array("e_x"), "lam"_a, "threads"_a);
    m.def("admm_update", &admm_update, array("a"), array("u"), array("d"), array("g"), array("b"),
          array("r"), "alpha"_a, "tau"_a, "lam"_a, "next_lam"_a, "growth"_a, "multipliers"_a,
          "threads"_a);
    m.def("primal_dual", &primal_dual, array("a"), array("d"), array("p"), "alpha"_a, "sigma"_a,
          "iterations"_a, "threads"_a);
    m.def("energy_terms", &energy_terms, array("a"), array("d"), "threads"_a);
    m.def("margin", &margin, array("a"), array("basis"), "rival_distance"_a, array("index"),
          array("out"), "threads"_a);
    const auto def_warp = [&](auto function) {
        m.def("warp", function, array("frame"), array("out"), array("matrix"), array("table"),
              array("gains"), "threads"_a);
    };
    def_warp(&warp<std::uint8_t>);
    def_warp(&warp<std::uint16_t>);
    def_warp(&warp<float>);
    const auto def_shrink = [&](auto function) {
        m.def("shrink", function, array("frame"), array("out"), "factor"_a, "scale"_a,
              "threads"_a);
    };
    def_shrink(&shrink<std::uint8_t>);
    def_shrink(&shrink<std::uint16_t>);
    def_shrink(&shrink<float>);
    m.def("slope", &slope, array("a"), array("d"), array("out"), "threads"_a);

    const auto def_two_scales = [&](auto function) {
        m.def("two_scales", function, array("frame"), "scale"_a, array("blur"), array("support"),
              array("fine"), array("coarse"), array("gradient"), array("smallest"),
              array("largest"), "threads"_a);
    };
    def_two_scales(&two_scales<std::uint8_t>);
    def_two_scales(&two_scales<std::uint16_t>);
    def_two_scales(&two_scales<float>);
    m.def("best_match", &best_match, array("bank"), array("v"), array("best"), array("number"),
          "threads"_a);
    m.def("explained", &explained, array("bank"), array("v"), array("out"), "threads"_a);
    m.def("cost", &cost, array("contrast"), array("basis"), array("bank"), array("noise"),
          array("ends"), "unit"_a, "labels"_a, array("lost"), "first_row"_a, array("out"),
          "threads"_a);
    m.def("semi_global", &semi_global, array("cost"), "p1"_a, array("jump"), "first_row"_a,
          "upward"_a, array("entering"), array("total"), array("leaving"), "threads"_a);
    m.def("lowest", &lowest, array("volume"), "labels"_a, array("out"), "threads"_a);
    m.def("judge", &judge, array("total"), array("cost"), "labels"_a, array("label"), "distance"_a,
          "reach"_a, array("lead"), array("bend"), array("value"), "threads"_a);
    m.def("cut_windows", &cut_windows, array("cost"), "labels"_a, array("label"), array("samples"),
          array("scale"), array("base"), array("offsets"), "threads"_a);
    m.def("huber_primal_dual", &huber_primal_dual, array("samples"), array("scale"), array("base"),
          array("offsets"), array("weight"), "step"_a, "alpha"_a, "epsilon"_a, "sigma"_a,
          array("d"), array("p"), "iterations"_a, "threads"_a);

    m.def("edge_convolve", &edge_convolve, array("planes"), array("taps"), array("out"));
    m.def("edge_judge", &edge_judge, array("frames"), array("label"), array("near"), array("far"),
          array("sigma"), "tau2"_a, "sharp"_a, array("change"), array("error"), array("colour"));
    m.def("edge_plain_error", &edge_plain_error, array("frames"), array("label"), array("near"),
          array("far"), array("sigma"), "tau2"_a, array("error"));
}
