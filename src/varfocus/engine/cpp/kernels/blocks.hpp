// Work shared out among threads: blocks of rows, and sweeps that follow one another.
#pragma once

#include "../threads.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {

// Runs `work()` on up to `threads` threads at once; it shares the work out itself.
template <class Work>
void run_on(int threads, const Work& work) {
    varfocus::run_on(
        threads, [](const void* context) { (*static_cast<const Work*>(context))(); }, &work);
}

// Calls `f(block, first_row, end_row)` for blocks of `rows_per_block` rows. The blocks, and so the
// result of any sum kept per block, do not depend on the number of threads.
template <class F>
void for_row_blocks(int rows, int rows_per_block, int threads, const F& f) {
    const int blocks = (rows + rows_per_block - 1) / rows_per_block;
    Counter taken;
    run_on(smaller(threads, blocks), [&] {
        for (int b = taken.next(); b < blocks; b = taken.next()) {
            f(b, b * rows_per_block, smaller(rows, (b + 1) * rows_per_block));
        }
    });
}

// The same with `f(block, first_row, end_row, scratch)`, where each thread makes a scratch of its own.
template <class MakeScratch, class F>
void for_row_blocks(int rows, int rows_per_block, int threads, const MakeScratch& make_scratch,
                    const F& f) {
    const int blocks = (rows + rows_per_block - 1) / rows_per_block;
    Counter taken;
    run_on(smaller(threads, blocks), [&] {
        auto scratch = make_scratch();
        for (int b = taken.next(); b < blocks; b = taken.next()) {
            f(b, b * rows_per_block, smaller(rows, (b + 1) * rows_per_block), scratch);
        }
    });
}

// Carries out `iterations` of a local iteration with temporal blocking: a thread takes up to
// `stages` iterations down the image at once, each one step behind the one before it, while the
// rows between them stay in its cache; the next thread follows with the next stages. Step i of an
// iteration needs step i + 1 of the one before, `step(i, stage, scratch)` does it, and everything
// sees the values it would see in plain sweeps.
template <class MakeScratch, class Step>
void run_sweeps(int iterations, int stages, int steps, int threads, const MakeScratch& make_scratch,
                const Step& step) {
    constexpr int COMFORT = 16;
    const int sweeps = (iterations + stages - 1) / stages;
    Progress progress(sweeps);
    Counter taken;
    // Sweeps are taken in order, so the sweep that one waits for is always under way or done.
    run_on(smaller(threads, sweeps), [&] {
        auto scratch = make_scratch();
        for (int sweep = taken.next(); sweep < sweeps; sweep = taken.next()) {
            const int depth = smaller(stages, iterations - sweep * stages);
            for (int front = 0; front < steps + depth - 1; ++front) {
                if (sweep > 0 && front < steps) {
                    progress.wait_for(sweep - 1, smaller(front + 2, steps), steps, COMFORT);
                }
                for (int stage = 0; stage < depth; ++stage) {
                    const int i = front - stage;
                    if (i >= 0 && i < steps) step(i, stage, scratch);
                }
                const int finished = front - (depth - 1) + 1;
                if (finished > 0) progress.publish(sweep, finished);
            }
        }
    });
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
