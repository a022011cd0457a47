// Depth continued from what is known, by a primal-dual method: varfocus.explain.fill.
//
// Temporal blocking as in primal_dual.cpp. Step i of an iteration moves row i of the dual variables,
// which looks at rows i and i + 1 of ū and v̄, and then row i of u and v, which looks at rows i − 1
// and i of the dual ones; so one pass in place does it all.

#include "blocks.hpp"
#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {
namespace {

constexpr int MOST_STAGES = 8;
constexpr std::ptrdiff_t CACHE_BYTES = 800 * 1024;
constexpr int VARIABLES = 8;  // planes of the state below

// p (2), q (3: it is symmetric), ū and v̄ (2).
struct State {
    Buffer<float> planes;
    std::ptrdiff_t pixels;
    int width;
    explicit State(Size size)
        : planes(std::size_t(VARIABLES) * std::size_t(size.pixels()), 0.0f),
          pixels(size.pixels()),
          width(size.width) {}
    float* row(int plane, int y) {
        return planes.data() + plane * pixels + std::ptrdiff_t(y) * width;
    }
};
enum Plane { P_X, P_Y, Q_XX, Q_XY, Q_YY, U_BAR, V_BAR_X, V_BAR_Y };

// Rows of one thread: nothing, and Kᵀ of a row.
struct Scratch {
    Buffer<float> zeros, adjoint;
    explicit Scratch(int width) : zeros(std::size_t(width), 0.0f), adjoint(std::size_t(width)) {}
};

VARFOCUS_INLINE float beyond(float length, float most) { return larger(length / most, 1.0f); }

// Rows of p, and of q, before and after; `below` are the rows under ū and v̄, or these themselves.
struct DualRows {
    float *p_x, *p_y, *q_xx, *q_xy, *q_yy;
    const float *u, *v_x, *v_y, *u_below, *v_x_below, *v_y_below, *most;
};

// p ← bounded(p + σ(Kū − v̄)), q ← bounded(q + σEv̄) at one pixel; `next` is the pixel to its right.
VARFOCUS_INLINE void move_dual(const DualRows& r, float step, float bend, int x, int next) {
    const float p_x = r.p_x[x] + step * ((r.u[next] - r.u[x]) - r.v_x[x]);
    const float p_y = r.p_y[x] + step * ((r.u_below[x] - r.u[x]) - r.v_y[x]);
    const float steep = beyond(square_root(p_x * p_x + p_y * p_y), r.most[x]);
    r.p_x[x] = p_x / steep;
    r.p_y[x] = p_y / steep;
    const float across = r.v_y[next] - r.v_y[x], down = r.v_x_below[x] - r.v_x[x];
    const float q_xx = r.q_xx[x] + step * (r.v_x[next] - r.v_x[x]);
    const float q_xy = r.q_xy[x] + step * (0.5f * (down + across));
    const float q_yy = r.q_yy[x] + step * (r.v_y_below[x] - r.v_y[x]);
    const float square = ((q_xx * q_xx + q_xy * q_xy) + q_xy * q_xy) + q_yy * q_yy;
    const float curved = beyond(square_root(square), bend * r.most[x]);
    r.q_xx[x] = q_xx / curved;
    r.q_xy[x] = q_xy / curved;
    r.q_yy[x] = q_yy / curved;
}

void move_duals(const DualRows& rows, float step, float bend, int width) {
    const DualRows r = rows;
    VARFOCUS_INDEPENDENT
    for (int x = 0; x < width - 1; ++x) move_dual(r, step, bend, x, x + 1);
    move_dual(r, step, bend, width - 1, width - 1);
}

// out ← Kᵀ(g_x, g_y) in one row; `down` is g_y there, zero in the last row, `above` that of the row
// above, zero in the first.
void adjoint(const float* VARFOCUS_RESTRICT across, const float* VARFOCUS_RESTRICT down,
             const float* VARFOCUS_RESTRICT above, int width, float* VARFOCUS_RESTRICT out) {
    for (int x = 0; x < width - 1; ++x) out[x] = -across[x];
    out[width - 1] = 0.0f;
    for (int x = 1; x < width; ++x) out[x] += across[x - 1];
    for (int x = 0; x < width; ++x) out[x] = (out[x] - down[x]) + above[x];
}

// u ← prox of w|u − d| at u − σKᵀp; ū ← 2u_new − u_old.
void move_u(const float* VARFOCUS_RESTRICT d, const float* VARFOCUS_RESTRICT weight,
            const float* VARFOCUS_RESTRICT pull, float step, int width, float* VARFOCUS_RESTRICT u,
            float* VARFOCUS_RESTRICT u_bar) {
    for (int x = 0; x < width; ++x) {
        const float away = (u[x] - step * pull[x]) - d[x];
        const float far = away < 0.0f ? -away : away;
        const float left = larger(far - step * weight[x], 0.0f);
        const float moved = d[x] + (away < 0.0f ? -left : left);
        u_bar[x] = 2.0f * moved - u[x];
        u[x] = moved;
    }
}

// v ← v + σ(p − Kᵀq) of one component; v̄ ← 2v_new − v_old.
void move_v(const float* VARFOCUS_RESTRICT p, const float* VARFOCUS_RESTRICT pull, float step,
            int width, float* VARFOCUS_RESTRICT v, float* VARFOCUS_RESTRICT v_bar) {
    for (int x = 0; x < width; ++x) {
        const float moved = v[x] + step * (p[x] - pull[x]);
        v_bar[x] = 2.0f * moved - v[x];
        v[x] = moved;
    }
}

void step(const Filling& problem, State& state, float* u, float* v, Size size, int y,
          Scratch& scratch) {
    const int width = size.width, below = y + 1 < size.height ? y + 1 : y;
    const std::ptrdiff_t at = std::ptrdiff_t(y) * width;
    const auto row = [&](Plane plane) { return state.row(plane, y); };
    move_duals({row(P_X), row(P_Y), row(Q_XX), row(Q_XY), row(Q_YY), row(U_BAR), row(V_BAR_X),
                row(V_BAR_Y), state.row(U_BAR, below), state.row(V_BAR_X, below),
                state.row(V_BAR_Y, below), problem.most + at},
               problem.step, problem.bend, width);
    // Differences across the border of the image are zero, whatever the dual variables are there.
    const auto down = [&](Plane plane) { return below > y ? row(plane) : scratch.zeros.data(); };
    const auto above = [&](Plane plane) {
        return y > 0 ? state.row(plane, y - 1) : scratch.zeros.data();
    };
    float* pull = scratch.adjoint.data();
    adjoint(row(P_X), down(P_Y), above(P_Y), width, pull);
    move_u(problem.d + at, problem.weight + at, pull, problem.step, width, u + at, row(U_BAR));
    adjoint(row(Q_XX), down(Q_XY), above(Q_XY), width, pull);
    move_v(row(P_X), pull, problem.step, width, v + at, row(V_BAR_X));
    adjoint(row(Q_XY), down(Q_YY), above(Q_YY), width, pull);
    move_v(row(P_Y), pull, problem.step, width, v + size.pixels() + at, row(V_BAR_Y));
}

int stages_for(Size size) {
    const std::ptrdiff_t row_bytes = std::ptrdiff_t(size.width) * 4 * (VARIABLES + 3 + 3);
    const std::ptrdiff_t fit = CACHE_BYTES / row_bytes - 2;
    // Rows too long for that live in the next cache, which has room for all stages.
    return fit < 3 ? MOST_STAGES : int(fit < MOST_STAGES ? fit : MOST_STAGES);
}

void fill_depth(const Filling& problem, float* u, float* v, Size size, int iterations,
                int threads) {
    if (iterations < 1) return;
    State state(size);
    copy_to(state.row(U_BAR, 0), u, size.pixels());
    copy_to(state.row(V_BAR_X, 0), v, 2 * size.pixels());
    const int stages = smaller(stages_for(size), iterations);
    run_sweeps(
        iterations, stages, size.height, threads, [&] { return Scratch(size.width); },
        [&](int y, int, Scratch& scratch) { step(problem, state, u, v, size, y, scratch); });
}

}  // namespace

void enter_fill(Kernels& table) {
    table.fill_depth = fill_depth;
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
