#include "cublas_lt_api.h"

#include "tenon/ep.hpp"

namespace tenon::cuda {
namespace {

/// Of the major version that the headers at build time describe: its successors keep the interface.
const OptionalApi<CublasLtApi>& opened() {
  static const OptionalApi<CublasLtApi> once(
      numbered_library("cublasLt", CUBLAS_VER_MAJOR),
      install_cure(ep::cat("cuBLASLt ", CUBLAS_VER_MAJOR), ep::cat("libcublas-", CUBLAS_VER_MAJOR, "-0"),
                   "nvidia-cublas"));
  return once;
}

}  // namespace

const CublasLtApi* cublas_lt() { return opened().get(); }
const std::string& why_no_cublas_lt() { return opened().why_not(); }

ep::Error error_of(cublasStatus_t code, std::string_view what) {
  const CublasLtApi* const api = cublas_lt();
  const char* const name = api == nullptr ? nullptr : api->cublasLtGetStatusName(code);
  std::string text =
      name == nullptr ? ep::cat(what, ": cuBLAS error ", static_cast<int>(code)) : ep::cat(what, ": ", name);
  switch (code) {
    case CUBLAS_STATUS_ALLOC_FAILED:
      return {TENON_RESOURCE_EXHAUSTED, std::move(text)};
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return {TENON_UNIMPLEMENTED, std::move(text)};
    default:
      return {TENON_INTERNAL, std::move(text)};
  }
}

}  // namespace tenon::cuda
