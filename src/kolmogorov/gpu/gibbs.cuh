// Draws of one row by one warp: what `draws/gibbs.py` does, number for number. Every lane goes the same way with the same stream.
#pragma once

#include "lanes.cuh"

#define TRIES 1000   // Proposals after which a rejection sampler gives up.
#define NEVER -40.0  // A log weight so far below the best is never drawn.

// The stream of a row; as `_support/seeds.row_seeds`.
__device__ inline unsigned long long stream(unsigned long long seed, int sweep, int side, long long row) {
    const unsigned long long of_sweep = row_seed(seed, sweep);
    return row_seed(row_seed(of_sweep, side), row);
}

// A number in (0, 1).
__device__ inline double uniform(unsigned long long& state) {
    return ((double)(next_random(state) >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

__device__ inline double normal(unsigned long long& state) {
    const double a = uniform(state), b = uniform(state);
    return sqrt(-2.0 * log(a)) * cos(6.283185307179586 * b);
}

// A truncated normal for high >= 0, by rejection from a normal, from a flat or from an exponential one; where that fails, its
// most likely point.
__device__ inline double positive_or_wide(unsigned long long& state, double low, double high) {
    const double near = low > 0.0 ? low : 0.0, rate = 0.5 * (low + sqrt(low * low + 4.0));
    const bool wide = low <= 0.0 && high - low > 2.0, flat = low <= 0.0 || high * high - low * low < 4.0;
    for (int t = 0; t < TRIES; ++t) {
        if (wide) {
            const double x = normal(state);
            if (low <= x && x <= high) return x;
            continue;
        }
        const double u = uniform(state), v = uniform(state), x = flat ? low + u * (high - low) : low - log(u) / rate;
        const double worth = flat ? 0.5 * (near * near - x * x) : -0.5 * (x - rate) * (x - rate);
        if (x <= high && log(v) <= worth) return x;
    }
    return near;
}

__device__ inline double truncated_normal(unsigned long long& state, double low, double high) {
    return high < 0.0 ? -positive_or_wide(state, -high, -low) : positive_or_wide(state, low, high);
}

// A gamma number (Marsaglia and Tsang 2000); of a shape that is no number, its mean.
__device__ inline double gamma_number(unsigned long long& state, double shape) {
    double boost = 1.0;
    if (shape < 1.0) {
        boost = pow(uniform(state), 1.0 / shape);
        shape += 1.0;
    }
    const double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (int t = 0; t < TRIES; ++t) {
        const double x = normal(state);
        double v = 1.0 + c * x;
        if (v <= 0.0) continue;
        v = v * v * v;
        if (log(uniform(state)) < 0.5 * x * x + d - d * v + d * log(v)) return d * v * boost;
    }
    return shape * boost;
}

// A place given log weights, `weight`[n] shared by the lanes, which are overwritten by their cumulated sums.
__device__ inline int draw_level(double* weight, int n, unsigned long long& state) {
    const int lane = threadIdx.x & 31;
    double best = weight[0];
    for (int k = lane; k < n; k += 32) best = weight[k] > best ? weight[k] : best;
    best = lane_max(best);
    double carried = 0.0;
    for (int first = 0; first < n; first += 32) {
        const int k = first + lane;
        const double below = k < n ? weight[k] - best : NEVER;
        double sum = below > NEVER ? exp(below) : 0.0;
        for (int o = 1; o < 32; o <<= 1) {
            const double before = __shfl_up_sync(ALL, sum, o);
            if (lane >= o) sum += before;
        }
        sum += carried;
        carried = __shfl_sync(ALL, sum, 31);
        if (k < n) weight[k] = sum;
    }
    const double goal = uniform(state) * carried;
    int place = 0;
    for (int first = 0; first < n; first += 32) {
        const int k = first + lane;
        place += __popc(__ballot_sync(ALL, k < n - 1 && weight[k] < goal));
    }
    __syncwarp();
    return place;
}

// Write q x - w to slope[D]; all are shared by the lanes.
__device__ inline void find_slopes(const double* q, const double* w, const double* x, double* slope) {
    __syncwarp();
    for (int d = threadIdx.x & 31; d < D; d += 32) {
        double total = -w[d];
        for (int e = 0; e < D; ++e) total += q[d * D + e] * x[e];
        slope[d] = total;
    }
    __syncwarp();
}

// Move mass between pairs of coordinates of one point on the simplex, in place: each move is a truncated normal.
__device__ inline void move_pairs(const double* q, const double* w, double* x, double* slope, unsigned long long& state,
                                  int rounds) {
    const int lane = threadIdx.x & 31;
    find_slopes(q, w, x, slope);
    if (D == 1) return;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < D; ++i) {
            int j = (int)(uniform(state) * (D - 1));
            j = j < D - 2 ? j : D - 2;
            if (j >= i) ++j;
            const double before = x[i], room = x[i] + x[j];
            const double curve = q[i * D + i] + q[j * D + j] - 2.0 * q[i * D + j];
            // Standardised bounds of the new x[i]; where they are close, the density is flat.
            const double scale = curve > 0.0 ? sqrt(curve) : 0.0;
            const double mean = curve > 0.0 ? before - (slope[i] - slope[j]) / curve : 0.0;
            double fresh;
            if (scale * room < 1e-6) {
                fresh = uniform(state) * room;
            } else {
                fresh = mean + truncated_normal(state, -mean * scale, (room - mean) * scale) / scale;
                fresh = fresh > 0.0 ? fresh : 0.0;
                fresh = fresh < room ? fresh : room;
            }
            const double step = fresh - before;
            __syncwarp();
            if (lane == 0) {
                x[i] = fresh;
                x[j] = room - fresh;
            }
            for (int e = lane; e < D; e += 32) slope[e] += step * (q[i * D + e] - q[j * D + e]);
            __syncwarp();
        }
    }
}

// The prior's part of a row: the sum over its features f of f_k by[k, e], for the lanes' events.
__device__ inline double described(const float* features, const float* by, int n_features, int e) {
    double total = 0.0;
    for (int k = 0; k < n_features; ++k) total += (double)features[k] * (double)by[k * D + e];
    return total;
}
