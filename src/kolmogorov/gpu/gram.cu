// Stage one of both half-steps: the normal equations of segments of rows. One warp a segment, on the tensor cores.
//
// BITS: partners are bits, one word each; then the products are exact in few bits, and sums are float. Otherwise partners are
// floats, and sums are double: with few entries many supports of an item fit nearly as well, and rounding should not choose
// among them. WEIGHTED: entries have weights. CODED: values are numbers of `book`.
#include "warp.cuh"

#define BLOCKS (P / 8)  // of eight factors

// One entry as lanes read it: the partner, the weight less `shift`, and the weighted value.
struct Entry {
    int partner;
    float weight, answer;
};

__device__ inline Entry entry(long long k, const int* indices, const void* values, const float* book,
                              const float* weights, float shift) {
    const float p = CODED ? book[static_cast<const unsigned short*>(values)[k]]
                          : static_cast<const float*>(values)[k];
    const float w = WEIGHTED ? weights[k] : 1.f;
    return {indices[k], w - shift, w * p};
}

// Sum the moment of four lanes each, and write it.
template <typename T>
__device__ inline void put_moment(T m[BLOCKS], T* moment) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
        m[b] = lane_sum<4>(m[b]);
        if (lane % 4 == 0) moment[8 * b + lane / 4] = m[b];
    }
}

#if BITS
#define TALL (P == 8 ? 1 : P / 16)              // tiles of 16 rows
#define TILES (P == 8 ? 1 : TALL * (TALL + 1))  // of 16 x 8 with an entry on or below the diagonal
typedef float Sum;

// The tensor cores round sums towards zero, so that with weights every 32 entries are summed apart.
__device__ inline void sum_segment(long long start, int n, const int* indices, const void* values, const float* book,
                                   const float* weights, const void* factors, float shift, float* gram, float* moment) {
    const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    float sum[TILES][4] = {}, m[BLOCKS] = {};
    for (int k0 = 0; k0 < n; k0 += 32) {
        Entry mine = {-1, 0.f, 0.f};
        unsigned long long bits = 0ull;
        if (k0 + lane < n) {
            mine = entry(start + k0 + lane, indices, values, book, weights, shift);
            bits = static_cast<const unsigned long long*>(factors)[mine.partner];
        }
#if WEIGHTED
        float part[TILES][4] = {};
#else
        float(&part)[TILES][4] = sum;
#endif
#pragma unroll
        for (int h = 0; h < 4; ++h) {
            if (k0 + 8 * h >= n) break;
            float f[BLOCKS][2], a[BLOCKS][2], rest[BLOCKS][2];
#pragma unroll
            for (int side = 0; side < 2; ++side) {
                const int from = 8 * h + t + 4 * side;
                const unsigned long long word = __shfl_sync(ALL, bits, from);
                const float answer = __shfl_sync(ALL, mine.answer, from);
                const float weight = WEIGHTED ? __shfl_sync(ALL, mine.weight, from) : 1.f;
#pragma unroll
                for (int b = 0; b < BLOCKS; ++b) {
                    f[b][side] = (word >> (8 * b + g)) & 1ull ? 1.f : 0.f;
                    m[b] += answer * f[b][side];
                    a[b][side] = WEIGHTED ? leading(weight) * f[b][side] : f[b][side];
                    rest[b][side] = (weight - leading(weight)) * f[b][side];
                }
            }
            int tile = 0;
#pragma unroll
            for (int i = 0; i < TALL; ++i) {
                const int next = P == 8 ? 0 : 2 * i + 1;
                const float there = P == 8 ? 0.f : 1.f;
                const float high[4] = {a[2 * i][0], there * a[next][0], a[2 * i][1], there * a[next][1]};
                const float low[4] = {rest[2 * i][0], there * rest[next][0], rest[2 * i][1], there * rest[next][1]};
#pragma unroll
                for (int j = 0; j <= next; ++j, ++tile) {
                    multiply(part[tile], high, f[j]);
                    if (WEIGHTED) multiply(part[tile], low, f[j]);
                }
            }
        }
#pragma unroll
        for (int k = 0; WEIGHTED && k < 4 * TILES; ++k) sum[k / 4][k % 4] += part[k / 4][k % 4];
    }
    const float scale = WEIGHTED ? 1.f : 1.f - shift;
    int tile = 0;
#pragma unroll
    for (int i = 0; i < TALL; ++i)
#pragma unroll
        for (int j = 0; j <= (P == 8 ? 0 : 2 * i + 1); ++j, ++tile) {
            float* at = gram + (16 * i + g) * P + 8 * j + 2 * t;
            *reinterpret_cast<float2*>(at) = make_float2(scale * sum[tile][0], scale * sum[tile][1]);
            if (P > 8) *reinterpret_cast<float2*>(at + 8 * P) = make_float2(scale * sum[tile][2], scale * sum[tile][3]);
        }
    put_moment(m, moment);
}
#else
#define TILES (BLOCKS * (BLOCKS + 1) / 2)
typedef double Sum;

__device__ inline void sum_segment(long long start, int n, const int* indices, const void* values, const float* book,
                                   const float* weights, const void* factors, float shift, double* gram, double* moment) {
    const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    double sum[TILES][2] = {}, m[BLOCKS] = {};
    for (int k0 = 0; k0 < n; k0 += 32) {
        Entry mine = {-1, 0.f, 0.f};
        if (k0 + lane < n) mine = entry(start + k0 + lane, indices, values, book, weights, shift);
#pragma unroll
        for (int h = 0; h < 8; ++h) {
            if (k0 + 4 * h >= n) break;
            const int partner = __shfl_sync(ALL, mine.partner, 4 * h + t);
            const float answer = __shfl_sync(ALL, mine.answer, 4 * h + t);
            const double weight = WEIGHTED ? __shfl_sync(ALL, mine.weight, 4 * h + t) : 1.f;
            double f[BLOCKS];
#pragma unroll
            for (int b = 0; b < BLOCKS; ++b) {
                f[b] = partner < 0 ? 0.f : static_cast<const float*>(factors)[(long long)partner * P + 8 * b + g];
                m[b] += answer * f[b];
            }
            int tile = 0;
#pragma unroll
            for (int i = 0; i < BLOCKS; ++i)
#pragma unroll
                for (int j = 0; j <= i; ++j) multiply(sum[tile++], WEIGHTED ? weight * f[i] : f[i], f[j]);
        }
    }
    const double scale = WEIGHTED ? 1.0 : 1.0 - shift;
    int tile = 0;
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i)
#pragma unroll
        for (int j = 0; j <= i; ++j, ++tile) {
            double* at = gram + (8 * i + g) * P + 8 * j + 2 * t;
            at[0] = scale * sum[tile][0];
            at[1] = scale * sum[tile][1];
        }
    put_moment(m, moment);
}
#endif

// sum of (w - shift) f f^T to `gram`[segment, P, P], on and below the diagonal, and sum of w p f to `moment`[segment, P].
extern "C" __global__ void normal_equations(long long n_segments, const long long* begin, const int* length,
                                            const int* indices, const void* values, const float* book,
                                            const float* weights, const void* factors, float shift, Sum* gram,
                                            Sum* moment) {
    const long long segment = blockIdx.x * (long long)(blockDim.x >> 5) + (threadIdx.x >> 5);
    if (segment >= n_segments) return;
    sum_segment(begin[segment], length[segment], indices, values, book, weights, factors, shift,
                gram + segment * P * P, moment + segment * P);
}
