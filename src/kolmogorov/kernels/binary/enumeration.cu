// Stage two for items: the exact minimum over {0,1}^D, for D up to 16. One warp a row.
//
// The five low bits are the lane, the next R bits the registers of a lane, and the H high bits run through the Gray code.
#include "warp.cuh"

#define LANE_BITS (D < 5 ? D : 5)
#define R (D - LANE_BITS < 4 ? D - LANE_BITS : 4)
#define H (D - LANE_BITS - R)
#define STATES (1 << R)

// As `pairwise_descent`; `bits` holds the points, of which bit d is the coordinate d.
extern "C" __global__ void enumerate_all(long long n_rows, const long long* segments, long long offset,
                                         const double* gram, const double* moment, const double* base, const double* pull,
                                         const unsigned long long* start, unsigned long long* out, double* values) {
    // q, m, the high bits' own values, what lanes and registers add to them.
    const int SIZE = P * P + P + (1 << H) + H * 32 + H * STATES;
    extern __shared__ double room[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const long long row = blockIdx.x * (long long)(blockDim.x >> 5) + warp;
    if (row >= n_rows) return;
    double* q = room + warp * SIZE;
    double* m = q + P * P;
    double* high = m + P;
    double* by_lane = high + (1 << H);
    double* by_register = by_lane + H * 32;
    load_row(gram, moment, segments[row] - offset, segments[row + 1] - offset, base, pull, q, m);
    for (int code = lane; code < (1 << H); code += 32) {
        double value = 0.0;
        for (int k = 0; k < H; ++k) {
            if (!((code >> k) & 1)) continue;
            const int d = LANE_BITS + R + k;
            value += q[d * P + d] - 2.0 * m[d];
            for (int l = 0; l < k; ++l)
                if ((code >> l) & 1) value += 2.0 * q[d * P + LANE_BITS + R + l];
        }
        high[code] = value;
    }
    for (int k = 0; k < H; ++k) {
        const double* line = q + (LANE_BITS + R + k) * P;
        double mine = 0.0;
        for (int b = 0; b < LANE_BITS; ++b)
            if ((lane >> b) & 1) mine += 2.0 * line[b];
        by_lane[k * 32 + lane] = mine;
        if (lane < STATES) {
            double added = 0.0;
            for (int b = 0; b < R; ++b)
                if ((lane >> b) & 1) added += 2.0 * line[LANE_BITS + b];
            by_register[k * STATES + lane] = added;
        }
    }
    // The lane's own bits, and all states of the register bits beside them.
    double off = 0.0;
    for (int b = 0; b < LANE_BITS; ++b) {
        if (!((lane >> b) & 1)) continue;
        off += q[b * P + b] - 2.0 * m[b];
        for (int c = 0; c < b; ++c)
            if ((lane >> c) & 1) off += 2.0 * q[b * P + c];
    }
    double current[STATES];
    current[0] = 0.0;
#pragma unroll
    for (int b = 0; b < R; ++b) {
        const int d = LANE_BITS + b;
        double alone = q[d * P + d] - 2.0 * m[d];
        for (int c = 0; c < LANE_BITS; ++c)
            if ((lane >> c) & 1) alone += 2.0 * q[d * P + c];
#pragma unroll
        for (int s = 0; s < (1 << b); ++s) {
            double with = current[s] + alone;
            for (int c = 0; c < b; ++c)
                if ((s >> c) & 1) with += 2.0 * q[d * P + LANE_BITS + c];
            current[s + (1 << b)] = with;
        }
    }
    __syncwarp();
    double best = HUGE_NUMBER;
    int best_code = 0, code = 0;
    for (int step = 0; step < (1 << H); ++step) {
        if (step) {
            const int k = __ffs(step) - 1;
            code ^= 1 << k;
            const double sign = (code >> k) & 1 ? 1.0 : -1.0;
            off += sign * by_lane[k * 32 + lane];
            const double* added = by_register + k * STATES;
#pragma unroll
            for (int s = 0; s < STATES; ++s) current[s] += sign * added[s];
        }
        double least = current[0];
#pragma unroll
        for (int s = 1; s < STATES; ++s) least = fmin(least, current[s]);
        const double here = high[code] + off + least;
        if (here < best) {
            best = here;
            best_code = code;
        }
    }
    if (D < 5 && lane >= (1 << D)) best = HUGE_NUMBER;
    int winner = lane;
    for (int o = 16; o; o >>= 1) {
        const double value = __shfl_xor_sync(ALL, best, o);
        const int other_code = __shfl_xor_sync(ALL, best_code, o), other = __shfl_xor_sync(ALL, winner, o);
        if (value < best || (value == best && other < winner)) {
            best = value;
            best_code = other_code;
            winner = other;
        }
    }
    // Which of the winner's registers it was: all of them are looked at again, exactly.
    unsigned long long found = start[row];
    double reached = value_of_bits(q, m, found);
    for (int s = 0; s < STATES; ++s) {
        const unsigned long long bits = (unsigned long long)winner | ((unsigned long long)s << LANE_BITS) |
                                        ((unsigned long long)best_code << (LANE_BITS + R));
        const double value = value_of_bits(q, m, bits);
        if (value < reached) {
            reached = value;
            found = bits;
        }
    }
    if (lane == 0) {
        out[row] = found;
        values[row] = reached;
    }
}
