// cuBLASLt: a table of its functions, opened at run time, and errors as exceptions.
#pragma once

#include <cublasLt.h>

#include <string>
#include <string_view>

#include "api.h"

namespace tenon::cuda {

#define TENON_CUBLAS_LT_FUNCTIONS(X)  \
  X(cublasLtGetVersion)               \
  X(cublasLtGetStatusName)            \
  X(cublasLtCreate)                   \
  X(cublasLtDestroy)                  \
  X(cublasLtMatmul)                   \
  X(cublasLtMatmulAlgoGetHeuristic)   \
  X(cublasLtMatmulDescCreate)         \
  X(cublasLtMatmulDescDestroy)        \
  X(cublasLtMatmulDescSetAttribute)   \
  X(cublasLtMatrixLayoutCreate)       \
  X(cublasLtMatrixLayoutDestroy)      \
  X(cublasLtMatrixLayoutSetAttribute) \
  X(cublasLtMatmulPreferenceCreate)   \
  X(cublasLtMatmulPreferenceDestroy)  \
  X(cublasLtMatmulPreferenceSetAttribute)

/// The functions of cuBLASLt.
struct CublasLtApi {
  TENON_CUDA_TABLE(TENON_CUBLAS_LT_FUNCTIONS)
  bool read_version() { return (version = cublasLtGetVersion()) != 0; }
  size_t version = 0;  // 130101 is 13.1.1
};

/// cuBLASLt, opened at the first call. Null if there is none that can be used. Thread-safe.
const CublasLtApi* cublas_lt();
/// Empty if cublas_lt() is there, else why not.
const std::string& why_no_cublas_lt();

/// The error of a call; memory that is missing is reported as such.
ep::Error error_of(cublasStatus_t code, std::string_view what);
inline void check(cublasStatus_t code, std::string_view what) {
  if (code != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    throw error_of(code, what);
}

}  // namespace tenon::cuda
