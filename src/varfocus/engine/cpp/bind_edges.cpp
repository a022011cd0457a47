// The layered rendering of patches, for the edge stage, one thread each: see kernels/edges.cpp; and
// the closest pixel of a mask.

#include "bind.hpp"

namespace varfocus {
namespace bind {
namespace {

using Labels = Image<const std::int32_t>;

EdgeConstants edge_constants(float no_blur, float reach, float opaque, float continued, float wider,
                             float faint, float covered) {
    require_positive("no_blur", no_blur);
    require_number("reach", reach, reach > 0.0f && reach <= 10.0f, "more than 0, at most 10");
    require_positive("opaque", opaque);
    require_number("continued", continued, continued > 0.0f && continued < 1e3f,
                   "0 to 1000 pixels");
    require_number("wider", wider, wider >= 0.0f, "0 or more");
    require_positive("faint", faint);
    require_positive("covered", covered);
    return {no_blur, reach, opaque, continued, wider, faint, covered};
}

EdgePatch edge_patch(const Volumes<const float>& frames, const Labels& label, const Labels& near,
                     const Labels& far, const Image<const float>& sigma,
                     const EdgeConstants& constants) {
    const Size size = image_size(label);
    require_image("near", near, size);
    require_image("far", far, size);
    const int count = checked_count("frames", frames.shape(0), 1, LONGEST_SIDE);
    const int channels = checked_count("channels", frames.shape(1), 1, 4);
    require_shape("frames", frames, count, channels, size.height, size.width);
    const int layers = checked_count("layers", sigma.shape(1), 1, LONGEST_SIDE);
    require_shape("sigma", sigma, count, layers);
    for (std::size_t i = 0; i < sigma.shape(0) * sigma.shape(1); ++i) {
        const float value = sigma.data()[i];
        require_number("sigma", value, value >= 0.0f && value < 1e4f, "0 to 10000 pixels");
    }
    for (const Labels* map : {&label, &near, &far}) {
        for (std::ptrdiff_t i = 0; i < size.pixels(); ++i) {
            const std::int32_t value = map->data()[i];
            if (value < 0 || value >= layers) require_within("layer", value, 0, layers - 1);
        }
    }
    return {frames.data(), count,        channels, label.data(), near.data(),
            far.data(),    sigma.data(), layers,   size,         constants};
}

void edge_judge(Volumes<const float> frames, Labels label, Labels near, Labels far,
                Image<const float> sigma, const EdgeConstants& constants, float tau2, float sharp,
                Image<float> change, Image<float> error, Planes<float> colour) {
    const EdgePatch patch = edge_patch(frames, label, near, far, sigma, constants);
    require_image("change", change, patch.size);
    require_image("error", error, patch.size);
    require_planes("colour", colour, patch.channels, patch.size);
    require_positive("tau2", tau2);
    nb::gil_scoped_release release;
    kernels().edge_judge(patch, tau2, sharp, change.data(), error.data(), colour.data());
}

void edge_plain_error(Volumes<const float> frames, Labels label, Labels near, Labels far,
                      Image<const float> sigma, const EdgeConstants& constants, float tau2,
                      Image<float> error) {
    const EdgePatch patch = edge_patch(frames, label, near, far, sigma, constants);
    require_image("error", error, patch.size);
    require_positive("tau2", tau2);
    nb::gil_scoped_release release;
    kernels().edge_plain_error(patch, tau2, error.data());
}

void edge_convolve(Planes<const float> planes, Vector<const float> taps, Planes<float> out) {
    const Size size = size_of(planes.shape(1), planes.shape(2));
    const int count = checked_count("planes", planes.shape(0), 1, LONGEST_SIDE);
    const int taps_count = checked_count("taps", taps.shape(0), 1, LONGEST_SIDE);
    require_planes("out", out, count, size);
    require(out.data() != planes.data(), "out = planes", "an output apart from the input");
    require(taps_count % 2 == 1, "an even number of taps", "an odd one");
    nb::gil_scoped_release release;
    kernels().edge_convolve(planes.data(), count, taps.data(), taps_count, out.data(), size);
}

void closest(Image<const std::uint8_t> mask, Image<const float> rank, int reach,
             Image<float> distance, Image<std::int64_t> place, int threads) {
    const Size size = image_size(mask);
    require_image("rank", rank, size);
    require_image("distance", distance, size);
    require_image("place", place, size);
    require_within("reach", reach, 0, int(LONGEST_SIDE));
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().closest(mask.data(), rank.data(), reach, size, distance.data(), place.data(),
                      threads);
}

}  // namespace

void define_edges(nb::module_& m) {
    nb::class_<EdgeConstants>(m, "EdgeConstants")
        .def(nb::new_(&edge_constants), nb::kw_only(), "no_blur"_a, "reach"_a, "opaque"_a,
             "continued"_a, "wider"_a, "faint"_a, "covered"_a);
    m.def("closest", &closest, array("mask"), array("rank"), "reach"_a, array("distance"),
          array("place"), "threads"_a);
    m.def("edge_convolve", &edge_convolve, array("planes"), array("taps"), array("out"));
    m.def("edge_judge", &edge_judge, array("frames"), array("label"), array("near"), array("far"),
          array("sigma"), "constants"_a, "tau2"_a, "sharp"_a, array("change"), array("error"),
          array("colour"));
    m.def("edge_plain_error", &edge_plain_error, array("frames"), array("label"), array("near"),
          array("far"), array("sigma"), "constants"_a, "tau2"_a, array("error"));
}

}  // namespace bind
}  // namespace varfocus
