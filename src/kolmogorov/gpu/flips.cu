// Stage two for items with more bits than can be enumerated: every lane of a warp descends from another point.
#include "warp.cuh"

// What a flip changes, the slope of bit d being q_dd - 2 m_d + 2 sum_{e != d} q_de x_e.
__device__ inline double change(const double* slope, unsigned long long x, int d) {
    const double s = slope[d * 32];
    return (x >> d) & 1ull ? -s : s;
}

__device__ inline void flip(const double* q, double* slope, unsigned long long& x, int d) {
    const double sign = (x >> d) & 1ull ? -2.0 : 2.0;
    x ^= 1ull << d;
    for (int e = 0; e < D; ++e)
        if (e != d) slope[e * 32] += sign * q[d * P + e];
}

// Flip single bits, and where none helps pairs, in their order, until no lane finds any.
__device__ inline void descend(const double* q, double* slope, unsigned long long& x, double noise) {
    for (int round = 0; round < 100; ++round) {
        bool moved = true;
        for (int pass = 0; pass < 100 && __any_sync(ALL, moved); ++pass) {
            moved = false;
            for (int d = 0; d < D; ++d) {
                if (change(slope, x, d) < -noise) {
                    flip(q, slope, x, d);
                    moved = true;
                }
            }
        }
        bool helped = false;
        for (int d = 1; d < D; ++d) {
            for (int e = 0; e < d; ++e) {
                const double sign = ((x >> d) ^ (x >> e)) & 1ull ? -2.0 : 2.0;
                if (change(slope, x, d) + change(slope, x, e) + sign * q[d * P + e] < -noise) {
                    flip(q, slope, x, d);
                    flip(q, slope, x, e);
                    helped = true;
                }
            }
        }
        if (!__any_sync(ALL, helped)) break;
    }
}

// As `enumerate_all`. Lane 0 starts from `start`, lane 1 from zero, the others from random points.
extern "C" __global__ void multi_start(long long n_rows, const long long* segments, long long offset, const double* gram,
                                       const double* moment, const double* base, const double* pull,
                                       const unsigned long long* start, unsigned long long half_step,
                                       unsigned long long* out, double* values) {
    extern __shared__ double room[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const long long row = blockIdx.x * (long long)(blockDim.x >> 5) + warp;
    if (row >= n_rows) return;
    double* q = room + warp * (P * P + P + 32 * D);
    double* m = q + P * P;
    double* slope = m + P + lane;
    load_row<32>(gram, moment, segments[row] - offset, segments[row + 1] - offset, base, pull, lane, q, m);
    const unsigned long long old = start[row];
    unsigned long long state = row_seed(half_step, segments[row]) + lane * 0x9E3779B97F4A7C15ull;
    unsigned long long x = lane == 0 ? old : lane == 1 ? 0ull : next_random(state);
    if (D < 64) x &= (1ull << (D & 63)) - 1ull;
    double size = 0.0;
    for (int d = 0; d < D; ++d) {
        slope[d * 32] = rise(q, m, x, d);
        size = fmax(size, q[d * P + d] + fabs(m[d]));
    }
    descend(q, slope, x, 1e-14 * size);
    // The best of all lanes; the values are exact, so that no lane is preferred by rounding.
    unsigned long long found = old;
    double reached = value_of_bits(q, m, old);
    for (int from = 0; from < 32; ++from) {
        const unsigned long long other = __shfl_sync(ALL, x, from);
        const double value = value_of_bits(q, m, other);
        if (value < reached || (value == reached && other < found)) {
            reached = value;
            found = other;
        }
    }
    if (lane == 0) {
        out[row] = found;
        values[row] = reached;
    }
}
