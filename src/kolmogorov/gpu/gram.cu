// Stage one of both half-steps: the normal equations of segments of rows. One warp a segment, on the tensor cores.
//
// Sums are double, and stay so where partners are rows of float: with few entries many supports of an item fit nearly as
// well, and rounding should not choose among them. BITS: partners are bits, one word each, and sums are written as float.
// WEIGHTED: entries have weights.
#include "warp.cuh"

#define BLOCKS (P / 8)  // of eight factors
#define TILES (BLOCKS * (BLOCKS + 1) / 2)
#if BITS
typedef float Sum;
#else
typedef double Sum;
#endif

// c += a b for a tile of 8 x 8, a being 8 x 4 and b 4 x 8. Lane 4 g + t holds row g of a at column t, column g of b at row t,
// and row g of c at columns 2 t and 2 t + 1.
__device__ inline void multiply(double c[2], double a, double b) {
#ifdef EMULATED
    emulated_multiply(c, a, b);
#else
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
#endif
}

// sum of (w - shift) f f^T to `gram`[segment, P, P], on and below the diagonal, and sum of w p f to `moment`[segment, P].
extern "C" __global__ void normal_equations(long long n_segments, const long long* begin, const int* length,
                                            const int* indices, const float* values, const float* weights,
                                            const void* factors, float shift, Sum* gram, Sum* moment) {
    const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    const long long segment = blockIdx.x * (long long)(blockDim.x >> 5) + (threadIdx.x >> 5);
    if (segment >= n_segments) return;
    const int n = length[segment];
    double sum[TILES][2] = {}, m[BLOCKS] = {};
    for (int k0 = 0; k0 < n; k0 += 32) {
        const long long k = begin[segment] + k0 + lane;
        long long partner = -1;
        unsigned long long bits = 0ull;
        float weight = 1.f, answer = 0.f;
        if (k0 + lane < n) {
            partner = indices[k];
            if (BITS) bits = static_cast<const unsigned long long*>(factors)[partner];
            if (WEIGHTED) weight = weights[k];
            answer = weight * values[k];
        }
#pragma unroll
        for (int h = 0; h < 8; ++h) {
            if (k0 + 4 * h >= n) break;
            const long long whose = BITS ? 0ll : __shfl_sync(ALL, partner, 4 * h + t);
            const unsigned long long word = BITS ? __shfl_sync(ALL, bits, 4 * h + t) : 0ull;
            const float here = __shfl_sync(ALL, answer, 4 * h + t);
            const double w = WEIGHTED ? __shfl_sync(ALL, weight, 4 * h + t) - shift : 1.f;
            double f[BLOCKS];
#pragma unroll
            for (int b = 0; b < BLOCKS; ++b) {
                const int d = 8 * b + g;
                f[b] = BITS ? ((word >> d) & 1ull ? 1.0 : 0.0) : whose < 0 ? 0.0 : static_cast<const float*>(factors)[whose * P + d];
                m[b] += here * f[b];
            }
            int tile = 0;
#pragma unroll
            for (int i = 0; i < BLOCKS; ++i)
#pragma unroll
                for (int j = 0; j <= i; ++j) multiply(sum[tile++], WEIGHTED ? w * f[i] : f[i], f[j]);
        }
    }
    const double scale = WEIGHTED ? 1.0 : 1.f - shift;
    int tile = 0;
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i) {
#pragma unroll
        for (int j = 0; j <= i; ++j, ++tile) {
            Sum* at = gram + (segment * P + 8 * i + g) * P + 8 * j + 2 * t;
            at[0] = Sum(scale * sum[tile][0]);
            at[1] = Sum(scale * sum[tile][1]);
        }
        m[i] = lane_sum<4>(m[i]);
        if (t == 0) moment[segment * P + 8 * i + g] = Sum(m[i]);
    }
}
