// Primal-dual iterations on sampled curves with the Huber total variation.
//
// Of every pixel's curve the sixteen samples around its first guess are at hand, as 16-bit numbers:
// the whole volume would have to come from memory in every iteration. Temporal blocking as in
// primal_dual.cpp; step i moves row i of d, then row i − 1 of p.

#include "blocks.hpp"
#include "set.hpp"
#include "sums.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int MOST_STAGES = 8;
constexpr std::ptrdiff_t CACHE_BYTES = 800 * 1024;
constexpr int ROWS_PER_BLOCK = 32;
constexpr float TINY = 1e-20f;

struct Row {
    const std::uint16_t* samples;
    const float* scale;
    const std::int16_t* base;
    float step;
    int width;
};

struct Scratch {
    Buffer<float> rows;
    Buffer<std::int32_t> index;
    Buffer<std::uint16_t> near;  // four samples of each pixel
    std::size_t width;
    Scratch(int width_, int stages)
        : rows((4 + 2 * std::size_t(stages)) * (std::size_t(width_) + 1)),
          index(std::size_t(width_)),
          near(4 * std::size_t(width_)),
          width(std::size_t(width_) + 1) {}
    float* row(int number) { return rows.data() + std::size_t(number) * width; }
    float* ahead(int stage, int y) { return row(4 + 2 * stage + (y & 1)); }
};

// The four samples around d, and where d lies between the middle two.
VARFOCUS_INLINE void look_up(const Row& row, const float* VARFOCUS_RESTRICT d, float* VARFOCUS_RESTRICT t,
                             std::int32_t* VARFOCUS_RESTRICT index, std::uint16_t* near) {
    const float per_step = 1.0f / row.step;
    for (int x = 0; x < row.width; ++x) {
        const float u = d[x] * per_step - float(row.base[x]);
        std::int32_t i = std::int32_t(u);
        i = i < 0 ? 0 : i;
        i = i > WINDOW - 4 ? WINDOW - 4 : i;
        index[x] = i;
        t[x] = u - float(i);
    }
    for (int x = 0; x < row.width; ++x) {
        memcpy(near + 4 * x, row.samples + std::ptrdiff_t(x) * WINDOW + index[x], 8);
    }
}

// C′ and C″ at d.
VARFOCUS_INLINE void slopes(const Row& row, const float* d, Scratch& scratch,
                            float* VARFOCUS_RESTRICT first, float* VARFOCUS_RESTRICT second) {
    float* VARFOCUS_RESTRICT t = scratch.row(3);
    const std::uint16_t* VARFOCUS_RESTRICT near = scratch.near.data();
    look_up(row, d, t, scratch.index.data(), scratch.near.data());
    const float per_step = 1.0f / row.step;
    for (int x = 0; x < row.width; ++x) {
        const float a = near[4 * x], b = near[4 * x + 1], c = near[4 * x + 2], e = near[4 * x + 3];
        const float square = 2.0f * (a - 2.5f * b + 2.0f * c - 0.5f * e);
        const float cube = 3.0f * (1.5f * (b - c) + 0.5f * (e - a));
        const float unit = row.scale[x] * per_step;
        first[x] = unit * (0.5f * (c - a) + t[x] * (square + t[x] * cube));
        second[x] = unit * per_step * (square + 2.0f * t[x] * cube);
    }
}

// d ← clip(d − (C′ + Kᵀp) / (8σ + |C″|)), and 2d_new − d_old.
void move_d(const Row& row, float sigma, float* VARFOCUS_RESTRICT d,
            const float* VARFOCUS_RESTRICT p_x, const float* VARFOCUS_RESTRICT p_y,
            const float* VARFOCUS_RESTRICT p_above, Scratch& scratch,
            float* VARFOCUS_RESTRICT ahead) {
    const int width = row.width;
    float* VARFOCUS_RESTRICT force = scratch.row(0);
    const float *VARFOCUS_RESTRICT first = scratch.row(1), *VARFOCUS_RESTRICT second = scratch.row(2);
    force[0] = -p_x[0] - p_y[0];
    for (int x = 1; x < width; ++x) force[x] = (p_x[x - 1] - p_x[x]) - p_y[x];
    if (p_above != nullptr) {
        for (int x = 0; x < width; ++x) force[x] += p_above[x];
    }
    slopes(row, d, scratch, scratch.row(1), scratch.row(2));
    const float floor = 8.0f * sigma;
    for (int x = 0; x < width; ++x) {
        const float bend = second[x] < 0.0f ? -second[x] : second[x];
        const float moved = d[x] - (first[x] + force[x]) / (floor + bend);
        const float low = row.step * float(row.base[x]);
        const float high = row.step * float(row.base[x] + (WINDOW - 3));
        const float clipped = smaller(larger(moved, low), high);
        ahead[x] = 2.0f * clipped - d[x];
        d[x] = clipped;
    }
    ahead[width] = ahead[width - 1];  // no difference across the right border
}

