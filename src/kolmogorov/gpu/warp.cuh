// What the descent's kernels of one warp share: the normal equations of a row, and the values of points.
// D is the number of events, P the length of a row of factors: D rounded up to 8, or to a multiple of 16.
#pragma once

#include "lanes.cuh"

// Write a row's matrix to q[P * P] and its moment to m[P]: its segments summed in their order, plus `base` and `pull`. So many
// lanes load it together, of which this is number `mine`; a warp may load several rows at once. Only what is on and below the
// diagonal of the sums is looked at.
template <int LANES, typename From, typename To>
__device__ inline void load_row(const From* gram, const From* moment, long long first, long long last,
                                const double* base, const double* pull, int mine, To* q, To* m) {
    struct alignas(16) Four {
        From at[4];
    };
#pragma unroll 4
    for (int k = 4 * mine; k < D * P; k += 4 * LANES) {
        // Past the diagonal nothing was written.
        if (k % P > k / P) continue;
        Four sum = *reinterpret_cast<const Four*>(gram + first * P * P + k);
        for (long long s = first + 1; s < last; ++s) {
            const Four more = *reinterpret_cast<const Four*>(gram + s * P * P + k);
#pragma unroll
            for (int j = 0; j < 4; ++j) sum.at[j] += more.at[j];
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) q[k + j] = To(sum.at[j] + base[k + j]);
    }
    for (int d = mine; d < P; d += LANES) {
        From sum = From(0);
        for (long long s = first; s < last; ++s) sum += moment[s * P + d];
        m[d] = To(sum + pull[d]);
    }
    __syncwarp();
    for (int d = 1; d < D; ++d)
        for (int e = mine; e < d; e += LANES) q[e * P + d] = q[d * P + e];
    __syncwarp();
}

// Twice what an event's row of q adds up to at some events.
__device__ inline double beside(const double* line, unsigned long long bits) {
    double total = 0.0;
    for (int e = 0; e < D; ++e)
        if ((bits >> e) & 1ull) total += 2.0 * line[e];
    return total;
}

// What it changes in x^T q x - 2 x^T m to add event d to the others of a point.
__device__ inline double rise(const double* q, const double* m, unsigned long long bits, int d) {
    return q[d * P + d] - 2.0 * m[d] + beside(q + d * P, bits & ~(1ull << d));
}

// The value x^T q x - 2 x^T m of a point given by bits; every lane returns it.
__device__ inline double value_of_bits(const double* q, const double* m, unsigned long long bits) {
    double total = 0.0;
    for (int d = threadIdx.x & 31; d < D; d += 32)
        if ((bits >> d) & 1ull) total += rise(q, m, bits & ((1ull << d) - 1ull), d);
    return lane_sum(total);
}
