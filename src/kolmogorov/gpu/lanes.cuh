// What all kernels share: sums over lanes, and random numbers, a splitmix64 stream per row as in `_support/jit.py`.
#pragma once

#define ALL 0xffffffffu
#define HUGE_NUMBER 1.0e300

// The sum of the numbers of neighbouring lanes; every lane returns it.
template <int LANES = 32, typename T>
__device__ inline T lane_sum(T x) {
#pragma unroll
    for (int o = LANES / 2; o; o >>= 1) x += __shfl_xor_sync(ALL, x, o);
    return x;
}

template <int LANES = 32, typename T>
__device__ inline T lane_max(T x) {
#pragma unroll
    for (int o = LANES / 2; o; o >>= 1) {
        const T other = __shfl_xor_sync(ALL, x, o);
        x = other > x ? other : x;
    }
    return x;
}

__device__ inline unsigned long long mixed(unsigned long long z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// 64 random bits; the state moves on.
__device__ inline unsigned long long next_random(unsigned long long& state) {
    state += 0x9E3779B97F4A7C15ull;
    return mixed(state);
}

// The seed of a row, where `half_step` is that of (seed, sweep, side).
__device__ inline unsigned long long row_seed(unsigned long long half_step, unsigned long long row) {
    return mixed(half_step + 0x9E3779B97F4A7C15ull * (row + 1ull));
}
