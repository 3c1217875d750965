// A GPU of one block at a time, emulated on one core: every thread of the block is a fiber, and a fiber runs until it has to
// wait for others. What lanes tell each other, and who waits for whom, is as on the device; races are not found.
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <functional>
#include <vector>

#define EMULATED
#define __device__
#define __global__
#define __shared__ static
#define __restrict__
#define __forceinline__ inline

struct Place {
    unsigned x, y, z;
};
static Place threadIdx, blockIdx, blockDim, gridDim;

namespace emulation {

enum Wait { READY, AT_WARP, AT_BLOCK, OVER };

struct Fiber {
    ucontext_t context;
    jmp_buf here;
    std::vector<char> stack = std::vector<char>(1 << 16);
    Wait wait = READY;
    bool begun = false;
    uint64_t said = 0;
};

static std::vector<Fiber> fibers;
static int current = 0;
static jmp_buf scheduler;
static ucontext_t main_context;
static std::function<void()> kernel;

static void enter() {
    kernel();
    fibers[current].wait = OVER;
    _longjmp(scheduler, 1);
}

static void resume(int k) {
    current = k;
    threadIdx = {(unsigned)k, 0, 0};
    Fiber& fiber = fibers[k];
    fiber.wait = READY;
    if (_setjmp(scheduler)) return;
    if (fiber.begun) _longjmp(fiber.here, 1);
    fiber.begun = true;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, enter, 0);
    setcontext(&fiber.context);
}

static void wait(Wait kind) {
    Fiber& fiber = fibers[current];
    fiber.wait = kind;
    if (!_setjmp(fiber.here)) _longjmp(scheduler, 1);
}

// Whether all of some fibers wait for the same, or are over.
static bool together(size_t first, size_t last, Wait kind) {
    for (size_t k = first; k < last; ++k)
        if (fibers[k].wait != kind && fibers[k].wait != OVER) return false;
    return true;
}

static void run_block() {
    for (Fiber& fiber : fibers) {
        fiber.wait = READY;
        fiber.begun = false;
    }
    const size_t n = fibers.size();
    for (size_t k = 0; k < n; ++k) resume(k);
    while (true) {
        bool moved = false;
        if (together(0, n, AT_BLOCK)) {
            for (size_t k = 0; k < n; ++k)
                if (fibers[k].wait == AT_BLOCK) {
                    resume(k);
                    moved = true;
                }
            if (!moved) return;
            continue;
        }
        for (size_t first = 0; first < n; first += 32) {
            const size_t last = first + 32 < n ? first + 32 : n;
            if (!together(first, last, AT_WARP)) continue;
            for (size_t k = first; k < last; ++k)
                if (fibers[k].wait == AT_WARP) {
                    resume(k);
                    moved = true;
                }
        }
        if (!moved) {
            fprintf(stderr, "threads wait for each other at different places\n");
            abort();
        }
    }
}

static void launch(Place grid, Place block, std::function<void()> body) {
    kernel = body;
    fibers.resize(block.x);
    gridDim = grid;
    blockDim = block;
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                blockIdx = {x, y, z};
                run_block();
            }
}

template <typename T>
static T told(T value, int from) {
    static_assert(sizeof(T) <= 8, "a lane tells eight bytes at most");
    memcpy(&fibers[current].said, &value, sizeof(T));
    wait(AT_WARP);
    T heard;
    memcpy(&heard, &fibers[(current & ~31) + from].said, sizeof(T));
    wait(AT_WARP);
    return heard;
}

}  // namespace emulation

static inline void __syncwarp(unsigned = ~0u) { emulation::wait(emulation::AT_WARP); }
static inline void __syncthreads() { emulation::wait(emulation::AT_BLOCK); }
template <typename T>
static T __shfl_sync(unsigned, T value, int from) {
    return emulation::told(value, from & 31);
}
template <typename T>
static T __shfl_xor_sync(unsigned, T value, int by) {
    return emulation::told(value, (threadIdx.x & 31) ^ by);
}
template <typename T>
static T __shfl_up_sync(unsigned, T value, int by) {
    const int lane = threadIdx.x & 31;
    return emulation::told(value, lane >= by ? lane - by : lane);
}
static inline unsigned __ballot_sync(unsigned, int here) {
    unsigned bits = 0;
    emulation::fibers[emulation::current].said = here != 0;
    emulation::wait(emulation::AT_WARP);
    for (int k = 0; k < 32; ++k)
        bits |= (unsigned)emulation::fibers[(emulation::current & ~31) + k].said << k;
    emulation::wait(emulation::AT_WARP);
    return bits;
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
