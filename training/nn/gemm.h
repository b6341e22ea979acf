// Row-major matrix products on OpenBLAS, with a count of the work done.
#pragma once

#include <cblas.h>

#include <cstdint>

namespace clasp::training {

// Multiply-adds times two since the program began; the log divides it by time.
inline std::uint64_t gemm_flops = 0;

inline void count_flops(int m, int n, int k) {
    gemm_flops += std::uint64_t{2} * static_cast<std::uint64_t>(m) * static_cast<std::uint64_t>(n) *
                  static_cast<std::uint64_t>(k);
}

// C[m,n] = alpha * A[m,k] * B[n,k]^T + beta * C
inline void gemm_nt(int m, int n, int k, const float* a, int lda, const float* b, int ldb, float* c, int ldc,
                    float beta = 0.0F, float alpha = 1.0F) {
    count_flops(m, n, k);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

// C[m,n] = alpha * A[m,k] * B[k,n] + beta * C
inline void gemm_nn(int m, int n, int k, const float* a, int lda, const float* b, int ldb, float* c, int ldc,
                    float beta = 0.0F, float alpha = 1.0F) {
    count_flops(m, n, k);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

// C[m,n] = alpha * A[k,m]^T * B[k,n] + beta * C
inline void gemm_tn(int m, int n, int k, const float* a, int lda, const float* b, int ldb, float* c, int ldc,
                    float beta = 0.0F, float alpha = 1.0F) {
    count_flops(m, n, k);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace clasp::training
