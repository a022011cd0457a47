#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace varfocus {

void run_on(int threads, void (*work)(const void* context), const void* context) {
    std::vector<std::thread> others;
    others.reserve(static_cast<std::size_t>(std::max(threads - 1, 0)));
    try {
        for (int t = 1; t < threads; ++t) others.emplace_back(work, context);
    } catch (const std::system_error&) {
        // The system has no thread left to give.
    }
    work(context);
    for (auto& other : others) other.join();
}

struct Counter::State {
    std::atomic<int> next{0};
};
Counter::Counter() : state_(new State) {}
Counter::~Counter() { delete state_; }
int Counter::next() { return state_->next++; }

namespace {
constexpr int SPINS = 400;
constexpr int NOBODY = 1 << 30;
}  // namespace

struct Progress::Sweep {
    std::atomic<int> done{0}, wanted{NOBODY};
    std::mutex mutex;
    std::condition_variable wake;
};
Progress::Progress(int sweeps) : sweeps_(new Sweep[std::size_t(sweeps)]) {}
Progress::~Progress() { delete[] sweeps_; }

void Progress::publish(int sweep, int steps) {
    Sweep& one = sweeps_[sweep];
    one.done.store(steps);
    if (steps >= one.wanted.load()) {
        std::lock_guard<std::mutex> lock(one.mutex);
        one.wake.notify_one();
    }
}

void Progress::wait_for(int sweep, int steps, int all, int comfort) {
    Sweep& one = sweeps_[sweep];
    for (int spin = 0; spin < SPINS; ++spin) {
        if (one.done.load(std::memory_order_acquire) >= steps) return;
    }
    const int comfortable = std::min(steps + comfort, all);
    std::unique_lock<std::mutex> lock(one.mutex);
    one.wanted.store(comfortable);
    one.wake.wait(lock, [&] { return one.done.load() >= comfortable; });
    one.wanted.store(NOBODY);
}

}  // namespace varfocus
