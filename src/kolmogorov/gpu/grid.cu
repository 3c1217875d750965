// Draws on a grid; what `fitted/posterior.on_grid` does. One thread a row of D events, in multiples of 1 / `steps`.
extern "C" __global__ void put_on_grid(const float* theta, long long n_rows, double steps, float* out) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= n_rows) return;
    double total = 0.0, used = 0.0;
    for (int d = 0; d < D; ++d) total += theta[row * D + d];
    double over[D];
    for (int d = 0; d < D; ++d) {
        const double scaled = theta[row * D + d] / total * steps, whole = floor(scaled);
        over[d] = scaled - whole;
        used += whole;
        out[row * D + d] = (float)whole;
    }
    const int missing = (int)rint(steps - used);
    // What is left over goes to the largest remainders, of equal ones to the first.
    for (int d = 0; d < D; ++d) {
        int rank = 0;
        for (int e = 0; e < D; ++e) rank += over[e] > over[d] || (over[e] == over[d] && e < d);
        out[row * D + d] = (float)((out[row * D + d] + (rank < missing)) / steps);
    }
}
