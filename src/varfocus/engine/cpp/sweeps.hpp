// Sweeps over an image that follow one another, each a few steps behind the one before it.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "threads.hpp"

namespace varfocus {

// How many steps a sweep has finished, and who waits for it: at most one follower.
class Progress {
  public:
    void publish(int steps) {
        done_.store(steps);
        if (steps >= wanted_.load()) {
            std::lock_guard<std::mutex> lock(mutex_);
            wake_.notify_one();
        }
    }

    // Returns once `steps` are done; `all` is how many there will ever be. Who has to sleep for it
    // sleeps until its leader is `comfort` steps further: waking costs as much as some work.
    void wait_for(int steps, int all, int comfort) {
        for (int spin = 0; spin < SPINS; ++spin) {
            if (done_.load(std::memory_order_acquire) >= steps) return;
        }
        const int comfortable = std::min(steps + comfort, all);
        std::unique_lock<std::mutex> lock(mutex_);
        wanted_.store(comfortable);
        wake_.wait(lock, [&] { return done_.load() >= comfortable; });
        wanted_.store(NOBODY);
    }

  private:
    static constexpr int SPINS = 400;
    static constexpr int NOBODY = 1 << 30;
    std::atomic<int> done_{0}, wanted_{NOBODY};
    std::mutex mutex_;
    std::condition_variable wake_;
};

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
    const std::unique_ptr<Progress[]> progress(new Progress[std::size_t(sweeps)]);
    std::atomic<int> next{0};
    // Sweeps are taken in order, so the sweep that one waits for is always under way or done.
    run_on(std::min(threads, sweeps), [&] {
        auto scratch = make_scratch();
        for (int sweep = next++; sweep < sweeps; sweep = next++) {
            const int depth = std::min(stages, iterations - sweep * stages);
            for (int front = 0; front < steps + depth - 1; ++front) {
                if (sweep > 0 && front < steps) {
                    progress[sweep - 1].wait_for(std::min(front + 2, steps), steps, COMFORT);
                }
                for (int stage = 0; stage < depth; ++stage) {
                    const int i = front - stage;
                    if (i >= 0 && i < steps) step(i, stage, scratch);
                }
                const int finished = front - (depth - 1) + 1;
                if (finished > 0) progress[sweep].publish(finished);
            }
        }
    });
}

}  // namespace varfocus
