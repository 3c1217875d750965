// Random numbers inside kernels: a splitmix64 stream per row, the same as in `_support/jit.py` and `_support/seeds.py`.
#pragma once

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
