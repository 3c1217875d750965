// Inner products theta_u . psi_i at chosen pairs, a thread each, cut to [0, 1].
extern "C" __global__ void pair_products(long long n, int size, const float* theta, const float* psi, const int* users,
                                         const int* items, float* out) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= n) return;
    const float* t = theta + (long long)users[k] * size;
    const float* f = psi + (long long)items[k] * size;
    float total = 0.f;
    for (int d = 0; d < size; ++d) total += t[d] * f[d];
    out[k] = fminf(fmaxf(total, 0.f), 1.f);
}
