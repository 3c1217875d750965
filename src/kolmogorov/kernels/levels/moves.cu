// Stage two for items of several values: every lane of a warp descends from another point of levels^D.
#include "warp.cuh"
#include "randomness.cuh"

#define ROUNDS 10  // of the continuous descent whose end is rounded to a start

struct Move {
    double step, change;
};

// The best level for one coordinate, by the slope and the curvature at `here`.
__device__ inline Move best_level(const double* levels, int n_levels, double here, double slope, double curvature) {
    Move best = {0.0, 0.0};
    for (int l = 0; l < n_levels; ++l) {
        const double step = levels[l] - here, change = step * (2.0 * slope + step * curvature);
        if (change < best.change) best = {step, change};
    }
    return best;
}

__device__ inline void move(const double* q, double* x, double* slope, int d, double step) {
    x[d * 32] += step;
    for (int e = 0; e < D; ++e) slope[e * 32] += step * q[d * P + e];
}

__device__ inline double nearest(const double* levels, int n_levels, double target) {
    double best = levels[0];
    for (int l = 1; l < n_levels; ++l)
        if (fabs(levels[l] - target) < fabs(best - target)) best = levels[l];
    return best;
}

// Exactly on a level again, and the slopes as they are there.
__device__ inline void settle(const double* q, const double* m, const double* levels, int n_levels, double* x, double* slope) {
    for (int d = 0; d < D; ++d) x[d * 32] = nearest(levels, n_levels, x[d * 32]);
    for (int d = 0; d < D; ++d) {
        double s = -m[d];
        for (int e = 0; e < D; ++e) s += q[d * P + e] * x[e * 32];
        slope[d * 32] = s;
    }
}

// Move single coordinates, and where none helps pairs of them, in their order, until no lane finds any.
__device__ inline void descend(const double* q, const double* levels, int n_levels, double* x, double* slope, double noise) {
    for (int round = 0; round < 20; ++round) {
        bool moved = true;
        for (int pass = 0; pass < 100 && __any_sync(ALL, moved); ++pass) {
            moved = false;
            for (int d = 0; d < D; ++d) {
                const Move best = best_level(levels, n_levels, x[d * 32], slope[d * 32], q[d * P + d]);
                if (best.change < -noise) {
                    move(q, x, slope, d, best.step);
                    moved = true;
                }
            }
        }
        bool helped = false;
        for (int d = 1; d < D; ++d) {
            for (int e = 0; e < d; ++e) {
                Move first = {0.0, -noise}, second = {0.0, 0.0};
                for (int l = 0; l < n_levels; ++l) {
                    const double step = levels[l] - x[d * 32];
                    const double alone = step * (2.0 * slope[d * 32] + step * q[d * P + d]);
                    // Given the step of d, the best of e is the level next to where its slope is nothing.
                    const double s = slope[e * 32] + step * q[d * P + e], curvature = q[e * P + e];
                    const double target = curvature > 0.0 ? x[e * 32] - s / curvature : (s > 0.0 ? -1e30 : 1e30);
                    const double other = nearest(levels, n_levels, target) - x[e * 32];
                    const double both = alone + other * (2.0 * s + other * curvature);
                    if (both < first.change) {
                        first = {step, both};
                        second = {other, 0.0};
                    }
                }
                if (first.change < -noise) {
                    move(q, x, slope, d, first.step);
                    move(q, x, slope, e, second.step);
                    helped = true;
                }
            }
        }
        if (!__any_sync(ALL, helped)) break;
    }
}

__device__ inline void relax(const double* q, const double* m, double low, double high, double* x, double* slope) {
    for (int d = 0; d < D; ++d) x[d * 32] = 0.5 * (low + high);
    for (int d = 0; d < D; ++d) {
        double s = -m[d];
        for (int e = 0; e < D; ++e) s += q[d * P + e] * x[e * 32];
        slope[d * 32] = s;
    }
    for (int round = 0; round < ROUNDS; ++round)
        for (int d = 0; d < D; ++d) {
            const double s = slope[d * 32], curvature = q[d * P + d];
            const double target = curvature > 0.0 ? x[d * 32] - s / curvature : (s > 0.0 ? low : high);
            move(q, x, slope, d, fmin(fmax(target, low), high) - x[d * 32]);
        }
}

__device__ inline double value_of(const double* q, const double* m, const double* x) {
    double total = 0.0;
    for (int d = 0; d < D; ++d) {
        double line = -2.0 * m[d];
        for (int e = 0; e < D; ++e) line += q[d * P + e] * x[e * 32];
        total += line * x[d * 32];
    }
    return total;
}

// As `enumerate_all`, for points whose coordinates are levels. Lane 0 starts from `start`, lane 1 from the rounded continuous
// solution, the others from random points.
extern "C" __global__ void multi_start(long long n_rows, const long long* segments, long long offset, const double* gram,
                                       const double* moment, const double* base, const double* pull, const double* levels,
                                       int n_levels, const float* start, unsigned long long half_step, long long first,
                                       float* out, double* values) {
    extern __shared__ double room[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const long long row = blockIdx.x * (long long)(blockDim.x >> 5) + warp;
    if (row >= n_rows) return;
    double* grid = room;
    double* q = room + 256 + warp * (P * P + P + 64 * D);
    double* m = q + P * P;
    double* x = m + P + lane;
    double* slope = x + 32 * D;
    for (int l = lane; l < n_levels; l += 32) grid[l] = levels[l];
    load_row<32>(gram, moment, segments[row] - offset, segments[row + 1] - offset, base, pull, lane, q, m);
    double size = 0.0;
    for (int d = 0; d < D; ++d) {
        // As float32 has it; the level itself is a little beside.
        x[d * 32] = nearest(grid, n_levels, start[row * P + d]);
        size = fmax(size, q[d * P + d] + fabs(m[d]));
    }
    const double old = value_of(q, m, x);
    if (lane == 1) relax(q, m, grid[0], grid[n_levels - 1], x, slope);
    if (lane > 1) {
        unsigned long long state = row_seed(half_step, first + row) + lane * 0x9E3779B97F4A7C15ull;
        for (int d = 0; d < D; ++d) x[d * 32] = grid[(next_random(state) >> 33) % n_levels];
    }
    __syncwarp();
    settle(q, m, grid, n_levels, x, slope);
    descend(q, grid, n_levels, x, slope, 1e-14 * size);
    settle(q, m, grid, n_levels, x, slope);
    double reached = value_of(q, m, x);
    int winner = lane;
    for (int o = 16; o; o >>= 1) {
        const double value = __shfl_xor_sync(ALL, reached, o);
        const int other = __shfl_xor_sync(ALL, winner, o);
        if (value < reached || (value == reached && other < winner)) {
            reached = value;
            winner = other;
        }
    }
    __syncwarp();
    for (int d = lane; d < P; d += 32) {
        const float kept = start[row * P + d];
        out[row * P + d] = d >= D ? 0.f : reached < old ? (float)x[d * 32 - lane + winner] : kept;
    }
    if (lane == 0) values[row] = reached < old ? reached : old;
}
