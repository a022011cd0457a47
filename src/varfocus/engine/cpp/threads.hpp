// Threads that live as long as one kernel call and sleep while they wait.
//
// A thread costs some 20 µs to start, little against a kernel; in return nothing spins on a busy
// machine, nothing survives a fork, and no pool has to be shut down.
#pragma once

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace varfocus {

// Runs `work()` on up to `threads` threads at once, this one included, and waits for all.
// `work` must share the work out itself: if a thread cannot be started, the others do more.
template <class Work>
void run_on(int threads, const Work& work) {
    std::vector<std::thread> others;
    others.reserve(static_cast<std::size_t>(std::max(threads - 1, 0)));
    try {
        for (int t = 1; t < threads; ++t) others.emplace_back(std::cref(work));
    } catch (const std::system_error&) {
        // The system has no thread left to give.
    }
    work();
    for (auto& other : others) other.join();
}

// Calls `f(block, first_row, end_row)` for blocks of `rows_per_block` rows. The blocks, and so the
// result of any sum kept per block, do not depend on the number of threads.
template <class F>
void for_row_blocks(int rows, int rows_per_block, int threads, const F& f) {
    const int blocks = (rows + rows_per_block - 1) / rows_per_block;
    std::atomic<int> next{0};
    run_on(std::min(threads, blocks), [&] {
        for (int b = next++; b < blocks; b = next++) {
            f(b, b * rows_per_block, std::min(rows, (b + 1) * rows_per_block));
        }
    });
}

}  // namespace varfocus
