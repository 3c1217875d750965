// Stage one of both half-steps: the normal equations of segments of rows. One warp a segment, on the tensor cores.
//
// BITS: partners are bits, one word each. WEIGHTED: entries have weights. CODED: values are numbers of `book`.
#include "warp.cuh"

#define BLOCKS (P / 8)                    // of eight factors
#define TALL (P == 8 ? 1 : P / 16)        // tiles of 16 rows
#define TILES (P == 8 ? 1 : TALL * (TALL + 1))  // of 16 x 8 with an entry on or below the diagonal

// sum of (w - shift) f f^T to `gram`[segment, P, P], on and below the diagonal, and sum of w p f to `moment`[segment, P].
//
// A number is split into two that the tensor cores take, of which three products are summed: as good as float32. They round
// sums towards zero, so that every 32 entries are summed apart and added up by the ordinary units.
extern "C" __global__ void normal_equations(long long n_segments, const long long* begin, const int* length,
                                            const int* indices, const void* values, const float* book,
                                            const float* weights, const void* factors, float shift, float* gram,
                                            float* moment) {
    const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    const long long segment = blockIdx.x * (long long)(blockDim.x >> 5) + (threadIdx.x >> 5);
    if (segment >= n_segments) return;
    const long long start = begin[segment];
    const int n = length[segment];
    float sum[TILES][4] = {}, m[BLOCKS] = {};
    for (int k0 = 0; k0 < n; k0 += 32) {
        const long long k = start + k0 + lane;
        int partner = -1;
        float p = 0.f, w = 1.f;
        if (k0 + lane < n) {
            partner = indices[k];
#if CODED
            p = book[static_cast<const unsigned short*>(values)[k]];
#else
            p = static_cast<const float*>(values)[k];
#endif
#if WEIGHTED
            w = weights[k];
            p *= w;
#endif
        }
        float part[TILES][4] = {};
#pragma unroll
        for (int h = 0; h < 4; ++h) {
            if (k0 + 8 * h >= n) break;
            float f[BLOCKS][2], low[BLOCKS][2], a[BLOCKS][2], a_low[BLOCKS][2];
#pragma unroll
            for (int side = 0; side < 2; ++side) {
                const int from = 8 * h + t + 4 * side;
                const int other = __shfl_sync(ALL, partner, from);
                const float answer = __shfl_sync(ALL, p, from);
#if WEIGHTED
                const float weight = __shfl_sync(ALL, w, from) - shift;
#endif
#if BITS
                const unsigned long long word =
                    other < 0 ? 0ull : static_cast<const unsigned long long*>(factors)[other];
#endif
#pragma unroll
                for (int b = 0; b < BLOCKS; ++b) {
#if BITS
                    const float x = (word >> (8 * b + g)) & 1ull ? 1.f : 0.f;
#else
                    const float x = other < 0 ? 0.f : static_cast<const float*>(factors)[(long long)other * P + 8 * b + g];
#endif
                    m[b] += answer * x;
                    f[b][side] = leading(x);
                    low[b][side] = x - f[b][side];
#if WEIGHTED
                    a[b][side] = leading(weight * x);
                    a_low[b][side] = weight * x - a[b][side];
#else
                    a[b][side] = f[b][side];
                    a_low[b][side] = low[b][side];
#endif
                }
            }
            int tile = 0;
#pragma unroll
            for (int i = 0; i < TALL; ++i) {
                const int next = P == 8 ? 0 : 2 * i + 1;
                const float zero = P == 8 ? 0.f : 1.f;
                const float high[4] = {a[2 * i][0], zero * a[next][0], a[2 * i][1], zero * a[next][1]};
                const float rest[4] = {a_low[2 * i][0], zero * a_low[next][0], a_low[2 * i][1], zero * a_low[next][1]};
#pragma unroll
                for (int j = 0; j <= next; ++j) {
                    multiply(part[tile], high, f[j]);
#if !BITS
                    multiply(part[tile], high, low[j]);
#endif
#if !BITS || WEIGHTED
                    multiply(part[tile], rest, f[j]);
#endif
                    ++tile;
                }
            }
        }
#pragma unroll
        for (int tile = 0; tile < TILES; ++tile)
#pragma unroll
            for (int c = 0; c < 4; ++c) sum[tile][c] += part[tile][c];
    }
    float* out = gram + segment * P * P;
    const float scale = WEIGHTED ? 1.f : 1.f - shift;
    int tile = 0;
#pragma unroll
    for (int i = 0; i < TALL; ++i) {
        const int next = P == 8 ? 0 : 2 * i + 1;
#pragma unroll
        for (int j = 0; j <= next; ++j) {
            float* at = out + (16 * i + g) * P + 8 * j + 2 * t;
            *reinterpret_cast<float2*>(at) = make_float2(scale * sum[tile][0], scale * sum[tile][1]);
            if (P > 8) *reinterpret_cast<float2*>(at + 8 * P) = make_float2(scale * sum[tile][2], scale * sum[tile][3]);
            ++tile;
        }
    }
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
        m[b] += __shfl_xor_sync(ALL, m[b], 1);
        m[b] += __shfl_xor_sync(ALL, m[b], 2);
        if (t == 0) moment[segment * P + 8 * b + g] = m[b];
    }
}
