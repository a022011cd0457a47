// Semi-global matching, half the paths at a time, in cost volumes (H, W, labels).
//
// One sweep down the image carries four of the eight paths: from the left, and from the three
// pixels above. The same sweep over the image turned by half a turn carries the other four. Of the
// path costs only the last row is kept. A thread takes one row; the next row follows two pixels
// behind, which is as much as the path from the upper right needs.

#include "blocks.hpp"
#include "lanes.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int PIXELS_PER_STEP = 32;
constexpr int COMFORT = 3;  // steps a sleeper lets its leader get ahead
constexpr int ABOVE = 3;    // paths that come from the row above
constexpr int PATHS = ABOVE + 1;
constexpr int AHEAD = 3;    // pixels by which memory is asked for what a sweep upward needs next

// Path costs of all pixels of a row, a guard of absent labels around each.
struct PathRow {
    Buffer<float> costs;
    Buffer<float> floors;
    std::ptrdiff_t length;
    int width;

    PathRow(int width_, int stride)
        : costs(std::size_t(ABOVE * width_) * std::size_t(stride + LANES) + LANES, NO_LABEL),
          floors(std::size_t(ABOVE * width_)),
          length(stride + LANES),
          width(width_) {}
    float* at(int path, int x) {
        return costs.data() + LANES + (std::ptrdiff_t(path) * width + x) * length;
    }
    float& floor(int path, int x) { return floors[std::size_t(path * width + x)]; }
};

// Where a path comes from: its costs there, the least of them, and the penalty of any jump.
struct Source {
    const float* costs;
    float floor, jump;
};

// A number that is added and taken off again leaves a multiple of 2⁻¹⁴: sums of these have no
// rounding, so they do not depend on the order of the paths, which a mirrored image reverses.
constexpr float COARSE = 768.0f;

// new ← C + min(L, L(l ± 1) + P₁, min L + P₂) − min L of four paths; their sum goes into `total`.
//
// The path along the row was stored a moment ago, by vectors: loading it one label aside would have
// to wait until these stores are done. Its neighbours are shifted from whole vectors instead.
template <bool ADD>
void step_of(const float* cost, int stride, float p1, const Source* source, float* const* target,
             float* floors, float* total) {
    Lanes low[PATHS], before, along, coarse;
    for (int i = 0; i < PATHS; ++i) fill(low[i], NO_LABEL);
    fill(coarse, COARSE);
    load(source[ABOVE].costs - LANES, before);
    load(source[ABOVE].costs, along);
    for (int l = 0; l < stride; l += LANES) {
        Lanes here, sum = {};
        load(cost + l, here);
        if (ADD) load(total + l, sum);
#pragma GCC unroll 4
        for (int i = 0; i < PATHS; ++i) {
            const float* from = source[i].costs + l;
            Lanes best, beside, other, jump;
            if (i < ABOVE) {
                load(from, best);
                load(from - 1, beside);
                load(from + 1, other);
            } else {
                Lanes after;
                load(from + LANES, after);
                best = along;
                left_of(before, along, beside);
                right_of(along, after, other);
                before = along;
                along = after;
            }
            keep_smaller(beside, other);
            keep_smaller(best, beside + p1);
            fill(jump, source[i].floor + source[i].jump);
            keep_smaller(best, jump);
            const Lanes reached = here + (best - source[i].floor);
            store(reached, target[i] + l);
            keep_smaller(low[i], reached);
            sum = sum + ((reached + coarse) - coarse);
        }
        if (total != nullptr) store(sum, total + l);
    }
    for (int i = 0; i < PATHS; ++i) floors[i] = lowest_lane(low[i]);
}

// The sweep over one band of rows; `row` and `x` count in the direction of the sweep.
class Sweep {
  public:
    Sweep(const SemiGlobal& problem, Size size)
        : problem_(problem), size_(size), rows_{PathRow(size.width, problem.stride),
                                                PathRow(size.width, problem.stride)},
          nothing_(std::size_t(problem.stride + 2 * LANES), 0.0f) {}

    bool enters() const { return problem_.entering != nullptr; }

    void enter() {
        PathRow& before = rows_[1];
        for (int path = 0; path < ABOVE; ++path) {
            for (int x = 0; x < size_.width; ++x) {
                const float* from = problem_.entering + offset(path, x);
                copy_to(before.at(path, x), from, problem_.stride);
                float least = from[0];
                for (int l = 1; l < problem_.stride; ++l) least = smaller(least, from[l]);
                before.floor(path, x) = least;
            }
        }
    }

