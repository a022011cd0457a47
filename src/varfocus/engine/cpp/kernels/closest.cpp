// The closest pixel of a mask: varfocus.edges.sides.closest.
//
// What is closest to a pixel is closest in its own column to where its row crosses that: so columns
// first, then rows.

#include <limits.h>

#include "blocks.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int NONE = INT_MAX;

// Row of the closest pixel of the mask in the same column, or NONE.
void in_columns(const std::uint8_t* mask, const float* rank, int reach, Size size, int* row) {
    const std::ptrdiff_t width = size.width;
    Buffer<int> seen(std::size_t(width), NONE);
    for (int y = 0; y < size.height; ++y) {
        for (std::ptrdiff_t x = 0; x < width; ++x) {
            if (mask[y * width + x]) seen[std::size_t(x)] = y;
            const int above = seen[std::size_t(x)];
            row[y * width + x] = above != NONE && y - above <= reach ? above : NONE;
        }
    }
    fill_with(seen.data(), width, NONE);
    for (int y = size.height - 1; y >= 0; --y) {
        for (std::ptrdiff_t x = 0; x < width; ++x) {
            if (mask[y * width + x]) seen[std::size_t(x)] = y;
            const int below = seen[std::size_t(x)], above = row[y * width + x];
            if (below == NONE || below - y > reach) continue;
            const int nearer = above == NONE ? 1 : (y - above) - (below - y);
            if (nearer < 0) continue;
            if (nearer == 0 && !(rank[below * width + x] > rank[above * width + x])) continue;
            row[y * width + x] = below;
        }
    }
}

void along_row(const float* rank, int reach, int y, int width, const int* row, float* distance,
               std::int64_t* place) {
    const std::int64_t first = std::int64_t(y) * width;
    bool any = false;
    for (int x = 0; x < width; ++x) any |= row[x] != NONE;
    for (int x = 0; x < width; ++x) {
        std::int64_t best = std::int64_t(reach) * reach + 1, at = first + x;
        const std::int64_t none = best;
        const auto ask = [&](int u) {
            if (row[u] == NONE) return;
            const std::int64_t down = row[u] - y, across = u - x;
            const std::int64_t away = down * down + across * across;
            const std::int64_t there = std::int64_t(row[u]) * width + u;
            if (away > best || away == none) return;
            if (away == best && !(rank[there] > rank[at])) return;
            best = away, at = there;
        };
        if (any) {
            ask(x);
            for (int step = 1; step <= reach && std::int64_t(step) * step <= best; ++step) {
                if (step <= x) ask(x - step);
                if (step < width - x) ask(x + step);
            }
        }
        distance[first + x] = best == none ? float(HUGE_VAL) : float(sqrt(double(best)));
        place[first + x] = at;
    }
}

void closest(const std::uint8_t* mask, const float* rank, int reach, Size size, float* distance,
             std::int64_t* place, int threads) {
    Buffer<int> row(std::size_t(size.pixels()));
    in_columns(mask, rank, reach, size, row.data());
    for_row_blocks(size.height, 16, threads, [&](int, int top, int end) {
        for (int y = top; y < end; ++y) {
            along_row(rank, reach, y, size.width, row.data() + std::ptrdiff_t(y) * size.width,
                      distance, place);
        }
    });
}

}  // namespace

void enter_closest(Kernels& table) { table.closest = closest; }

}  // namespace VARFOCUS_SET
}  // namespace varfocus
