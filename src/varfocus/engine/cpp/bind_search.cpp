// The robust method: templates, costs of labels, semi-global search, and its refinement.

#include "bind.hpp"

namespace varfocus {
namespace bind {
namespace {

Templates checked_templates(const Planes<const float>& bank, const Image<const float>& v) {
    constexpr std::size_t most = 1 << 20;
    bool sensible = v.shape(0) == bank.shape(2) &&
                    bank.shape(0) * bank.shape(1) < std::size_t(1) << 30;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        sensible = sensible && bank.shape(axis) >= 1 && bank.shape(axis) <= most;
    }
    if (!sensible) {
        refuse("templates of shape " + shape_of(bank) + " and curves of shape " + shape_of(v),
               "(widths, labels, frames) and (frames, pixels)");
    }
    image_size(v);
    return {bank.data(), int(bank.shape(0)), int(bank.shape(1)), int(bank.shape(2))};
}

void best_match(Planes<const float> bank, int even, Image<const float> v, Image<float> best,
                Image<std::int32_t> number, int threads) {
    const Templates templates = checked_templates(bank, v);
    require_within("even", even, 0, templates.frames);
    require_shape("best", best, even > 0 ? 2 : 1, v.shape(1));
    require_shape("number", number, best.shape(0), v.shape(1));
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().best_match(templates, even, v.data(), int(v.shape(1)), best.data(), number.data(),
                         threads);
}

void explained(Planes<const float> bank, Image<const float> v, Image<float> out, int threads) {
    const Templates templates = checked_templates(bank, v);
    require_shape("out", out, bank.shape(1), v.shape(1));
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().explained(templates, v.data(), int(v.shape(1)), out.data(), threads);
}

void require_band(int first_row, std::size_t rows, std::size_t height) {
    if (first_row >= 0 && std::size_t(first_row) + rows <= height) return;
    refuse("a band of " + std::to_string(rows) + " rows from row " + std::to_string(first_row),
           "one inside of " + std::to_string(height) + " rows");
}

void cost(Planes<const std::uint16_t> contrast, Planes<const float> basis,
          Volumes<const float> bank, int even, Vector<const float> noise, Vector<const float> ends,
          float unit, int labels, Image<const float> lost, int first_row, Planes<float> out,
          int threads) {
    const Size size = image_size(out);
    const int scales = checked_count("scales in bank", bank.shape(0), 1, 64);
    const int widths = checked_count("widths in bank", bank.shape(1), 1, 1024);
    const std::size_t stride = out.shape(2), height = contrast.shape(1);
    const int frames = checked_count("frames", contrast.shape(0) / std::size_t(scales), 1,
                                     LONGEST_SIDE);
    const int rank = checked_count("curves in bank", bank.shape(2), 1, std::size_t(frames));
    require_labels(labels, stride, 3);
    require_within("even", even, 0, rank);
    // Of templates that are mirror images of one another, only the first half is given.
    require_labels(even > 0 ? (labels + 1) / 2 : labels, bank.shape(3), 1);
    require_shape("contrast", contrast, std::ptrdiff_t(scales) * frames, height, size.width);
    require_band(first_row, out.shape(0), height);
    const bool projected = basis.shape(0) > 0;
    if (projected) {
        require_shape("basis", basis, scales, rank, frames);
    } else {
        require_shape("bank without a basis", bank, scales, widths, frames, bank.shape(3));
        if (even > 0) require_within("even", even, (frames + 1) / 2, (frames + 1) / 2);
    }
    require_shape("out", out, size.height, size.width, stride);
    require_shape("ends", ends, stride);
    require_shape("noise", noise, scales);
    require_shape("lost", lost, height, size.width);
    require_positive("unit", unit);
    for (int s = 0; s < scales; ++s) require_positive("noise", noise.data()[s]);
    const CostModel model{scales,
                          frames,
                          rank,
                          widths,
                          labels,
                          int(stride),
                          even,
                          int(bank.shape(3)),
                          projected ? basis.data() : nullptr,
                          bank.data(),
                          noise.data(),
                          ends.data(),
                          unit};
    const std::ptrdiff_t plane = std::ptrdiff_t(height) * size.width;
    const std::ptrdiff_t at = std::ptrdiff_t(first_row) * size.width;
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().cost(model, contrast.data() + at, plane, lost.data() + at, out.data(), size, threads);
}

// An empty array stands for a border of the image, or for a result that is not wanted.
template <class T>
T* edge_data(const char* name, const Planes<T>& edge, int width, std::size_t stride) {
    if (edge.shape(0) == 0) return nullptr;
    require_shape(name, edge, 3, width, stride);
    return edge.data();
}

void semi_global(Planes<const float> cost, float p1, Image<const float> jump, int first_row,
                 bool upward, Planes<const float> entering, Planes<float> total,
                 Planes<float> leaving, int threads) {
    const Size size = image_size(cost);
    const std::size_t stride = cost.shape(2), height = jump.shape(0);
    require_labels(int(std::min(stride, LONGEST_SIDE)), stride, 1);
    require_band(first_row, cost.shape(0), height);
    require_shape("jump", jump, height, size.width);
    const bool summed = total.shape(0) > 0;
    if (summed) {
        require_shape("total", total, size.height, size.width, stride);
        require(total.data() != cost.data(), "total = cost", "total apart from cost");
    }
    require_not_negative("p1", p1);
    const SemiGlobal problem{int(stride),
                             p1,
                             jump.data(),
                             first_row,
                             upward,
                             cost.data(),
                             edge_data("entering", entering, size.width, stride),
                             summed ? total.data() : nullptr,
                             edge_data("leaving", leaving, size.width, stride)};
    const bool inside = upward ? std::size_t(first_row) + cost.shape(0) < height : first_row > 0;
    require(problem.entering == nullptr || inside, "path costs from outside the image",
            "none at its border");
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().semi_global(problem, size, threads);
}

void lowest(Planes<const float> volume, int labels, Image<float> out, int threads) {
    const Size size = image_size(volume);
    require_labels(labels, volume.shape(2), 3);
    require_image("out", out, size);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().lowest(volume.data(), labels, int(volume.shape(2)), out.data(), size, threads);
}

void judge(Planes<const float> total, Planes<const float> cost, int labels,
           Image<const float> label, float distance, int reach, Image<float> lead,
           Image<float> bend, Image<float> value, int threads) {
    const Size size = image_size(label);
    const std::size_t stride = total.shape(2);
    require_labels(labels, stride, 3);
    require_shape("total", total, size.height, size.width, stride);
    require_shape("cost", cost, size.height, size.width, stride);
    require_image("lead", lead, size);
    require_image("bend", bend, size);
    require_image("value", value, size);
    require_within("reach", reach, 1, (labels - 1) / 2);
    require_not_negative("distance", distance);
    const Judgement how{labels, int(stride), reach, distance};
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().judge(how, total.data(), cost.data(), label.data(), lead.data(), bend.data(),
                    value.data(), size, threads);
}

Windows checked_windows(const Planes<std::uint16_t>& samples, const Image<float>& scale,
                        const Image<std::int16_t>& base, const Vector<double>& offsets, Size size) {
    require_shape("samples", samples, size.height, size.width, WINDOW);
    require_image("scale", scale, size);
    require_image("base", base, size);
    require_shape("offsets", offsets, size.height);
    return {samples.data(), scale.data(), base.data(), offsets.data()};
}

void cut_windows(Planes<const float> cost, int labels, Image<const float> label,
                 Planes<std::uint16_t> samples, Image<float> scale, Image<std::int16_t> base,
                 Vector<double> offsets, int threads) {
    const Size size = image_size(label);
    require_labels(labels, cost.shape(2), WINDOW - 2);
    require_shape("cost", cost, size.height, size.width, cost.shape(2));
    const Windows out = checked_windows(samples, scale, base, offsets, size);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().cut_windows(cost.data(), label.data(), labels, int(cost.shape(2)), out, size,
                          threads);
}

void tgv_iterate(Image<const float> m, Image<const float> h, Planes<const float> held,
                 Planes<const float> bent, Image<float> d, Planes<float> v, Planes<float> p,
                 Planes<float> q, float sigma, int iterations, int threads) {
    const Size size = image_size(d);
    require_image("m", m, size);
    require_image("h", h, size);
    require_planes("held", held, 2, size);
    require_planes("bent", bent, 3, size);
    require_planes("v", v, 2, size);
    require_planes("p", p, 2, size);
    require_planes("q", q, 3, size);
    require_positive("sigma", sigma);
    require_iterations(iterations);
    threads = checked_threads(threads);
    const TgvProblem problem{m.data(), h.data(), held.data(), bent.data(), sigma};
    const TgvState state{d.data(), v.data(), p.data(), q.data()};
    nb::gil_scoped_release release;
    kernels().tgv_iterate(problem, state, iterations, size, threads);
}

void parabolas(Planes<std::uint16_t> samples, Image<float> scale, Image<std::int16_t> base,
               Vector<double> offsets, float step, Image<const float> d, float reach, float least,
               Image<float> m, Image<float> h, int threads) {
    const Size size = image_size(d);
    const Windows windows = checked_windows(samples, scale, base, offsets, size);
    require_image("m", m, size);
    require_image("h", h, size);
    require_positive("step", step);
    require_positive("reach", reach);
    require_positive("least", least);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().parabolas(windows, {step, reach, least}, d.data(), m.data(), h.data(), size, threads);
}

}  // namespace

void define_search(nb::module_& m) {
    m.def("best_match", &best_match, array("bank"), "even"_a, array("v"), array("best"),
          array("number"), "threads"_a);
    m.def("explained", &explained, array("bank"), array("v"), array("out"), "threads"_a);
    m.def("cost", &cost, array("contrast"), array("basis"), array("bank"), "even"_a,
          array("noise"), array("ends"), "unit"_a, "labels"_a, array("lost"), "first_row"_a,
          array("out"), "threads"_a);
    m.def("semi_global", &semi_global, array("cost"), "p1"_a, array("jump"), "first_row"_a,
          "upward"_a, array("entering"), array("total"), array("leaving"), "threads"_a);
    m.def("lowest", &lowest, array("volume"), "labels"_a, array("out"), "threads"_a);
    m.def("judge", &judge, array("total"), array("cost"), "labels"_a, array("label"), "distance"_a,
          "reach"_a, array("lead"), array("bend"), array("value"), "threads"_a);
    m.def("cut_windows", &cut_windows, array("cost"), "labels"_a, array("label"), array("samples"),
          array("scale"), array("base"), array("offsets"), "threads"_a);
    m.def("tgv_iterate", &tgv_iterate, array("m"), array("h"), array("held"), array("bent"),
          array("d"), array("v"), array("p"), array("q"), "sigma"_a, "iterations"_a, "threads"_a);
    m.def("parabolas", &parabolas, array("samples"), array("scale"), array("base"),
          array("offsets"), "step"_a, array("d"), "reach"_a, "least"_a, array("m"), array("h"),
          "threads"_a);
}

}  // namespace bind
}  // namespace varfocus
