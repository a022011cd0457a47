// What the cells of two images need to tell motion from defocus: products of eight features.
//
// A row of cells at a time. Products are added up down the columns, for all columns at once, and
// then across the columns of each cell.

#include "blocks.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int FEATURES = CELL_FEATURES;
constexpr int EDGE = CELL_EDGE;
constexpr int PAIRS = FEATURES * (FEATURES + 1) / 2;

// Rows of S, its Laplacian and the features of one row of cells, whose columns are side by side.
struct Band {
    Buffer<float> sharp, bend, features, mean, sums;
    Band(int side, int width, int columns)
        : sharp(std::size_t(side + 2 * EDGE) * std::size_t(width)),
          bend(std::size_t(side + 2) * std::size_t(width)),
          features(std::size_t(FEATURES * side) * std::size_t(columns)),
          mean(std::size_t(columns)),
          sums(std::size_t(PAIRS) * std::size_t(columns)) {}
};

VARFOCUS_INLINE float laplacian(const float* at, std::ptrdiff_t width) {
    return at[1] + at[-1] + at[width] + at[-width] - 4.0f * at[0];
}

// S = (F + M) / 2 and ∇²S, from the first row of the band on.
void smooth_and_bend(const float* F, const float* M, int side, int width, Band& band) {
    const std::ptrdiff_t count = std::ptrdiff_t(side + 2 * EDGE) * width;
    float* VARFOCUS_RESTRICT S = band.sharp.data();
    for (std::ptrdiff_t i = 0; i < count; ++i) S[i] = 0.5f * (F[i] + M[i]);
    for (int y = 0; y < side + 2; ++y) {
        float* VARFOCUS_RESTRICT to = band.bend.data() + std::ptrdiff_t(y) * width;
        const float* from = S + std::ptrdiff_t(y + 1) * width;
        to[0] = to[width - 1] = 0.0f;
        for (int x = 1; x < width - 1; ++x) to[x] = laplacian(from + x, width);
    }
}

void feature_rows(const float* F, const float* M, int y, int width, int columns, const Band& band,
                  float* VARFOCUS_RESTRICT out, std::ptrdiff_t apart) {
    const float* S = band.sharp.data() + std::ptrdiff_t(y + EDGE) * width + EDGE;
    const float* bend = band.bend.data() + std::ptrdiff_t(y + 1) * width + EDGE;
    const std::ptrdiff_t at = std::ptrdiff_t(y + EDGE) * width + EDGE;
    VARFOCUS_INDEPENDENT
    for (int x = 0; x < columns; ++x) {
        out[x] = 0.5f * (S[x + 1] - S[x - 1]);
        out[apart + x] = 0.5f * (S[x + width] - S[x - width]);
        out[2 * apart + x] = bend[x];
        out[3 * apart + x] = laplacian(bend + x, width);
        out[4 * apart + x] = 0.5f * (bend[x + 1] - bend[x - 1]);
        out[5 * apart + x] = 0.5f * (bend[x + width] - bend[x - width]);
        out[6 * apart + x] = S[x];
        out[7 * apart + x] = M[at + x] - F[at + x];
    }
}

// Takes the mean of each cell off a feature (side, columns).
void centre(float* feature, int side, int cells, Buffer<float>& mean) {
    const int columns = cells * side;
    float* VARFOCUS_RESTRICT total = mean.data();
    fill_with(total, columns, 0.0f);
    for (int y = 0; y < side; ++y) {
        const float* row = feature + std::ptrdiff_t(y) * columns;
        for (int x = 0; x < columns; ++x) total[x] += row[x];
    }
    const float share = 1.0f / float(side * side);
    for (int cell = 0; cell < cells; ++cell) {
        float sum = 0.0f;
        for (int x = 0; x < side; ++x) sum += total[cell * side + x];
        for (int x = 0; x < side; ++x) total[cell * side + x] = share * sum;
    }
    for (int y = 0; y < side; ++y) {
        float* VARFOCUS_RESTRICT row = feature + std::ptrdiff_t(y) * columns;
        for (int x = 0; x < columns; ++x) row[x] -= total[x];
    }
}

void row_of_cells(const float* F, const float* M, int side, int width, int cells, Band& band,
                  double* out) {
    const int columns = cells * side;
    const std::ptrdiff_t apart = std::ptrdiff_t(side) * columns;
    float* features = band.features.data();
    smooth_and_bend(F, M, side, width, band);
    for (int y = 0; y < side; ++y) {
        feature_rows(F, M, y, width, columns, band, features + std::ptrdiff_t(y) * columns, apart);
    }
    for (int i = 0; i < FEATURES; ++i) centre(features + i * apart, side, cells, band.mean);
    int pair = 0;
    for (int i = 0; i < FEATURES; ++i) {
        for (int j = i; j < FEATURES; ++j, ++pair) {
            float* VARFOCUS_RESTRICT sums = band.sums.data() + std::ptrdiff_t(pair) * columns;
            fill_with(sums, columns, 0.0f);
            for (int y = 0; y < side; ++y) {
                const float* one = features + i * apart + std::ptrdiff_t(y) * columns;
                const float* two = features + j * apart + std::ptrdiff_t(y) * columns;
                for (int x = 0; x < columns; ++x) sums[x] += one[x] * two[x];
            }
            for (int cell = 0; cell < cells; ++cell) {
                float sum = 0.0f;
                for (int x = 0; x < side; ++x) sum += sums[cell * side + x];
                double* to = out + std::ptrdiff_t(cell) * FEATURES * FEATURES;
                to[i * FEATURES + j] = to[j * FEATURES + i] = double(sum);
            }
        }
    }
}

void cell_products(const float* F, const float* M, int count, Size size, int side, double* out,
                   int threads) {
    const int down = (size.height - 2 * EDGE) / side, across = (size.width - 2 * EDGE) / side;
    const std::ptrdiff_t row = std::ptrdiff_t(across) * FEATURES * FEATURES;
    for_row_blocks(count, 1, threads, [&](int, int k, int) {
        Band band(side, size.width, across * side);
        for (int y = 0; y < down; ++y) {
            const std::ptrdiff_t at =
                k * size.pixels() + std::ptrdiff_t(y) * side * size.width;
            row_of_cells(F + at, M + at, side, size.width, across, band,
                         out + (std::ptrdiff_t(k) * down + y) * row);
        }
    });
}

}  // namespace

void enter_cells(Kernels& table) {
    table.cell_products = cell_products;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
