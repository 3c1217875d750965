// The normal equations of one row of one chain, by the warps of a block.
//
// Lanes share out the pairs of factors; a tile of entries at a time is put where all lanes see it. Sums are made in single
// precision by each warp for every WARPS-th tile, and put together in double precision in the order of the warps.
#pragma once

#define EVERY_LANE 0xffffffffu
#define WIDE (D + 1)                         // factors, then the answer
#define PAIRS (WIDE * (WIDE + 1) / 2 - 1)    // of factors, and of a factor and the answer
#define PER_LANE ((PAIRS + 31) / 32)
#define TILE (D <= 32 ? 32 : 4)              // entries

// Sums of w f f^T to q[D * D] and of w p f to m[D], shared by the block as `tiles`[WARPS * TILE * WIDE] are. The weight of an
// entry is, where WEIGHTED, `weights`[entry], or else 1, over `noise`[partner] unless that is null.
__device__ inline void row_equations(long long begin, long long end, const int* indices, const float* values,
                                     const float* weights, const float* noise, const float* factors, float* tiles,
                                     double* q, double* m) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float* tile = tiles + warp * TILE * WIDE;
    int at[PER_LANE];
    float sum[PER_LANE];
#pragma unroll
    for (int j = 0; j < PER_LANE; ++j) {
        const int p = lane + 32 * j;
        int d = (int)(0.5f * (sqrtf(8.f * p + 1.f) - 1.f));
        d += (d + 1) * (d + 2) / 2 <= p;
        d -= d * (d + 1) / 2 > p;
        const int e = p - d * (d + 1) / 2;
        at[j] = p < PAIRS ? d * 128 + e : 0;
        sum[j] = 0.f;
    }
    for (long long first = begin + warp * TILE; first < end; first += WARPS * TILE) {
        const int here = end - first < TILE ? (int)(end - first) : TILE;
        int partner = 0;
        float root = 0.f;
        if (lane < here) {
            partner = indices[first + lane];
            float w = WEIGHTED ? weights[first + lane] : 1.f;
            if (noise) w /= noise[partner];
            root = sqrtf(w);
            tile[lane * WIDE + D] = root * values[first + lane];
        }
        for (int t = lane; t - lane < here * D; t += 32) {
            const int r = t / D < TILE ? t / D : TILE - 1;
            const long long whose = __shfl_sync(EVERY_LANE, partner, r);
            const float by = __shfl_sync(EVERY_LANE, root, r);
            if (t < here * D) tile[r * WIDE + t % D] = by * factors[whose * D + t % D];
        }
        __syncwarp();
        for (int r = 0; r < here; ++r) {
            const float* f = tile + r * WIDE;
#pragma unroll
            for (int j = 0; j < PER_LANE; ++j) sum[j] += f[at[j] >> 7] * f[at[j] & 127];
        }
        __syncwarp();
    }
    for (int of = 0; of < WARPS; ++of) {
        if (warp == of) {
#pragma unroll
            for (int j = 0; j < PER_LANE; ++j) {
                if (lane + 32 * j >= PAIRS) continue;
                const int d = at[j] >> 7, e = at[j] & 127;
                double* place = d < D ? q + d * D + e : m + e;
                *place = of ? *place + (double)sum[j] : (double)sum[j];
            }
        }
        __syncthreads();
    }
    for (int k = threadIdx.x; k < D * D; k += 32 * WARPS)
        if (k % D > k / D) q[k] = q[(k % D) * D + k / D];
    __syncthreads();
}
