// Whether one depth explains all frames, what neighbours of one colour have, and costs that only
// count where it does: varfocus.explain.

#include "blocks.hpp"
#include "lanes.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int STRIP = 128;  // pixels at a time: their frames and pictures stay in the cache
static_assert(STRIP % LANES == 0, "a strip is made of whole vectors");

// Products of 1 + e/3v, of which the logarithm is taken before they leave the range of floats.
constexpr int FACTORS = 3;
constexpr float LARGEST_FACTOR = 1e10f;

// The first `count` floats of a vector; the others are zero.
VARFOCUS_INLINE void load_some(const float* from, int count, Lanes& a) {
    float some[LANES] = {};
    copy_to(some, from, count);
    load(some, a);
}

// Σ log of LANES pixels, or of `count` at the end of the image.
template <bool WHOLE>
VARFOCUS_INLINE void reblur_lanes(const Reblur& problem, const float* frame,
                                  const float* const* pictures, std::ptrdiff_t pixels, int x,
                                  int count, float* out) {
    const Lanes ones = 1.0f - Lanes{};
    Lanes most, sum = {}, product = ones;
    fill(most, LARGEST_FACTOR);
    for (int k = 0; k < problem.frames; ++k) {
        Lanes a, b;
        if (WHOLE) {
            load(frame + k * pixels + x, a);
            load(pictures[k] + x, b);
        } else {
            load_some(frame + k * pixels + x, count, a);
            load_some(pictures[k] + x, count, b);
        }
        const Lanes off = a - b;
        Lanes factor = off * off * problem.precision + 1.0f;
        keep_smaller(factor, most);
        product = product * factor;
        if (k % FACTORS == FACTORS - 1 || k == problem.frames - 1) {
            Lanes logarithm;
            log_of(product, logarithm);
            sum = sum + logarithm;
            product = ones;
        }
    }
    float sums[LANES];
    store(sum, sums);
    copy_to(out + x, sums, WHOLE ? LANES : count);
}

void reblur_strip(const Reblur& problem, std::ptrdiff_t pixels, std::ptrdiff_t first, int count,
                  const float** pictures, float* out) {
    const float* frame = problem.measured + first;
    for (int label = 0; label < problem.labels; ++label) {
        for (int k = 0; k < problem.frames; ++k) {
            const std::ptrdiff_t number =
                problem.number[std::ptrdiff_t(k) * problem.labels + label];
            pictures[k] = problem.pictures + number * pixels + first;
        }
        float* to = out + label * pixels + first;
        int x = 0;
        for (; x + LANES <= count; x += LANES) {
            reblur_lanes<true>(problem, frame, pictures, pixels, x, LANES, to);
        }
        if (x < count) reblur_lanes<false>(problem, frame, pictures, pixels, x, count - x, to);
    }
}

void reblur(const Reblur& problem, Size size, float* out, int threads) {
    const std::ptrdiff_t pixels = size.pixels();
    const int strips = int((pixels + STRIP - 1) / STRIP);
    for_row_blocks(strips, 1, threads, [&](int, int strip, int) {
        const std::ptrdiff_t first = std::ptrdiff_t(strip) * STRIP;
        const std::ptrdiff_t left = pixels - first;
        Buffer<const float*> pictures(std::size_t(problem.frames), nullptr);
        reblur_strip(problem, pixels, first, left < STRIP ? int(left) : STRIP, pictures.data(),
                     out);
    });
}

// For every place on an even grid the last radius that is not beyond it: where a search begins, and
// where it nearly always ends.
constexpr int PLACES = 2048;

