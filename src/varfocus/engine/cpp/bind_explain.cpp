// Whether one depth explains all frames, votes of neighbours, and costs confined to a range.

#include "bind.hpp"

namespace varfocus {
namespace bind {
namespace {

constexpr int WIDEST_VOTE = 64;  // pixels to either side

void reblur(Planes<const float> measured, Planes<const float> pictures,
            Image<const std::int32_t> number, float precision, Planes<float> out, int threads) {
    const Size size = size_of(measured.shape(1), measured.shape(2));
    const int frames = checked_count("frames", measured.shape(0), 1, 1 << 16);
    const int labels = checked_count("labels", number.shape(1), 1, MOST_LABELS);
    const int count = checked_count("pictures", pictures.shape(0), 1, 1 << 16);
    require_planes("pictures", pictures, count, size);
    require_shape("number", number, frames, labels);
    require_planes("out", out, labels, size);
    require_positive("precision", precision);
    const std::int32_t* numbers = number.data();
    for (std::ptrdiff_t i = 0; i < std::ptrdiff_t(frames) * labels; ++i) {
        require(numbers[i] >= 0 && numbers[i] < count, "the number of no picture",
                "numbers of pictures");
    }
    threads = checked_threads(threads);
    const Reblur problem{measured.data(), pictures.data(), numbers, frames, labels, precision};
    nb::gil_scoped_release release;
    kernels().reblur(problem, size, out.data(), threads);
}

void compare(Image<const float> measured, Image<const float> pictures, Image<const double> radius,
             Vector<const double> radii, Image<float> off, Image<std::int32_t> nearest,
             int threads) {
    const Size size = image_size(measured);
    const int count = checked_count("radii", radii.shape(0), 2, 1 << 16);
    require_shape("pictures", pictures, count, size.width);
    require_image("radius", radius, size);
    require_image("off", off, size);
    require_image("nearest", nearest, size);
    require(radii.data()[0] == 0.0, "a first radius other than 0", "radii that begin with 0");
    for (int j = 1; j < count; ++j) {
        require(std::isfinite(radii.data()[j]) && radii.data()[j] > radii.data()[j - 1],
                "radii that do not grow", "growing ones");
    }
    for (std::ptrdiff_t i = 0; i < size.pixels(); ++i) {
        require(radius.data()[i] >= 0.0, "a negative radius", "radii of at least 0");
    }
    threads = checked_threads(threads);
    const Comparison problem{measured.data(), pictures.data(), radius.data(), radii.data(),
                             size.height,     count,           size.width};
    nb::gil_scoped_release release;
    kernels().compare(problem, off.data(), nearest.data(), threads);
}

void vote(Image<const float> depth, Image<const float> trust, Image<const float> picture,
          Image<const std::uint8_t> asked, Image<const float> closeness, int labels, int kin,
          float per_frame, float precision, float alike, float clear, Image<float> out, int threads) {
    const Size size = image_size(depth);
    require_image("trust", trust, size);
    require_image("picture", picture, size);
    require_image("asked", asked, size);
    require_image("out", out, size);
    require(out.data() != depth.data(), "out = depth", "out apart from depth");
    const int side = checked_count("rows of weights", closeness.shape(0), 1, 2 * WIDEST_VOTE + 1);
    require(side % 2 == 1, "an even number of rows of weights", "an odd one");
    require_shape("closeness", closeness, side, side);
    require_within("labels", labels, 1, MOST_LABELS);
    require_within("kin", kin, 1, MOST_LABELS);
    require_positive("per_frame", per_frame);
    require_not_negative("precision", precision);
    require_not_negative("alike", alike);
    require_not_negative("clear", clear);
    threads = checked_threads(threads);
    const Vote problem{depth.data(), trust.data(), picture.data(), asked.data(), labels, side / 2,
                       kin,          per_frame,    precision,      alike,        clear};
    nb::gil_scoped_release release;
    kernels().vote(problem, closeness.data(), size, out.data(), threads);
}

void likeness(Planes<const float> picture, Image<const float> depth,
              Image<const std::uint8_t> sure, Image<const float> near, Image<const float> far,
              Image<const std::uint8_t> asked, Image<const float> closeness, float precision,
              float side, Planes<float> sums, int threads) {
    const Size size = image_size(depth);
    const int channels = checked_count("channels", picture.shape(2), 1, 4);
    require_shape("picture", picture, size.height, size.width, channels);
    require_image("sure", sure, size);
    require_image("near", near, size);
    require_image("far", far, size);
    require_image("asked", asked, size);
    require_planes("sums", sums, 6, size);
    const int rows = checked_count("rows of weights", closeness.shape(0), 1, 2 * WIDEST_VOTE + 1);
    require(rows % 2 == 1, "an even number of rows of weights", "an odd one");
    require_shape("closeness", closeness, rows, rows);
    require_not_negative("precision", precision);
    require_not_negative("side", side);
    threads = checked_threads(threads);
    const Likeness problem{picture.data(), channels,     depth.data(), near.data(), far.data(),
                           sure.data(),    asked.data(), rows / 2,     precision,   side};
    nb::gil_scoped_release release;
    kernels().likeness(problem, closeness.data(), size, sums.data(), threads);
}

void consensus(Image<const float> depth, Planes<const float> slopes, Planes<const float> picture,
               Image<const std::uint8_t> asked, Image<const float> closeness, int bins, float last,
               float precision, float alike, float apart, float clear, float enough,
               Image<float> out, int threads) {
    const Size size = image_size(depth);
    const int channels = checked_count("channels", picture.shape(2), 1, 4);
    require_shape("picture", picture, size.height, size.width, channels);
    require_planes("slopes", slopes, 2, size);
    require_image("asked", asked, size);
    require_image("out", out, size);
    require(out.data() != depth.data(), "out = depth", "out apart from depth");
    const int rows = checked_count("rows of weights", closeness.shape(0), 1, 2 * WIDEST_VOTE + 1);
    require(rows % 2 == 1, "an even number of rows of weights", "an odd one");
    require_shape("closeness", closeness, rows, rows);
    require_within("bins", bins, 2, MOST_LABELS);
    require_positive("last", last);
    require_not_negative("precision", precision);
    require_not_negative("alike", alike);
    require_not_negative("apart", apart);
    require_not_negative("clear", clear);
    require_not_negative("enough", enough);
    threads = checked_threads(threads);
    const Consensus problem{depth.data(), slopes.data(), picture.data(), channels,
                            asked.data(), rows / 2,      bins,           last,
                            precision,    alike,         apart,          clear,
                            enough};
    nb::gil_scoped_release release;
    kernels().consensus(problem, closeness.data(), size, out.data(), threads);
}

void segments(Planes<const float> picture, Vector<const double> grains,
              Vector<const std::int32_t> least, Planes<std::int32_t> labels) {
    const int channels = checked_count("channels", picture.shape(2), 1, 4);
    const Size size = image_size(picture);
    require(size.pixels() < (1 << 28), "a larger picture", "fewer than 2^28 pixels");
    const int count = checked_count("grains", grains.shape(0), 1, 64);
    require_shape("least", least, count);
    require_planes("labels", labels, count, size);
    for (int i = 0; i < count; ++i) require_not_negative("grain", grains.data()[i]);
    nb::gil_scoped_release release;
    kernels().segments(picture.data(), channels, size, grains.data(), least.data(), count,
                       labels.data());
}

void region_planes(Image<const float> depth, Image<const std::int32_t> label, int count,
             Image<const std::int32_t> offset, Vector<const float> away, float widest, double least,
             double tolerance, double stiff, int rounds, Image<float> out) {
    const Size size = image_size(depth);
    require_image("label", label, size);
    require_image("out", out, size);
    require_within("count", count, 1, int(size.pixels()));
    for (std::ptrdiff_t i = 0; i < size.pixels(); ++i) {
        require_within("label", label.data()[i], 0, count - 1);
    }
    const int offsets = checked_count("offsets", offset.shape(0), 1, 1 << 12);
    require_shape("offset", offset, offsets, 2);
    require_shape("away", away, offsets);
    require(widest > 1.0f, "widest not above 1", "a number above 1");
    require_positive("least", least);
    require_positive("tolerance", tolerance);
    require_positive("stiff", stiff);
    require_iterations(rounds);
    const RegionPlanes problem{depth.data(), label.data(), count, offset.data(), away.data(), offsets,
                          widest,       least,        tolerance, stiff,     rounds};
    nb::gil_scoped_release release;
    kernels().region_planes(problem, size, out.data());
}

void fill_depth(Image<const float> d, Image<const float> weight, Image<const float> most,
                float bend, float step, Image<float> u, Planes<float> v, int iterations,
                int threads) {
    const Size size = image_size(d);
    require_image("weight", weight, size);
    require_image("most", most, size);
    require_image("u", u, size);
    require_planes("v", v, 2, size);
    require(u.data() != d.data(), "u = d", "u apart from d");
    require_positive("bend", bend);
    require_positive("step", step);
    require_iterations(iterations);
    threads = checked_threads(threads);
    const Filling problem{d.data(), weight.data(), most.data(), bend, step};
    nb::gil_scoped_release release;
    kernels().fill_depth(problem, u.data(), v.data(), size, iterations, threads);
}

void confine(Planes<float> cost, int labels, Image<const float> low, Image<const float> high,
             Image<const float> centre, Image<const float> trust, float per_width, float pull,
             float scale, int threads) {
    const Size size = image_size(cost);
    require_labels(labels, cost.shape(2), 1);
    require_image("low", low, size);
    require_image("high", high, size);
    require_image("centre", centre, size);
    require_image("trust", trust, size);
    require_positive("per_width", per_width);
    require_not_negative("pull", pull);
    require_positive("scale", scale);
    threads = checked_threads(threads);
    const Confinement how{low.data(), high.data(), centre.data(), trust.data(),
                          per_width,  pull,        scale};
    nb::gil_scoped_release release;
    kernels().confine(how, labels, int(cost.shape(2)), cost.data(), size, threads);
}

}  // namespace

void define_explain(nb::module_& m) {
    m.def("reblur", &reblur, array("measured"), array("pictures"), array("number"), "precision"_a,
          array("out"), "threads"_a);
    m.def("compare", &compare, array("measured"), array("pictures"), array("radius"),
          array("radii"), array("off"), array("nearest"), "threads"_a);
    m.def("vote", &vote, array("depth"), array("trust"), array("picture"), array("asked"),
          array("closeness"), "labels"_a, "kin"_a, "per_frame"_a, "precision"_a, "alike"_a, "clear"_a,
          array("out"), "threads"_a);
    m.def("likeness", &likeness, array("picture"), array("depth"), array("sure"), array("near"),
          array("far"), array("asked"), array("closeness"), "precision"_a, "side"_a, array("sums"),
          "threads"_a);
    m.def("consensus", &consensus, array("depth"), array("slopes"), array("picture"),
          array("asked"), array("closeness"), "bins"_a, "last"_a, "precision"_a, "alike"_a, "apart"_a,
          "clear"_a, "enough"_a, array("out"), "threads"_a);
    m.def("segments", &segments, array("picture"), array("grains"), array("least"),
          array("labels"));
    m.def("region_planes", &region_planes, array("depth"), array("label"), "count"_a, array("offset"),
          array("away"), "widest"_a, "least"_a, "tolerance"_a, "stiff"_a, "rounds"_a, array("out"));
    m.def("fill_depth", &fill_depth, array("d"), array("weight"), array("most"), "bend"_a, "step"_a,
          array("u"), array("v"), "iterations"_a, "threads"_a);
    m.def("confine", &confine, array("cost"), "labels"_a, array("low"), array("high"),
          array("centre"), array("trust"), "per_width"_a, "pull"_a, "scale"_a, "threads"_a);
}

}  // namespace bind
}  // namespace varfocus
