// What the objective and the next centre need to know of all users: sums over rows, in an order that is always the same.

// Blocks of rows: the sum of theta over rows with `counted`, and of the squares of all, to `out`[block, P + 1].
extern "C" __global__ void user_totals(long long n_rows, long long rows_of_block, const float* theta,
                                       const unsigned char* counted, double* out) {
    extern __shared__ double room[];
    double *sums = room, *squares = room + blockDim.x;
    const int d = threadIdx.x % P, lane = threadIdx.x / P, lanes = blockDim.x / P;
    const long long top = blockIdx.x * rows_of_block;
    const long long end = top + rows_of_block < n_rows ? top + rows_of_block : n_rows;
    double sum = 0.0, square = 0.0;
    if (lane < lanes)
        for (long long row = top + lane; row < end; row += lanes) {
            const double x = theta[row * P + d];
            square += x * x;
            if (counted[row]) sum += x;
        }
    sums[threadIdx.x] = sum;
    squares[threadIdx.x] = square;
    __syncthreads();
    if (threadIdx.x < P) {
        for (int l = 1; l < lanes; ++l) sum += sums[l * P + d];
        out[blockIdx.x * (P + 1) + d] = sum;
    }
    if (threadIdx.x == 0) {
        double total = 0.0;
        for (int k = 0; k < lanes * P; ++k) total += squares[k];
        out[blockIdx.x * (P + 1) + P] = total;
    }
}