void compare_row(const Comparison& problem, const std::int32_t* begin, const double* slope, int k,
                 float* VARFOCUS_RESTRICT off, std::int32_t* VARFOCUS_RESTRICT nearest) {
    const int last = problem.radii_count - 1;
    const double* radii = problem.radii;
    const double largest = radii[last], places = double(PLACES) / largest;
    const std::ptrdiff_t row = std::ptrdiff_t(k) * problem.pixels;
    for (int x = 0; x < problem.pixels; ++x) {
        const double radius = problem.radius[row + x];
        double place = double(last);
        if (radius < largest) {
            int j = begin[int(radius * places)];
            while (j > 0 && radius < radii[j]) --j;
            while (radius >= radii[j + 1]) ++j;
            place = slope[j] * (radius - radii[j]) + double(j);
        }
        const int lower = smaller(int(place), last - 1);
        const float share = float(place - double(lower));
        const float* picture = problem.pictures + std::ptrdiff_t(lower) * problem.pixels + x;
        const float low = picture[0], high = picture[problem.pixels];
        off[row + x] = problem.measured[row + x] - (low + share * (high - low));
        // Halves go to the even one. Written so that nothing has to be guessed in advance.
        nearest[row + x] = lower + (int(share > 0.5f) | (int(share == 0.5f) & lower & 1));
    }
}

void compare(const Comparison& problem, float* off, std::int32_t* nearest, int threads) {
    const int last = problem.radii_count - 1;
    const double* radii = problem.radii;
    Buffer<double> slope(std::size_t(last), 0.0);
    for (int j = 0; j < last; ++j) slope[std::size_t(j)] = 1.0 / (radii[j + 1] - radii[j]);
    Buffer<std::int32_t> begin(std::size_t(PLACES + 1), 0);
    int j = 0;
    for (int i = 0; i <= PLACES; ++i) {
        while (j < last - 1 && radii[j + 1] <= radii[last] * i / PLACES) ++j;
        begin[std::size_t(i)] = j;
    }
    for_row_blocks(problem.frames, 1, threads, [&](int, int k, int) {
        compare_row(problem, begin.data(), slope.data(), k, off, nearest);
    });
}

// The depth that most pixels like this one have, or its own where that is among them. Votes are
// added in double precision: whichever comes first, as in a mirrored image, the same depth wins.
float elected(const Vote& problem, const float* closeness, Size size, int y, int x,
              double* histogram, float* weights) {
    const int reach = problem.reach, width = size.width;
    const int top = larger(y - reach, 0), bottom = smaller(y + reach, size.height - 1);
    const int left = larger(x - reach, 0), right = smaller(x + reach, width - 1);
    const int side = 2 * reach + 1;
    const std::ptrdiff_t here = std::ptrdiff_t(y) * width + x;
    const float own = problem.picture[here], depth = problem.depth[here];
    fill_with(histogram, problem.labels, 0.0);
    float* to = weights;
    for (int v = top; v <= bottom; ++v) {
        for (int u = left; u <= right; ++u) {
            const std::ptrdiff_t there = std::ptrdiff_t(v) * width + u;
            const float off = problem.picture[there] - own;
            const float root = 1.0f / (1.0f + off * off * problem.precision);
            const float fourth = root * root * (root * root), alike = fourth * fourth;
            const float weight = alike * closeness[(v - y + reach) * side + u - x + reach];
            const int label = clamped(int(problem.depth[there] * problem.per_frame + 0.5f), 0,
                                      problem.labels - 1);
            histogram[label] += double(weight * problem.trust[there]);
            *to++ = weight;
        }
    }
    double best = -1.0, present = 0.0;
    const int own_label =
        clamped(int(depth * problem.per_frame + 0.5f), 0, problem.labels - 1);
    int mode = 0;
    for (int l = 0; l < problem.labels; ++l) {
        double sum = 0.0;
        for (int i = larger(l - problem.kin, 0); i <= smaller(l + problem.kin, problem.labels - 1);
             ++i) {
            const int away = i < l ? l - i : i - l;
            sum += histogram[i] * (1.0 - double(away) / double(problem.kin + 1));
        }
        if (sum > best) best = sum, mode = l;
        if (l == own_label) present = sum;
    }
    const float chosen = float(mode) / problem.per_frame;
    const float away = chosen - depth;
    if (away <= problem.alike && -away <= problem.alike) return depth;
    if (best < double(problem.clear) * present) return depth;
    double total = 0.0, sum = 0.0;
    const float* from = weights;
    for (int v = top; v <= bottom; ++v) {
        for (int u = left; u <= right; ++u) {
            const std::ptrdiff_t there = std::ptrdiff_t(v) * width + u;
            const float weight = *from++, off = problem.depth[there] - chosen;
            if (off > problem.alike || -off > problem.alike) continue;
            const int far = (v - y) * (v - y) + (u - x) * (u - x);
            const double share = double(weight * (problem.trust[there] + 1e-4f) / float(1 + far));
            total += share, sum += share * double(problem.depth[there]);
        }
    }
    return total > 0.0 ? float(sum / total) : depth;
}

