// A picture cut into regions, and the plane that the depths of each lie on: varfocus.edges.regions.

#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 3;
constexpr double MIDDLE = 1e-9;  // so much less than half is half, however sums were rounded

// Numbers of values in growing order, equal ones as they come; the float below zero comes first.
void in_order(const float* values, std::size_t count, Buffer<std::int32_t>& order) {
    Buffer<std::uint32_t> keys(count);
    Buffer<std::int32_t> other(count);
    order.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const float value = values[i] + 0.0f;  // no zero is below another
        std::uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        keys[i] = bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
        order[i] = std::int32_t(i);
    }
    std::int32_t *from = order.data(), *to = other.data();
    for (int pass = 0; pass < PASSES; ++pass) {
        const int shift = pass * DIGIT_BITS;
        std::size_t place[DIGITS + 1] = {};
        for (std::size_t i = 0; i < count; ++i) {
            ++place[((keys[i] >> shift) & (DIGITS - 1)) + 1];
        }
        for (int digit = 0; digit < DIGITS; ++digit) place[digit + 1] += place[digit];
        for (std::size_t i = 0; i < count; ++i) {
            const std::int32_t number = from[i];
            to[place[(keys[std::size_t(number)] >> shift) & (DIGITS - 1)]++] = number;
        }
        std::int32_t* const swapped = from;
        from = to, to = swapped;
    }
    copy_to(order.data(), from, std::ptrdiff_t(count));
}

struct Pair {
    std::int32_t one, other;
    float apart;
};

// Pairs of neighbours, those that differ least first.
struct Pairs {
    Buffer<Pair> sorted;

    Pairs(const float* picture, int channels, Size size) {
        const std::size_t most = 4 * std::size_t(size.pixels());
        Buffer<Pair> pairs(most);
        Buffer<float> apart(most);
        std::size_t count = 0;
        const int steps[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
        const float share = 3.0f / float(channels);
        for (const auto& step : steps) {
            const int first = larger(0, -step[1]), end = size.width - larger(0, step[1]);
            for (int y = 0; y < size.height - step[0]; ++y) {
                for (int x = first; x < end; ++x) {
                    const std::ptrdiff_t p = std::ptrdiff_t(y) * size.width + x;
                    const std::ptrdiff_t q = p + std::ptrdiff_t(step[0]) * size.width + step[1];
                    float square = 0.0f;
                    for (int c = 0; c < channels; ++c) {
                        const float off = picture[p * channels + c] - picture[q * channels + c];
                        square += off * off;
                    }
                    apart[count] = square_root(square * share);
                    pairs[count] = {std::int32_t(p), std::int32_t(q), apart[count]};
                    ++count;
                }
            }
        }
        Buffer<std::int32_t> order;
        in_order(apart.data(), count, order);
        sorted.resize(count);
        for (std::size_t i = 0; i < count; ++i) sorted[i] = pairs[std::size_t(order[i])];
    }
};

// Disjoint sets of pixels, the largest difference inside each, and how many there are.
struct Sets {
    Buffer<std::int32_t> parent, size;
    Buffer<float> inside;
    explicit Sets(std::size_t pixels) : parent(pixels), size(pixels, 1), inside(pixels, 0.0f) {
        for (std::size_t i = 0; i < pixels; ++i) parent[i] = std::int32_t(i);
    }
    std::int32_t root(std::int32_t i) {
        while (parent[std::size_t(i)] != i) {
            const std::int32_t up = parent[std::size_t(parent[std::size_t(i)])];
            parent[std::size_t(i)] = up;
            i = up;
        }
        return i;
    }
    double room(std::int32_t i, double grain) const {
        return double(inside[std::size_t(i)]) + grain / double(size[std::size_t(i)]);
    }
    void join(std::int32_t a, std::int32_t b, float apart) {
        if (size[std::size_t(a)] < size[std::size_t(b)]) {
            const std::int32_t swapped = a;
            a = b, b = swapped;
        }
        parent[std::size_t(b)] = a;
        size[std::size_t(a)] += size[std::size_t(b)];
        inside[std::size_t(a)] = apart;
    }
};

void segments(const float* picture, int channels, Size size, const double* grains,
              const std::int32_t* least, int count, std::int32_t* labels) {
    const std::size_t pixels = std::size_t(size.pixels());
    const Pairs pairs(picture, channels, size);
    Buffer<Pair> left(pairs.sorted.size());  // those of which both stay apart at first
    for (int cut = 0; cut < count; ++cut) {
        Sets sets(pixels);
        std::size_t lefts = 0;
        for (const Pair& pair : pairs.sorted) {
            const std::int32_t a = sets.root(pair.one), b = sets.root(pair.other);
            if (a == b) continue;
            const double apart = double(pair.apart);
            if (apart <= sets.room(a, grains[cut]) && apart <= sets.room(b, grains[cut])) {
                sets.join(a, b, pair.apart);
            } else {
                left[lefts++] = pair;
            }
        }
        for (std::size_t i = 0; i < lefts; ++i) {
            const std::int32_t a = sets.root(left[i].one), b = sets.root(left[i].other);
            if (a == b) continue;
            if (smaller(sets.size[std::size_t(a)], sets.size[std::size_t(b)]) < least[cut]) {
                sets.join(a, b, left[i].apart);
            }
        }
        Buffer<std::int32_t> name(pixels, -1);
        std::int32_t names = 0;
        std::int32_t* const out = labels + std::ptrdiff_t(cut) * std::ptrdiff_t(pixels);
        for (std::size_t i = 0; i < pixels; ++i) {
            const std::size_t top = std::size_t(sets.root(std::int32_t(i)));
            if (name[top] < 0) name[top] = names++;
            out[i] = name[top];
        }
    }
}

// How far inside its region each pixel lies, as a weight.
void depths_inside(const RegionPlanes& problem, Size size, Buffer<double>& weight) {
    for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
            const std::ptrdiff_t here = std::ptrdiff_t(y) * size.width + x;
            float away = problem.widest;
            for (int i = 0; i < problem.offsets; ++i) {
                const int v = y + problem.offset[2 * i], u = x + problem.offset[2 * i + 1];
                if (v < 0 || u < 0 || v >= size.height || u >= size.width) continue;
                if (problem.label[std::ptrdiff_t(v) * size.width + u] != problem.label[here]) {
                    away = problem.away[i];
                    break;
                }
            }
            const double share = double((away - 1.0f) / (problem.widest - 1.0f));
            weight[std::size_t(here)] = share * share + problem.least;
        }
    }
}

