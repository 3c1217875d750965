// What most models exceed: the KEPT smallest of what each says of a pair are kept in order, a thread a pair.
#define FEW 64  // numbers that a thread holds in registers

// The quantile of `said`[draws, n] over draws, at `place` counted from the smallest, between neighbours by a straight line.
extern "C" __global__ void low_quantile(long long n, int draws, double place, const double* said, double* out) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= n) return;
    double least[KEPT];
#pragma unroll(KEPT <= FEW ? KEPT : 1)
    for (int j = 0; j < KEPT; ++j) least[j] = 1e300;
    for (int draw = 0; draw < draws; ++draw) {
        double value = said[draw * n + k];
        if (value >= least[KEPT - 1]) continue;
        // It goes down the row and leaves the smaller of two in every place.
#pragma unroll(KEPT <= FEW ? KEPT : 1)
        for (int j = 0; j < KEPT; ++j) {
            const double low = fmin(least[j], value);
            value = fmax(least[j], value);
            least[j] = low;
        }
    }
    // The last two that are kept are the neighbours, or the same where there is one draw.
    const double below = least[KEPT > 1 ? KEPT - 2 : 0];
    out[k] = below + (place - (long long)place) * (least[KEPT - 1] - below);
}
