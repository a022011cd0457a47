// Threads that live as long as one kernel call and sleep while they wait.
//
// A thread costs some 20 µs to start, little against a kernel; in return nothing spins on a busy
// machine, nothing survives a fork, and no pool has to be shut down. All of it is compiled once, for
// any machine: kernels reach it through plain functions (kernels/blocks.hpp).
#pragma once

namespace varfocus {

// Calls `work(context)` on up to `threads` threads at once, this one included, and waits for all.
// `work` must share the work out itself: if a thread cannot be started, the others do more.
void run_on(int threads, void (*work)(const void* context), const void* context);

// Hands out 0, 1, 2, … to whoever asks, each number once.
class Counter {
  public:
    Counter();
    ~Counter();
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;
    int next();

  private:
    struct State;
    State* state_;
};

// How many steps each of several sweeps has finished, and who waits for it: at most one follower.
class Progress {
  public:
    explicit Progress(int sweeps);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void publish(int sweep, int steps);

    // Returns once a sweep has done `steps`; `all` is how many there will ever be. Who has to sleep
    // for it sleeps until its leader is `comfort` steps further: waking costs as much as some work.
    void wait_for(int sweep, int steps, int all, int comfort);

  private:
    struct Sweep;
    Sweep* sweeps_;
};

}  // namespace varfocus