    void leave() {
        if (problem_.leaving == nullptr) return;
        PathRow& last = rows_[(size_.height - 1) & 1];
        for (int path = 0; path < ABOVE; ++path) {
            for (int x = 0; x < size_.width; ++x) {
                const float* from = last.at(path, x);
                copy_to(problem_.leaving + offset(path, x), from, problem_.stride);
            }
        }
    }

    // Pixels first … end − 1 of one row; `beside` holds the two latest costs of the path along it.
    void pixels(int row, int first, int end, PathRow& beside) {
        PathRow &now = rows_[row & 1], &before = rows_[(row + 1) & 1];
        const bool border = row == 0 && !enters();
        const float *jump = jump_row(row), *jump_before = border ? jump : jump_row(row - 1);
        const Source none{nothing_.data() + LANES, 0.0f, 0.0f};
        for (int x = first; x < end; ++x) {
            const float here = jump[column(x)];
            Source source[PATHS];
            float* target[PATHS];
            for (int path = 0; path < ABOVE; ++path) {
                const int from = x + path - 1;
                const bool begins = border || from < 0 || from >= size_.width;
                source[path] = begins ? none
                                      : Source{before.at(path, from), before.floor(path, from),
                                               larger(here, jump_before[column(from)])};
                target[path] = now.at(path, x);
            }
            source[ABOVE] = x == 0 ? none
                                   : Source{beside.at(0, (x + 1) & 1), beside.floor(0, (x + 1) & 1),
                                            larger(here, jump[column(x - 1)])};
            target[ABOVE] = beside.at(0, x & 1);
            float floors[PATHS];
            const std::ptrdiff_t at =
                (std::ptrdiff_t(line(row)) * size_.width + column(x)) * problem_.stride;
            float* total = problem_.total == nullptr ? nullptr : problem_.total + at;
            if (problem_.upward && at >= AHEAD * problem_.stride) {
                prefetch(problem_.cost + at - AHEAD * problem_.stride, problem_.stride);
                if (total != nullptr) prefetch(total - AHEAD * problem_.stride, problem_.stride);
            }
            (problem_.upward ? step_of<true> : step_of<false>)(
                problem_.cost + at, problem_.stride, problem_.p1, source, target, floors, total);
            for (int path = 0; path < ABOVE; ++path) now.floor(path, x) = floors[path];
            beside.floor(0, x & 1) = floors[ABOVE];
        }
    }

  private:
    int line(int row) const { return problem_.upward ? size_.height - 1 - row : row; }
    int column(int x) const { return problem_.upward ? size_.width - 1 - x : x; }
    const float* jump_row(int row) const {
        return problem_.jump + std::ptrdiff_t(problem_.first_row + line(row)) * size_.width;
    }
    std::ptrdiff_t offset(int path, int x) const {
        return (std::ptrdiff_t(path) * size_.width + x) * problem_.stride;
    }

    const SemiGlobal& problem_;
    Size size_;
    PathRow rows_[2];
    Buffer<float> nothing_;
};

void semi_global(const SemiGlobal& problem, Size size, int threads) {
    Sweep sweep(problem, size);
    if (sweep.enters()) sweep.enter();
    const int steps = (size.width + PIXELS_PER_STEP - 1) / PIXELS_PER_STEP;
    Progress progress(size.height);
    Counter taken;
    // Two rows of path costs are enough for any number of threads: a row overwrites only what the
    // row before it, two pixels ahead at least, has read.
    run_on(smaller(threads, size.height), [&] {
        PathRow beside(2, problem.stride);
        for (int row = taken.next(); row < size.height; row = taken.next()) {
            for (int step = 0; step < steps; ++step) {
                if (row > 0) {
                    progress.wait_for(row - 1, smaller(step + 2, steps), steps, COMFORT);
                }
                sweep.pixels(row, step * PIXELS_PER_STEP,
                             smaller(size.width, (step + 1) * PIXELS_PER_STEP), beside);
                progress.publish(row, step + 1);
            }
        }
    });
    sweep.leave();
}

}  // namespace

void enter_semi_global(Kernels& table) {
    table.semi_global = semi_global;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
