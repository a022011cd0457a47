// The steps of a Laplacian pyramid and of the fused image.

#include "bind.hpp"

namespace varfocus {
namespace bind {
namespace {

constexpr std::size_t MOST_CHANNELS = 16;

// Channels of a fine image (H, W, C), whose coarse partner has half its size.
template <class A>
int checked_pair(const A& coarse, Size size, std::size_t channels) {
    const int count = checked_count("channels", channels, 1, MOST_CHANNELS);
    require_shape("coarse", coarse, (size.height + 1) / 2, (size.width + 1) / 2, count);
    return count;
}

void reduce(Planes<const float> fine, Planes<float> coarse, int threads) {
    const Size size = image_size(fine);
    const int channels = checked_pair(coarse, size, fine.shape(2));
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().reduce(fine.data(), coarse.data(), size, channels, threads);
}

void add_expanded(Planes<const float> coarse, Planes<float> fine, float sign, int threads) {
    const Size size = image_size(fine);
    const int channels = checked_pair(coarse, size, fine.shape(2));
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().add_expanded(coarse.data(), fine.data(), sign, size, channels, threads);
}

void fusion_level(Planes<const float> coefficients, Image<const float> weight, int number,
                  float doubt, Image<const std::uint16_t> low, Image<const std::uint16_t> high,
                  Planes<float> blended, Planes<float> sharpest, Image<float> best,
                  Image<float> least, Image<std::uint16_t> chosen, int threads) {
    const Size size = image_size(coefficients);
    const int channels = checked_count("channels", coefficients.shape(2), 1, MOST_CHANNELS);
    require_shape("blended", blended, size.height, size.width, channels);
    require_shape("sharpest", sharpest, size.height, size.width, channels);
    require_image("weight", weight, size);
    require_image("low", low, size);
    require_image("high", high, size);
    require_image("best", best, size);
    require_image("least", least, size);
    require_image("chosen", chosen, size);
    require_within("frame number", number, 0, 65535);
    threads = checked_threads(threads);
    const FusionFrame frame{coefficients.data(), weight.data(), std::uint16_t(number), doubt};
    const FusionLevel level{low.data(),  high.data(),  blended.data(), sharpest.data(),
                            best.data(), least.data(), chosen.data()};
    nb::gil_scoped_release release;
    kernels().fusion_level(frame, level, size, channels, threads);
}

}  // namespace

void define_fusion(nb::module_& m) {
    m.def("reduce", &reduce, array("fine"), array("coarse"), "threads"_a);
    m.def("add_expanded", &add_expanded, array("coarse"), array("fine"), "sign"_a, "threads"_a);
    m.def("fusion_level", &fusion_level, array("coefficients"), array("weight"), "number"_a,
          "doubt"_a, array("low"), array("high"), array("blended"), array("sharpest"),
          array("best"), array("least"), array("chosen"), "threads"_a);
}

}  // namespace bind
}  // namespace varfocus