void vote(const Vote& problem, const float* closeness, Size size, float* out, int threads) {
    const std::size_t side = std::size_t(2 * problem.reach + 1);
    for_row_blocks(size.height, 4, threads, [&](int, int first, int end) {
        Buffer<double> histogram(std::size_t(problem.labels));
        Buffer<float> weights(side * side);
        for (int y = first; y < end; ++y) {
            for (int x = 0; x < size.width; ++x) {
                const std::ptrdiff_t here = std::ptrdiff_t(y) * size.width + x;
                out[here] = problem.asked[here]
                                ? elected(problem, closeness, size, y, x, histogram.data(),
                                          weights.data())
                                : problem.depth[here];
            }
        }
    });
}

// What a pixel looks like on either side of its jump: Σs, Σsa, Σsad of the near side, then the far.
void liken(const Likeness& problem, const float* closeness, Size size, int y, int x, float* sums) {
    const int reach = problem.reach, width = size.width, channels = problem.channels;
    const std::ptrdiff_t here = std::ptrdiff_t(y) * width + x, pixels = size.pixels();
    const float* own = problem.picture + here * channels;
    const float near = problem.near[here], far = problem.far[here];
    const float height = far > near ? far - near : near - far;
    const float within = problem.side * height;
    double found[6] = {};
    for (int v = larger(y - reach, 0); v <= smaller(y + reach, size.height - 1); ++v) {
        const float* weights = closeness + (v - y + reach) * (2 * reach + 1) - x + reach;
        for (int u = larger(x - reach, 0); u <= smaller(x + reach, width - 1); ++u) {
            const std::ptrdiff_t there = std::ptrdiff_t(v) * width + u;
            if (!problem.sure[there]) continue;
            const float depth = problem.depth[there];
            const float to_near = depth > near ? depth - near : near - depth;
            const float to_far = depth > far ? depth - far : far - depth;
            if (!(to_near <= within) && !(to_far <= within)) continue;
            const float* other = problem.picture + there * channels;
            float off = 0.0f;
            for (int c = 0; c < channels; ++c) off += (other[c] - own[c]) * (other[c] - own[c]);
            const float root = 1.0f / (1.0f + off * problem.precision);
            const float fourth = root * root * (root * root);
            const float weight = weights[u], alike = weight * (fourth * fourth);
            double* to = found + (to_near <= within ? 0 : 3);
            to[0] += double(weight), to[1] += double(alike), to[2] += double(alike * depth);
        }
    }
    for (int i = 0; i < 6; ++i) sums[i * pixels + here] = float(found[i]);
}

void likeness(const Likeness& problem, const float* closeness, Size size, float* sums, int threads) {
    for_row_blocks(size.height, 4, threads, [&](int, int first, int end) {
        for (int y = first; y < end; ++y) {
            for (int x = 0; x < size.width; ++x) {
                if (problem.asked[std::ptrdiff_t(y) * size.width + x]) {
                    liken(problem, closeness, size, y, x, sums);
                }
            }
        }
    });
}

