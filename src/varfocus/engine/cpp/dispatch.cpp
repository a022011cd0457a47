#include "dispatch.hpp"

#include <atomic>

#include "kernels.hpp"

#if defined(_MSC_VER) && defined(_M_X64)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace varfocus {

// Each set has its table in a namespace of its own; VARFOCUS_SETS is a list of SET(name, lanes).
#define SET(name, lanes)             \
    namespace name {                 \
    void enter_all(Kernels& table); \
    }
VARFOCUS_SETS
#undef SET

namespace {

// What CMakeLists.txt lets the compiler use, and nothing else, is asked for here.
enum class Needs { nothing, avx2, avx512 };

#if defined(_MSC_VER) && defined(_M_X64)

bool runs_here(Needs needs) {
    if (needs == Needs::nothing) return true;
    int leaf1[4], leaf7[4];
    __cpuid(leaf1, 0);
    if (leaf1[0] < 7) return false;
    __cpuid(leaf1, 1);
    __cpuidex(leaf7, 7, 0);
    const auto has = [](int word, int bit) { return (unsigned(word) >> bit & 1u) != 0; };
    const bool saves = has(leaf1[2], 27), avx = has(leaf1[2], 28), fma = has(leaf1[2], 12);
    if (!saves || !avx || !fma) return false;
    const unsigned long long state = _xgetbv(0);
    const bool avx2 = (state & 0x06) == 0x06 && has(leaf7[1], 3) && has(leaf7[1], 5) &&
                      has(leaf7[1], 8);
    if (needs == Needs::avx2) return avx2;
    return avx2 && (state & 0xe6) == 0xe6 && has(leaf7[1], 16) && has(leaf7[1], 17) &&
           has(leaf7[1], 28) && has(leaf7[1], 30) && has(leaf7[1], 31);
}

#elif defined(__x86_64__)

bool runs_here(Needs needs) {
    if (needs == Needs::nothing) return true;
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (needs == Needs::avx2) return avx2;
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

#else

bool runs_here(Needs needs) { return needs == Needs::nothing; }

#endif

// `avx2_wide` is made for tests alone: vectors of sixteen floats on a machine without AVX-512.
constexpr Needs needs_of(const char* name) {
    return name[0] == 'b' ? Needs::nothing : name[3] == '2' ? Needs::avx2 : Needs::avx512;
}

struct Entry {
    const char* name;
    int lanes;
    void (*enter_all)(Kernels& table);
};
#define SET(name, lanes) {#name, lanes, &name::enter_all},
constexpr Entry ENTRIES[] = {VARFOCUS_SETS};
#undef SET
constexpr int COUNT = int(sizeof ENTRIES / sizeof ENTRIES[0]);

struct Tables {
    Kernels tables[COUNT] = {};
    std::atomic<int> chosen{0};

    Tables() {
        for (int i = 0; i < COUNT; ++i) {
            ENTRIES[i].enter_all(tables[i]);  // only stores addresses, so it runs on any machine
            const bool test_only = ENTRIES[i].lanes == 16 && needs_of(ENTRIES[i].name) == Needs::avx2;
            if (!test_only && runs_here(needs_of(ENTRIES[i].name))) chosen = i;
        }
    }
};

Tables& all() {
    static Tables tables;
    return tables;
}

}  // namespace

const Kernels& kernels() { return all().tables[all().chosen.load(std::memory_order_relaxed)]; }

int instruction_set_count() { return COUNT; }

InstructionSet instruction_set(int number) {
    const Entry& entry = ENTRIES[number];
    return {entry.name, entry.lanes, runs_here(needs_of(entry.name))};
}

int chosen_instruction_set() { return all().chosen; }

void choose_instruction_set(int number) { all().chosen = number; }

}  // namespace varfocus
