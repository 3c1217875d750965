// Enough of a GPU to run kernels of one warp or block on the host: every thread of a block is a fiber, and all of them go
// from one meeting point (a shuffle, a vote, a barrier) to the next in turn.
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#define EMULATED 1
#define __device__
#define __global__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
#define __shared__
struct Index {
    unsigned x = 0, y = 0, z = 0;
};
static Index threadIdx, blockIdx, blockDim, gridDim;
using std::max;
using std::min;
inline float __fdividef(float a, float b) { return a / b; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
// What `extern __shared__` arrays of these names are.
alignas(16) float shared[1 << 17];
alignas(16) double room[1 << 17];

namespace emulation {
struct Fiber {
    ucontext_t context;
    jmp_buf here;
    bool begun = false;
    std::vector<char> stack = std::vector<char>(1 << 17);
    bool done = false;
    int meeting = 0;
    int barriers = 0;
};
static std::vector<std::unique_ptr<Fiber>> fibers;
static jmp_buf scheduler;
static int current;
static std::function<void()> work;
static std::vector<uint64_t> slots[2];

// Contexts are entered once; from then on jumps, which unlike switches of contexts ask nothing of the system.
inline void yield() {
    const int me = current;
    if (!_setjmp(fibers[me]->here)) _longjmp(scheduler, 1);
    current = me;
}

inline void body() {
    work();
    fibers[current]->done = true;
    _longjmp(scheduler, 1);
}

inline void resume(Fiber& fiber) {
    if (_setjmp(scheduler)) return;
    if (fiber.begun) _longjmp(fiber.here, 1);
    fiber.begun = true;
    setcontext(&fiber.context);
}

// Put a number down, wait for all, and look at the others of the warp.
template <typename T>
struct Met {
    const uint64_t* lanes;
    T operator[](int lane) const {
        T value;
        std::memcpy(&value, lanes + lane, sizeof(T));
        return value;
    }
};
template <typename T>
inline Met<T> meet(T value) {
    Fiber& me = *fibers[current];
    auto& slot = slots[me.meeting++ % 2];
    std::memcpy(&slot[current], &value, sizeof(T));
    yield();
    return {slot.data() + (current / 32) * 32};
}

template <typename F>
void launch(int blocks, int threads, F f) {
    blockDim.x = threads;
    gridDim.x = blocks;
    work = f;
    slots[0].assign(threads, 0);
    slots[1].assign(threads, 0);
    for (int b = 0; b < blocks; ++b) {
        blockIdx.x = b;
        while ((int)fibers.size() < threads) fibers.push_back(std::make_unique<Fiber>());
        fibers.resize(threads);
        for (int t = 0; t < threads; ++t) {
            Fiber& fiber = *fibers[t];
            fiber.done = fiber.begun = false;
            fiber.meeting = fiber.barriers = 0;
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack.data();
            fiber.context.uc_stack.ss_size = fiber.stack.size();
            fiber.context.uc_link = nullptr;
            makecontext(&fiber.context, body, 0);
        }
        for (bool left = true; left;) {
            left = false;
            for (int t = 0; t < threads; ++t) {
                if (fibers[t]->done) continue;
                current = t;
                threadIdx.x = t;
                resume(*fibers[t]);
                left = true;
            }
        }
    }
}

// Wait until all threads of the block that are left have come here; warps may come from meetings of their own.
inline void wait_for_all() {
    const int mine = ++fibers[current]->barriers;
    for (bool missing = true; missing;) {
        yield();
        missing = false;
        for (const auto& fiber : fibers) missing |= !fiber->done && fiber->barriers < mine;
    }
}
}  // namespace emulation

template <typename T>
inline T __shfl_sync(unsigned, T value, int from) {
    return emulation::meet(value)[from & 31];
}
template <typename T>
inline T __shfl_xor_sync(unsigned, T value, int mask) {
    const int lane = threadIdx.x & 31;
    return emulation::meet(value)[lane ^ mask];
}
template <typename T>
inline T __shfl_down_sync(unsigned, T value, int by) {
    const int lane = threadIdx.x & 31;
    return emulation::meet(value)[lane + by < 32 ? lane + by : lane];
}
template <typename T>
inline T __shfl_up_sync(unsigned, T value, int by) {
    const int lane = threadIdx.x & 31;
    return emulation::meet(value)[lane >= by ? lane - by : lane];
}
inline unsigned __ballot_sync(unsigned, bool mine) {
    const auto met = emulation::meet((int)mine);
    unsigned word = 0;
    for (int lane = 0; lane < 32; ++lane) word |= (unsigned)(met[lane] != 0) << lane;
    return word;
}
inline bool __any_sync(unsigned mask, bool mine) { return __ballot_sync(mask, mine) != 0; }
inline bool __all_sync(unsigned mask, bool mine) { return __ballot_sync(mask, mine) == 0xffffffffu; }
inline int atomicAdd(int* place, int by) { return (*place += by) - by; }
inline void __syncwarp(unsigned = 0xffffffffu) { emulation::meet(0); }
inline void __syncthreads() { emulation::wait_for_all(); }

// As `multiply` in gram.cu.
inline void emulated_multiply(double c[2], double a, double b) {
    const auto met = emulation::meet(a);
    double all[32];
    for (int lane = 0; lane < 32; ++lane) all[lane] = met[lane];
    const auto other = emulation::meet(b);
    const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    for (int h = 0; h < 2; ++h)
        for (int k = 0; k < 4; ++k) c[h] += all[4 * g + k] * other[4 * (2 * t + h) + k];
}
