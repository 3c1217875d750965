// Stage two for items: the exact minimum over {0,1}^D, for D up to 16. One warp a row.
// The five low bits are the lane, the next R bits the registers of a lane, and the H high bits run through the Gray code.
#include "warp.cuh"

#define LANE_BITS (D < 5 ? D : 5)
#define R (D - LANE_BITS < 4 ? D - LANE_BITS : 4)
#define LOW (LANE_BITS + R)
#define H (D - LOW)
#define STATES (1 << R)

struct alignas(16) Pair {
    double a, b;
};

// What the states of the register bits add to the value of other bits.
__device__ inline void fill_states(const double* q, const double* m, unsigned long long bits, double current[STATES]) {
    current[0] = 0.0;
#pragma unroll
    for (int b = 0; b < R; ++b) {
        const double* line = q + (LANE_BITS + b) * P + LANE_BITS;
        const double alone = rise(q, m, bits, LANE_BITS + b);
#pragma unroll
        for (int s = 0; s < (1 << b); ++s) {
            double with = current[s] + alone;
            for (int c = 0; c < b; ++c)
                if ((s >> c) & 1) with += 2.0 * line[c];
            current[s + (1 << b)] = with;
        }
    }
}

// The value of a point that one lane looks at.
__device__ inline double value_alone(const double* q, const double* m, int bits) {
    double value = 0.0;
    for (int left = bits; left; left &= left - 1) value += rise(q, m, left & (left - 1), __ffs(left) - 1);
    return value;
}

// As `pairwise_descent`; `bits` holds the points, of which bit d is the coordinate d.
extern "C" __global__ void enumerate_all(long long n_rows, const long long* segments, long long offset,
                                         const double* gram, const double* moment, const double* base, const double* pull,
                                         const unsigned long long* start, unsigned long long* out, double* values) {
    // q, m, the high bits' own values, what lanes and registers add to them.
    const int SIZE = (P * P + P + (1 << H) + H * 32 + H * STATES + 3) / 4 * 4;
    extern __shared__ double room[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const long long row = blockIdx.x * (long long)(blockDim.x >> 5) + warp;
    if (row >= n_rows) return;
    double* q = room + warp * SIZE;
    double* m = q + P * P;
    double* high = m + P;
    double* by_lane = high + (1 << H);
    double* by_register = by_lane + H * 32;
    load_row<32>(gram, moment, segments[row] - offset, segments[row + 1] - offset, base, pull, lane, q, m);
    for (int code = lane; code < (1 << H); code += 32) high[code] = value_alone(q, m, code << LOW);
    for (int k = 0; k < H; ++k) {
        by_lane[k * 32 + lane] = beside(q + (LOW + k) * P, lane);
        if (lane < STATES) by_register[k * STATES + lane] = beside(q + (LOW + k) * P, lane << LANE_BITS);
    }
    // The lane's own bits, and all states of the register bits beside them.
    double off = value_alone(q, m, lane & ((1 << LANE_BITS) - 1)), current[STATES];
    fill_states(q, m, lane, current);
    __syncwarp();
    // Where users of an item never meet an event its bit does not matter. Such points differ by rounding alone, and the one
    // with the smaller code is taken.
    double noise = 0.0;
    for (int d = 0; d < D; ++d) noise = fmax(noise, 1e-14 * (q[d * P + d] + fabs(m[d])));
    double best = HUGE_NUMBER;
    int best_code = 0, code = 0;
    for (int step = 0; step < (1 << H); ++step) {
        if (step) {
            const int k = __ffs(step) - 1;
            code ^= 1 << k;
            const double sign = (code >> k) & 1 ? 1.0 : -1.0;
            off += sign * by_lane[k * 32 + lane];
            const Pair* added = reinterpret_cast<const Pair*>(by_register + k * STATES);
#pragma unroll
            for (int s = 0; s < STATES; s += 2) {
                current[s] += sign * added[s / 2].a;
                current[s + 1] += sign * added[s / 2].b;
            }
        }
        double least = current[0];
#pragma unroll
        for (int s = 1; s < STATES; ++s) least = fmin(least, current[s]);
        const double here = high[code] + off + least;
        if (here < best - noise || (here < best + noise && code < best_code)) {
            best = here;
            best_code = code;
        }
    }
    // Which of the registers it was: their values beside the best code, without what was rounded on the way.
    fill_states(q, m, lane | (best_code << LOW), current);
    int state = 0;
#pragma unroll
    for (int s = 1; s < STATES; ++s)
        if (current[s] < current[0] - noise) {
            current[0] = current[s];
            state = s;
        }
    int bits = lane | (state << LANE_BITS) | (best_code << LOW);
    if (lane >= (1 << LANE_BITS)) best = HUGE_NUMBER;
    for (int o = 16; o; o >>= 1) {
        const double value = __shfl_xor_sync(ALL, best, o);
        const int other = __shfl_xor_sync(ALL, bits, o);
        if (value < best - noise || (value < best + noise && other < bits)) {
            best = value;
            bits = other;
        }
    }
    const unsigned long long found = __shfl_sync(ALL, bits, 0);
    const double reached = value_of_bits(q, m, found);
    if (lane == 0) {
        out[row] = found;
        values[row] = reached;
    }
}