// The depth that the pixels around which look like this one agree on; its own, if that is close.
float settled(const Consensus& problem, const float* closeness, Size size, int y, int x,
              double* histogram, float* closes, float* weights, float* said) {
    const int reach = problem.reach, width = size.width, channels = problem.channels;
    const std::ptrdiff_t here = std::ptrdiff_t(y) * width + x, pixels = size.pixels();
    const float* own = problem.picture + here * channels;
    const float per_frame = float(problem.bins - 1) / problem.last;
    fill_with(histogram, problem.bins, 0.0);
    int count = 0;
    for (int v = larger(y - reach, 0); v <= smaller(y + reach, size.height - 1); ++v) {
        const float* close = closeness + (v - y + reach) * (2 * reach + 1) - x + reach;
        for (int u = larger(x - reach, 0); u <= smaller(x + reach, width - 1); ++u) {
            if (close[u] == 0.0f) continue;
            const std::ptrdiff_t there = std::ptrdiff_t(v) * width + u;
            const float* other = problem.picture + there * channels;
            float off = 0.0f;
            for (int c = 0; c < channels; ++c) off += (other[c] - own[c]) * (other[c] - own[c]);
            const float root = 1.0f / (1.0f + off * problem.precision);
            const float fourth = root * root * (root * root);
            const float weight = close[u] * (fourth * fourth);
            const float rise =
                problem.slopes[there] * float(y - v) + problem.slopes[pixels + there] * float(x - u);
            const float depth = smaller(larger(problem.depth[there] + rise, 0.0f), problem.last);
            histogram[int(depth * per_frame + 0.5f)] += double(weight);
            closes[count] = close[u];
            weights[count] = weight;
            said[count++] = depth;
        }
    }
    for (int b = 1; b < problem.bins; ++b) histogram[b] += histogram[b - 1];
    const double half = 0.5 * histogram[problem.bins - 1];
    int bin = 0;
    while (histogram[bin] < half) ++bin;
    const float median = float(bin) / per_frame, depth = problem.depth[here];
    const float away = median - depth;
    if (away <= problem.apart && -away <= problem.apart) return depth;
    double room = 0.0, total = 0.0, sum = 0.0, own_room = 0.0, own_total = 0.0;
    for (int i = 0; i < count; ++i) {
        const float off = said[i] - median, own_off = said[i] - depth;
        if (off <= problem.alike && -off <= problem.alike) {
            room += double(closes[i]), total += double(weights[i]);
            sum += double(weights[i]) * double(said[i]);
        }
        if (own_off <= problem.alike && -own_off <= problem.alike) {
            own_room += double(closes[i]), own_total += double(weights[i]);
        }
    }
    const bool likelier = own_total * room > double(problem.clear) * total * own_room;
    if (own_room >= double(problem.enough) && likelier) return depth;
    return total > 0.0 ? float(sum / total) : depth;
}

void consensus(const Consensus& problem, const float* closeness, Size size, float* out,
               int threads) {
    const std::size_t side = std::size_t(2 * problem.reach + 1);
    for_row_blocks(size.height, 4, threads, [&](int, int first, int end) {
        Buffer<double> histogram(std::size_t(problem.bins));
        Buffer<float> closes(side * side), weights(side * side), said(side * side);
        for (int y = first; y < end; ++y) {
            for (int x = 0; x < size.width; ++x) {
                const std::ptrdiff_t here = std::ptrdiff_t(y) * size.width + x;
                out[here] = problem.asked[here]
                                ? settled(problem, closeness, size, y, x, histogram.data(),
                                          closes.data(), weights.data(), said.data())
                                : problem.depth[here];
            }
        }
    });
}

void confine(const Confinement& how, int labels, int stride, float* cost, Size size, int threads) {
    Buffer<float> numbers(std::size_t(stride), 0.0f);
    for (int l = 0; l < stride; ++l) numbers[std::size_t(l)] = float(l);
    for_row_blocks(size.height, 1, threads, [&](int, int y, int) {
        for (int x = 0; x < size.width; ++x) {
            const std::ptrdiff_t here = std::ptrdiff_t(y) * size.width + x;
            float* curve = cost + here * stride;
            const float low = how.low[here], high = how.high[here], centre = how.centre[here];
            const float share = how.trust[here] * how.scale, pull = how.pull * how.scale;
            for (int l = 0; l < labels; ++l) {
                const float label = numbers[std::size_t(l)];
                const float away = (label - centre) * how.per_width;
                const float square = smaller(away * away, 1.0f);
                const float inside = label >= low && label <= high ? share : 0.0f;
                curve[l] = curve[l] * inside + (square - 1.0f) * pull;
            }
        }
    });
}

}  // namespace

void enter_explain(Kernels& table) {
    table.reblur = reblur;
    table.compare = compare;
    table.vote = vote;
    table.likeness = likeness;
    table.consensus = consensus;
    table.confine = confine;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
