// What is read off volumes (H, W, labels): the lowest label, its rivals, and the curve around it.

#include "blocks.hpp"
#include "lanes.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int ROWS_PER_BLOCK = 8;

VARFOCUS_INLINE float lowest_label(const float* curve, int labels, int stride) {
    Lanes low;
    fill(low, NO_LABEL);
    for (int l = 0; l < stride; l += LANES) {
        Lanes values;
        load(curve + l, values);
        keep_smaller(low, values);
    }
    const float least = lowest_lane(low);
    int label = 0;
    while (label < labels - 1 && !(curve[label] <= least)) ++label;
    const int middle = clamped(label, 1, labels - 2);
    const float left = curve[middle - 1], centre = curve[middle], right = curve[middle + 1];
    const float bend = left - 2.0f * centre + right;
    if (!(bend > 0.0f)) return float(label);
    const float offset = 0.5f * (left - right) / bend;
    return float(middle) + larger(smaller(offset, 1.0f), -1.0f);
}

void lowest_row(const float* row, int labels, int stride, int width, float* out) {
    for (int x = 0; x < width; ++x) {
        out[x] = lowest_label(row + std::ptrdiff_t(x) * stride, labels, stride);
    }
}

// The least value of labels further than `distance` from `label`, or NO_LABEL.
VARFOCUS_INLINE float best_rival(const float* curve, const float* numbers, int stride, float label,
                                 float distance) {
    Lanes low, none, at, reach;
    fill(low, NO_LABEL);
    fill(none, NO_LABEL);
    fill(reach, distance);
    for (int l = 0; l < stride; l += LANES) {
        Lanes values, away;
        load(curve + l, values);
        load(numbers + l, at);
        away = at - label;
        Lanes back = away * -1.0f;
        keep_larger(away, back);
#if defined(__GNUC__)
        keep_smaller(low, away > reach ? values : none);
#else
        for (int i = 0; i < LANES; ++i) {
            low[i] = away[i] > reach[i] ? smaller(low[i], values[i]) : low[i];
        }
#endif
    }
    return lowest_lane(low);
}

// Sample of a curve continued by straight lines beyond its ends by one label.
VARFOCUS_INLINE float sample(const float* curve, int labels, int l) {
    if (l < 0) return 2.0f * curve[0] - curve[1];
    if (l >= labels) return 2.0f * curve[labels - 1] - curve[labels - 2];
    return curve[l];
}

VARFOCUS_INLINE float cubic_value(const float* curve, int labels, float u) {
    const int i = clamped(int(u), 0, labels - 2);
    const float t = u - float(i);
    const float a = sample(curve, labels, i - 1), b = curve[i], c = curve[i + 1];
    const float e = sample(curve, labels, i + 2);
    const float square = a - 2.5f * b + 2.0f * c - 0.5f * e;
    const float cube = 1.5f * (b - c) + 0.5f * (e - a);
    return b + t * (0.5f * (c - a) + t * (square + t * cube));
}

void judge_row(const Judgement& how, const float* total, const float* cost, const float* label,
               const float* numbers, int width, float* lead, float* bend, float* value) {
    const int last = how.labels - 1;
    for (int x = 0; x < width; ++x) {
        const float* curve = total + std::ptrdiff_t(x) * how.stride;
        const int chosen = clamped(int(nearbyintf(label[x])), 0, last);
        const float rival = best_rival(curve, numbers, how.stride, label[x], how.distance);
        lead[x] = rival < 0.5f * NO_LABEL ? rival - curve[chosen] : 0.0f;
        const int middle = clamped(chosen, how.reach, last - how.reach);
        bend[x] = curve[middle - how.reach] - 2.0f * curve[middle] + curve[middle + how.reach];
        value[x] = cubic_value(cost + std::ptrdiff_t(x) * how.stride, how.labels, label[x]);
    }
}

VARFOCUS_INLINE double window_row(const float* cost, const float* label, int labels, int stride,
                                  int width, std::uint16_t* samples, float* scale,
                                  std::int16_t* base) {
    double offsets = 0.0;
    for (int x = 0; x < width; ++x) {
        const float* curve = cost + std::ptrdiff_t(x) * stride;
        const int first = clamped(int(label[x]) - (WINDOW - 4) / 2, 0, labels - (WINDOW - 2));
        float values[WINDOW];
        for (int i = 0; i < WINDOW; ++i) values[i] = sample(curve, labels, first - 1 + i);
        float least = values[0], most = values[0];
        for (int i = 1; i < WINDOW; ++i) {
            least = smaller(least, values[i]);
            most = larger(most, values[i]);
        }
        const float range = most - least, unit = range > 0.0f ? 65535.0f / range : 0.0f;
        for (int i = 0; i < WINDOW; ++i) {
            samples[std::ptrdiff_t(x) * WINDOW + i] =
                std::uint16_t((values[i] - least) * unit + 0.5f);
        }
        scale[x] = range * (1.0f / 65535.0f);
        base[x] = std::int16_t(first);
        offsets += double(least);
    }
    return offsets;
}

double windows_row(const float* cost, const float* label, int labels, int stride, int width,
                   std::uint16_t* samples, float* scale, std::int16_t* base) {
    return window_row(cost, label, labels, stride, width, samples, scale, base);
}

void lowest(const float* volume, int labels, int stride, float* out, Size size, int threads) {
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        for (int y = first; y < end; ++y) {
            const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width;
            lowest_row(volume + at * stride, labels, stride, size.width, out + at);
        }
    });
}

void judge(const Judgement& how, const float* total, const float* cost, const float* label,
           float* lead, float* bend, float* value, Size size, int threads) {
    Buffer<float> numbers(std::size_t(how.stride));
    for (int l = 0; l < how.stride; ++l) numbers[std::size_t(l)] = float(l);
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        for (int y = first; y < end; ++y) {
            const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width;
            judge_row(how, total + at * how.stride, cost + at * how.stride, label + at,
                      numbers.data(), size.width, lead + at, bend + at, value + at);
        }
    });
}

void cut_windows(const float* cost, const float* label, int labels, int stride, Windows out,
                 Size size, int threads) {
    for_row_blocks(size.height, ROWS_PER_BLOCK, threads, [&](int, int first, int end) {
        for (int y = first; y < end; ++y) {
            const std::ptrdiff_t at = std::ptrdiff_t(y) * size.width;
            out.offsets[y] = windows_row(cost + at * stride, label + at, labels, stride, size.width,
                                         out.samples + at * WINDOW, out.scale + at, out.base + at);
        }
    });
}

}  // namespace

void enter_volume(Kernels& table) {
    table.lowest = lowest;
    table.judge = judge;
    table.cut_windows = cut_windows;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