// p ← project((p + σK(ahead)) / (1 + σε/αw), αw); at the bottom `below` is `ahead` itself.
void move_p(const HuberProblem& problem, const float* VARFOCUS_RESTRICT weight, int width,
            const float* ahead, const float* below, float* VARFOCUS_RESTRICT p_x,
            float* VARFOCUS_RESTRICT p_y) {
    const float sigma = problem.sigma, softening = sigma * problem.epsilon;
    for (int x = 0; x < width; ++x) {
        const float radius = larger(problem.alpha * weight[x], TINY);
        const float fade = radius / (radius + softening);
        const float q_x = fade * (p_x[x] + sigma * (ahead[x + 1] - ahead[x]));
        const float q_y = fade * (p_y[x] + sigma * (below[x] - ahead[x]));
        const float length = square_root(q_x * q_x + q_y * q_y);
        const float factor = radius / larger(length, radius);
        p_x[x] = q_x * factor;
        p_y[x] = q_y * factor;
    }
}

Row row_of(const HuberProblem& problem, Size size, int y) {
    const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width;
    return {problem.windows.samples + at * WINDOW, problem.windows.scale + at,
            problem.windows.base + at, problem.step, size.width};
}

void step(const HuberProblem& problem, float* d, float* p, Size size, int i, int stage,
          Scratch& scratch) {
    const std::ptrdiff_t at = std::ptrdiff_t(i) * size.width;
    float *p_x = p + at, *p_y = p + size.pixels() + at;
    if (i < size.height) {
        move_d(row_of(problem, size, i), problem.sigma, d + at, p_x, p_y,
               i > 0 ? p_y - size.width : nullptr, scratch, scratch.ahead(stage, i));
    }
    if (i > 0) {
        const float* ahead = scratch.ahead(stage, i - 1);
        move_p(problem, problem.weight + at - size.width, size.width, ahead,
               i < size.height ? scratch.ahead(stage, i) : ahead, p_x - size.width,
               p_y - size.width);
    }
}

int stages_for(Size size) {
    const std::ptrdiff_t row_bytes = std::ptrdiff_t(size.width) * (2 * WINDOW + 2 + 4 * 7);
    const std::ptrdiff_t fit = CACHE_BYTES / row_bytes - 2;
    // Rows too long for that live in the next cache, which has room for all stages.
    return fit < 3 ? MOST_STAGES : int(fit < MOST_STAGES ? fit : MOST_STAGES);
}

// C(d) less its offset, and w φ_ε(|Kd|), of one row; `below` is `d` itself at the bottom.
void terms_of_row(const HuberProblem& problem, const Row& row, const float* weight, const float* d,
                  const float* below, Scratch& scratch, float* VARFOCUS_RESTRICT value,
                  float* VARFOCUS_RESTRICT variation) {
    float* VARFOCUS_RESTRICT t = scratch.row(3);
    const std::uint16_t* VARFOCUS_RESTRICT near = scratch.near.data();
    look_up(row, d, t, scratch.index.data(), scratch.near.data());
    for (int x = 0; x < row.width; ++x) {
        const float a = near[4 * x], b = near[4 * x + 1], c = near[4 * x + 2], e = near[4 * x + 3];
        const float square = a - 2.5f * b + 2.0f * c - 0.5f * e;
        const float cube = 1.5f * (b - c) + 0.5f * (e - a);
        value[x] = row.scale[x] * (b + t[x] * (0.5f * (c - a) + t[x] * (square + t[x] * cube)));
    }
    const float epsilon = problem.epsilon, half = 0.5f / larger(epsilon, TINY);
    for (int x = 0; x < row.width; ++x) {
        const float across = x + 1 < row.width ? d[x + 1] - d[x] : 0.0f;
        const float down = below[x] - d[x];
        const float length = square_root(across * across + down * down);
        const float gentle = half * length * length, steep = length - 0.5f * epsilon;
        variation[x] = weight[x] * (length <= epsilon ? gentle : steep);
    }
}

void huber_primal_dual(const HuberProblem& problem, float* d, float* p, int iterations, Size size,
                       int threads) {
    if (iterations < 1) return;
    const int stages = smaller(stages_for(size), iterations);
    run_sweeps(
        iterations, stages, size.height + 1, threads, [&] { return Scratch(size.width, stages); },
        [&](int i, int stage, Scratch& scratch) { step(problem, d, p, size, i, stage, scratch); });
}

EnergyTerms huber_terms(const HuberProblem& problem, const float* d, Size size, int threads) {
    const int blocks = (size.height + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    Buffer<EnergyTerms> sums(static_cast<std::size_t>(blocks), EnergyTerms{});
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int block, int first, int end) {
        Scratch scratch(size.width, 0);
        EnergyTerms& sum = sums[std::size_t(block)];
        for (int y = first; y < end; ++y) {
            const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width;
            const float *here = d + at, *below = y + 1 < size.height ? here + size.width : here;
            terms_of_row(problem, row_of(problem, size, y), problem.weight + at, here, below,
                         scratch, scratch.row(0), scratch.row(1));
            sum.data += problem.windows.offsets[y] + row_sum(scratch.row(0), size.width);
            sum.tv += row_sum(scratch.row(1), size.width);
        }
    });
    EnergyTerms all{};
    for (const EnergyTerms& sum : sums) {
        all.data += sum.data;
        all.tv += sum.tv;
    }
    return all;
}

}  // namespace

void enter_huber(Kernels& table) {
    table.huber_primal_dual = huber_primal_dual;
    table.huber_terms = huber_terms;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
