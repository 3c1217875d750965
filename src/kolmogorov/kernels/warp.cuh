// What kernels of one warp share: a product on the tensor cores, and the normal equations of a row.
//
// D is the number of events, P the length of a row of factors: D rounded up to 8, or to a multiple of 16.
#pragma once

#define ALL 0xffffffffu
#define HUGE_VALUE 3.0e38f

// A number that the tensor cores take as it is: the leading 11 bits. What is left over is such a number too, nearly.
__device__ inline float leading(float x) { return __uint_as_float(__float_as_uint(x) & 0xffffe000u); }

// c += a b for a tile of 16 x 8, a being 16 x 8 and b 8 x 8. Lane 4 g + t holds rows g and g + 8 of a at columns t and t + 4,
// column g of b at rows t and t + 4, and rows g and g + 8 of c at columns 2 t and 2 t + 1.
__device__ inline void multiply(float c[4], const float a[4], const float b[2]) {
#ifdef EMULATED
    emulated_multiply(c, a, b);
#else
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
          "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#endif
}

// Write a row's matrix to q[P * P] and its moment to m[P]: its segments summed in their order, plus `base` and `pull`.
// Only the lower half of what was summed is looked at.
__device__ inline void load_row(const float* gram, const float* moment, long long first, long long last, const float* base,
                                const float* pull, float* q, float* m) {
    const int lane = threadIdx.x & 31;
    for (int k = 4 * lane; k < P * P; k += 128) {
        float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
        for (long long s = first; s < last; ++s) {
            const float4 part = *reinterpret_cast<const float4*>(gram + s * P * P + k);
            sum.x += part.x;
            sum.y += part.y;
            sum.z += part.z;
            sum.w += part.w;
        }
        *reinterpret_cast<float4*>(q + k) = sum;
    }
    for (int d = lane; d < P; d += 32) {
        float sum = 0.f;
        for (long long s = first; s < last; ++s) sum += moment[s * P + d];
        m[d] = sum + pull[d];
    }
    __syncwarp();
    for (int k = lane; k < D * D; k += 32) {
        const int d = k / D, e = k % D;
        if (e > d) continue;
        const float sum = q[d * P + e] + base[d * P + e];
        q[d * P + e] = sum;
        q[e * P + d] = sum;
    }
    __syncwarp();
}

// The value x^T q x - 2 x^T m of a point given by bits; every lane returns it.
__device__ inline double value_of_bits(const float* q, const float* m, unsigned long long bits) {
    const int lane = threadIdx.x & 31;
    double total = 0.0;
    for (int d = lane; d < D; d += 32) {
        if (!((bits >> d) & 1ull)) continue;
        double line = -2.0 * m[d];
        for (int e = 0; e < D; ++e)
            if ((bits >> e) & 1ull) line += q[d * P + e];
        total += line;
    }
    for (int o = 16; o; o >>= 1) total += __shfl_xor_sync(ALL, total, o);
    return total;
}
