// The normal equations of rows as they leave the GPU: segments summed in their order, both halves of the matrix, no padding.
extern "C" __global__ void sum_segments(long long n_rows, const long long* segments, long long offset, const double* gram,
                                        const double* moment, const double* base, const double* pull, double* squares,
                                        double* lines) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x, row = k / (D * (D + 1));
    if (row >= n_rows) return;
    const int place = k % (D * (D + 1)), i = place / (D + 1), j = place % (D + 1);
    const long long first = segments[row] - offset, last = segments[row + 1] - offset;
    // The place past the end of a line is its moment's.
    const int low = i < j ? i : j, high = i < j ? j : i;
    const double* from = j == D ? moment + i : gram + high * P + low;
    const int stride = j == D ? P : P * P;
    double sum = 0.0;
    for (long long s = first; s < last; ++s) sum += from[s * stride];
    if (j == D)
        lines[row * D + i] = sum + pull[i];
    else
        squares[(row * D + i) * D + j] = sum + base[high * P + low];
}