void region_planes(const RegionPlanes& problem, Size size, float* out) {
    const std::size_t pixels = std::size_t(size.pixels()), count = std::size_t(problem.count);
    Buffer<double> weight(pixels);
    depths_inside(problem, size, weight);
    // The pixels of a region stand together, the lowest first.
    Buffer<std::int32_t> lowest, order(pixels);
    in_order(problem.depth, pixels, lowest);
    Buffer<std::size_t> start(count + 1, 0), place(count);
    for (std::size_t i = 0; i < pixels; ++i) ++start[std::size_t(problem.label[i]) + 1];
    for (std::size_t k = 0; k < count; ++k) start[k + 1] += start[k], place[k] = start[k];
    for (const std::int32_t i : lowest) order[place[std::size_t(problem.label[i])]++] = i;
    // What a region is asked for again and again, in that order.
    struct Place {
        double y, x, d, w;
    };
    Buffer<Place> places(pixels);
    for (std::size_t j = 0; j < pixels; ++j) {
        const std::int32_t i = order[j];
        places[j] = {double(i / size.width), double(i % size.width), double(problem.depth[i]),
                     weight[std::size_t(i)]};
    }
    for (std::size_t k = 0; k < count; ++k) {
        const std::size_t first = start[k], end = start[k + 1];
        if (first == end) continue;
        double total = 0.0, down = 0.0, across = 0.0;
        for (std::size_t j = first; j < end; ++j) {
            const Place& p = places[j];
            total += p.w, down += p.w * p.y, across += p.w * p.x;
        }
        down /= total, across /= total;
        double sum = 0.0, level = 0.0, rise = 0.0, lean = 0.0;
        for (std::size_t j = first; j < end; ++j) {
            sum += places[j].w;
            level = places[j].d;
            if (sum >= (0.5 - MIDDLE) * total) break;
        }
        for (int round = 0; round < problem.rounds; ++round) {
            double m00 = 0.0, m01 = 0.0, m02 = 0.0, b0 = 0.0, b1 = 0.0, b2 = 0.0;
            double m11 = problem.stiff, m12 = 0.0, m22 = problem.stiff;
            for (std::size_t j = first; j < end; ++j) {
                const Place& p = places[j];
                const double y = p.y - down, x = p.x - across;
                const double off = (p.d - (level + rise * y + lean * x)) / problem.tolerance;
                const double w = p.w / (1.0 + off * off);
                m00 += w, m01 += w * y, m02 += w * x;
                m11 += w * y * y, m12 += w * y * x, m22 += w * x * x;
                b0 += w * p.d, b1 += w * p.d * y, b2 += w * p.d * x;
            }
            const double c00 = m11 * m22 - m12 * m12, c01 = m02 * m12 - m01 * m22;
            const double c02 = m01 * m12 - m02 * m11, c11 = m00 * m22 - m02 * m02;
            const double c12 = m01 * m02 - m00 * m12, c22 = m00 * m11 - m01 * m01;
            const double all = m00 * c00 + m01 * c01 + m02 * c02;
            level = (c00 * b0 + c01 * b1 + c02 * b2) / all;
            rise = (c01 * b0 + c11 * b1 + c12 * b2) / all;
            lean = (c02 * b0 + c12 * b1 + c22 * b2) / all;
        }
        for (std::size_t j = first; j < end; ++j) {
            const Place& p = places[j];
            out[order[j]] += float(level + rise * (p.y - down) + lean * (p.x - across));
        }
    }
}

}  // namespace

void enter_regions(Kernels& table) {
    table.segments = segments;
    table.region_planes = region_planes;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
