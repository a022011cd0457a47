// The two terms of the energy, without the temporaries of the array code.

#include "blocks.hpp"
#include "curve.hpp"
#include "set.hpp"
#include "sums.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int ROWS_PER_BLOCK = 32;

// `below` is the next row of d, or this row itself at the bottom.
EnergyTerms terms_of_row(const CurveRow& curve, const float* VARFOCUS_RESTRICT d,
                         const float* VARFOCUS_RESTRICT below, float* slope,
                         float* VARFOCUS_RESTRICT buffer) {
    const int width = curve.width;
    values_and_slopes(curve, d, buffer, slope);
    const double data = -row_sum(buffer, width);
    for (int x = 0; x < width; ++x) buffer[x] = (below[x] - d[x]) * (below[x] - d[x]);
    for (int x = 0; x + 1 < width; ++x) {
        buffer[x] = square_root((d[x + 1] - d[x]) * (d[x + 1] - d[x]) + buffer[x]);
    }
    buffer[width - 1] = square_root(buffer[width - 1]);
    return {data, row_sum(buffer, width)};
}

EnergyTerms energy_terms(const float* a, int degree, const float* d, float* slope, Size size,
                         int threads) {
    const int blocks = (size.height + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    Buffer<EnergyTerms> terms(static_cast<std::size_t>(blocks), EnergyTerms{});
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int block, int first, int end) {
        Buffer<float> scratch(2 * std::size_t(size.width));
        for (int y = first; y < end; ++y) {
            const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width;
            const CurveRow curve{a + at, size.pixels(), degree, size.width};
            const EnergyTerms row = terms_of_row(
                curve, d + at, y + 1 < size.height ? d + at + size.width : d + at,
                slope ? slope + at : scratch.data() + size.width, scratch.data());
            terms[std::size_t(block)].data += row.data;
            terms[std::size_t(block)].tv += row.tv;
        }
    });
    EnergyTerms all{};
    for (const EnergyTerms& block : terms) all.data += block.data, all.tv += block.tv;
    return all;
}

}  // namespace

void enter_energy(Kernels& table) {
    table.energy_terms = energy_terms;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
