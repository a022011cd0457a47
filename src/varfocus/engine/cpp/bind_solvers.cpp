// The paper's method: minimisers, energy, slope and margin of polynomial contrast curves.

#include "bind.hpp"

namespace varfocus {
namespace bind {
namespace {

// Coefficients (degree + 1, H, W) of the curves of an image; returns their degree.
int checked_curves(const Planes<const float>& a, Size size) {
    const int degree = checked_degree(a.shape(0));
    require_planes("coefficients", a, degree + 1, size);
    return degree;
}

void solve_columns(Image<float> spectrum, Vector<const float> e_x, float lam, int threads) {
    const Size size = image_size(spectrum);
    require_shape("e_x", e_x, size.width);
    require_not_negative("lam", lam);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().solve_columns(spectrum.data(), e_x.data(), size, lam, threads);
}

void screened_poisson(Image<const float> r, Image<float> u, Image<const float> tables,
                      Vector<const float> e_x, float lam, int threads) {
    const Size size = image_size(r);
    require_image("u", u, size);
    require_shape("tables", tables, 4, size.width);
    require_shape("e_x", e_x, size.width);
    require_not_negative("lam", lam);
    int rest = size.width;
    for (int factor = 2; factor <= LARGEST_FACTOR; ++factor) {
        while (rest % factor == 0) rest /= factor;
    }
    if (rest > 1) {
        refuse("a width of " + std::to_string(size.width) + " pixels",
               "one without prime factors above " + std::to_string(LARGEST_FACTOR));
    }
    threads = checked_threads(threads);
    const float* first = tables.data();
    const CosineTables all{size.width,           1.0f / std::sqrt(float(size.width)),
                           first,                first + size.width,
                           first + 2 * size.width, first + 3 * size.width};
    nb::gil_scoped_release release;
    kernels().screened_poisson(r.data(), u.data(), size, all, e_x.data(), lam, threads);
}

std::tuple<double, double, double, double> admm_update(
    Planes<const float> a, Image<const float> u, Image<const float> before, Image<float> d,
    Planes<float> g, Planes<float> b, Image<float> r, float alpha, float tau, float lam,
    float next_lam, float growth, bool multipliers, bool traced, int threads) {
    const Size size = image_size(d);
    const int degree = checked_curves(a, size);
    require_image("u", u, size);
    require_image("before", before, size);
    require_image("r", r, size);
    require_planes("g", g, 2, size);
    require_planes("b", b, 2, size);
    require(u.data() != d.data() && u.data() != r.data(), "u = d or u = r", "u apart from both");
    require(before.data() != d.data(), "before = d", "arrays apart");
    require_not_negative("alpha", alpha);
    require_positive("tau", tau);
    require_positive("lam", lam);
    require_positive("next_lam", next_lam);
    require_number("growth", growth, growth >= 1.0f, "a number of at least 1");
    threads = checked_threads(threads);
    const AdmmStep step{a.data(), degree, alpha, tau, lam, next_lam, growth, multipliers,
                        traced};
    const AdmmVariables variables{u.data(), before.data(), d.data(), g.data(), b.data(), r.data()};
    AdmmSums sums{};
    {
        nb::gil_scoped_release release;
        sums = kernels().admm_update(step, variables, size, threads);
    }
    return {sums.data, sums.tv, sums.constraint, sums.change};
}

void primal_dual(Planes<const float> a, Image<float> d, Planes<float> p, float alpha, float sigma,
                 int iterations, int threads) {
    const Size size = image_size(d);
    const int degree = checked_curves(a, size);
    require_planes("p", p, 2, size);
    require_positive("alpha", alpha);
    require_positive("sigma", sigma);
    require_iterations(iterations);
    threads = checked_threads(threads);
    const PrimalDual problem{a.data(), degree, alpha, sigma, iterations};
    nb::gil_scoped_release release;
    kernels().primal_dual(problem, d.data(), p.data(), size, threads);
}

std::tuple<double, double> energy_terms(Planes<const float> a, Image<const float> d, int threads) {
    const Size size = image_size(d);
    const int degree = checked_curves(a, size);
    threads = checked_threads(threads);
    EnergyTerms terms{};
    {
        nb::gil_scoped_release release;
        terms = kernels().energy_terms(a.data(), degree, d.data(), nullptr, size, threads);
    }
    return {terms.data, terms.tv};
}

void slope(Planes<const float> a, Image<const float> d, Image<float> out, int threads) {
    const Size size = image_size(d);
    const int degree = checked_curves(a, size);
    require_image("out", out, size);
    require(d.data() != out.data(), "out = d", "an output apart from the input");
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().energy_terms(a.data(), degree, d.data(), out.data(), size, threads);
}

void margin(Planes<const float> a, Image<const float> basis, float rival_distance,
            Image<const float> index, Image<float> out, int threads) {
    const Size size = image_size(index);
    const int degree = checked_curves(a, size);
    const int frames = checked_count("frames in basis", basis.shape(0), 2, LONGEST_SIDE);
    require_shape("basis", basis, frames, degree + 1);
    require_image("out", out, size);
    require_not_negative("rival_distance", rival_distance);
    threads = checked_threads(threads);
    const MarginTable table{basis.data(), frames, rival_distance};
    nb::gil_scoped_release release;
    kernels().margin(a.data(), degree, table, index.data(), out.data(), size, threads);
}

}  // namespace

void define_solvers(nb::module_& m) {
    m.def("solve_columns", &solve_columns, array("spectrum"), array("e_x"), "lam"_a, "threads"_a);
    m.def("screened_poisson", &screened_poisson, array("r"), array("u"), array("tables"),
          array("e_x"), "lam"_a, "threads"_a);
    m.def("admm_update", &admm_update, array("a"), array("u"), array("before"), array("d"),
          array("g"), array("b"), array("r"), "alpha"_a, "tau"_a, "lam"_a, "next_lam"_a, "growth"_a,
          "multipliers"_a, "traced"_a, "threads"_a);
    m.def("primal_dual", &primal_dual, array("a"), array("d"), array("p"), "alpha"_a, "sigma"_a,
          "iterations"_a, "threads"_a);
    m.def("energy_terms", &energy_terms, array("a"), array("d"), "threads"_a);
    m.def("slope", &slope, array("a"), array("d"), array("out"), "threads"_a);
    m.def("margin", &margin, array("a"), array("basis"), "rival_distance"_a, array("index"),
          array("out"), "threads"_a);
}

}  // namespace bind
}  // namespace varfocus
