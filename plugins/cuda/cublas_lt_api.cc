#include "cublas_lt_api.h"

#include "tenon/ep.hpp"

namespace tenon::cuda {
namespace {

/// The version that the headers at build time describe: its successors keep the interface.
constexpr int kMajor = CUBLAS_VER_MAJOR;

std::vector<std::string> names() {
#if defined(_WIN32)
  return {ep::cat("cublasLt64_", kMajor, ".dll")};
#else
  return {ep::cat("libcublasLt.so.", kMajor)};
#endif
}

struct Opened {
  CublasLtApi api;
  std::string why_not;

  Opened() {
    const Library library(names());
    if (!library.is_open()) {
      why_not = library.why_not();
      return;
    }
#define TENON_FIND(function)                                                          \
  api.function = reinterpret_cast<decltype(api.function)>(library.symbol(#function)); \
  if (api.function == nullptr && why_not.empty())                                     \
    why_not = ep::cat(names().front(), " has no function " #function);
    TENON_CUBLAS_LT_FUNCTIONS(TENON_FIND)
#undef TENON_FIND
    if (why_not.empty()) api.version = api.cublasLtGetVersion();
  }
};

const Opened& opened() {
  static const Opened once;
  return once;
}

}  // namespace

const CublasLtApi* cublas_lt() { return opened().why_not.empty() ? &opened().api : nullptr; }
const std::string& why_no_cublas_lt() { return opened().why_not; }

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
