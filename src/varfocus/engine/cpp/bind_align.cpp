// Frames resampled and shrunk, and what their cells say, for the alignment.

#include "bind.hpp"

namespace varfocus {
namespace bind {
namespace {

template <class Pixel>
void warp(Planes<const Pixel> frame, Planes<Pixel> out, Image<const double> matrix,
          Image<const float> table, Vector<const float> gains, int threads) {
    const Size from = image_size(frame), to = image_size(out);
    const int channels = int(std::min(frame.shape(2), LONGEST_SIDE));
    const int taps = int(std::min(table.shape(1), LONGEST_SIDE));
    require(channels == 1 || channels == 3, "another number of channels", "1 or 3");
    require(taps == 2 || taps == 6, "a table of another number of taps", "2 or 6");
    require_shape("out", out, to.height, to.width, channels);
    require_shape("gains", gains, channels);
    require_shape("matrix", matrix, 3, 3);
    const int phases = checked_count("rows of the table", table.shape(0), 2, LONGEST_SIDE) - 1;
    threads = checked_threads(threads);
    const WarpView<Pixel> view{frame.data(), from,         to,   channels, matrix.data(),
                               table.data(), taps,         phases, gains.data()};
    nb::gil_scoped_release release;
    kernels_of<Pixel>().warp(view, out.data(), threads);
}

template <class Pixel>
void shrink(Planes<const Pixel> frame, Planes<float> out, int factor, float scale, int threads) {
    const Size from = image_size(frame);
    const int channels = checked_count("channels", frame.shape(2), 1, 4);
    require_within("factor", factor, 1, 256);
    require(from.height >= factor && from.width >= factor, "a frame smaller than a block",
            "at least one block");
    require_shape("out", out, from.height / factor, from.width / factor, channels);
    require_finite("scale", scale);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels_of<Pixel>().shrink(frame.data(), from, channels, factor, scale, out.data(), threads);
}

void cell_products(Planes<const float> F, Planes<const float> M, int side, Volumes<double> out,
                   int threads) {
    const Size size = size_of(F.shape(1), F.shape(2));
    const int count = checked_count("images", F.shape(0), 1, LONGEST_SIDE);
    require_planes("M", M, count, size);
    require_within("side", side, 1, LARGEST_CELL);
    const int down = (size.height - 2 * CELL_EDGE) / side;
    const int across = (size.width - 2 * CELL_EDGE) / side;
    require(down > 0 && across > 0, "images smaller than a cell with its edge", "larger ones");
    require_shape("out", out, count, std::ptrdiff_t(down) * across, CELL_FEATURES, CELL_FEATURES);
    threads = checked_threads(threads);
    nb::gil_scoped_release release;
    kernels().cell_products(F.data(), M.data(), count, size, side, out.data(), threads);
}

template <class Pixel>
void define_for(nb::module_& m) {
    m.def("warp", &warp<Pixel>, array("frame"), array("out"), array("matrix"), array("table"),
          array("gains"), "threads"_a);
    m.def("shrink", &shrink<Pixel>, array("frame"), array("out"), "factor"_a, "scale"_a,
          "threads"_a);
}

}  // namespace

void define_align(nb::module_& m) {
    define_for<std::uint8_t>(m);
    define_for<std::uint16_t>(m);
    define_for<float>(m);
    m.def("cell_products", &cell_products, array("F"), array("M"), "side"_a, array("out"),
          "threads"_a);
}

}  // namespace bind
}  // namespace varfocus
