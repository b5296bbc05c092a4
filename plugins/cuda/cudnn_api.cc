#include "cudnn_api.h"

#if TENON_CUDA_HAS_CUDNN
#include "tenon/ep.hpp"

namespace tenon::cuda {
namespace {

std::vector<std::string> names() {
#if defined(_WIN32)
  return {ep::cat("cudnn64_", CUDNN_MAJOR, ".dll")};
#else
  return {ep::cat("libcudnn.so.", CUDNN_MAJOR)};
#endif
}

struct Opened {
  CudnnApi api;
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
    TENON_CUDNN_FUNCTIONS(TENON_FIND)
#undef TENON_FIND
    if (why_not.empty()) api.version = api.cudnnGetVersion();
  }
};

const Opened& opened() {
  static const Opened once;
  return once;
}

/// "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT (what the library says about it)".
std::string text_of(cudnnStatus_t code) {
  const CudnnApi& api = opened().api;
  std::string said(512, '\0');
  api.cudnnGetLastErrorString(said.data(), said.size());
  said.resize(said.find('\0') == std::string::npos ? said.size() : said.find('\0'));
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const std::string name = api.cudnnGetErrorString(code);
  return said.empty() ? name : ep::cat(name, " (", said, ")");
}

}  // namespace

const CudnnApi* cudnn() { return opened().why_not.empty() ? &opened().api : nullptr; }
const std::string& why_no_cudnn() { return opened().why_not; }

ep::Error error_of(cudnnStatus_t code, std::string_view what) {
  std::string text = ep::cat(what, ": ", text_of(code));
  switch (code) {
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return {TENON_RESOURCE_EXHAUSTED, std::move(text)};
    default:
      break;
  }
  const int category = CUDNN_STATUS_CATEGORY(static_cast<int>(code));
  return {category == CUDNN_STATUS_NOT_SUPPORTED ? TENON_UNIMPLEMENTED : TENON_INTERNAL, std::move(text)};
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  check(cudnn()->cudnnBackendCreateDescriptor(type, &handle_), "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (handle_ != nullptr && !is_forked()) cudnn()->cudnnBackendDestroyDescriptor(handle_);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                          const void* values) {
  check(cudnn()->cudnnBackendSetAttribute(handle_, name, type, count, values), "cudnnBackendSetAttribute");
}

int64_t CudnnDescriptor::read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              int64_t count, void* values) const {
  int64_t there = 0;
  check(cudnn()->cudnnBackendGetAttribute(handle_, name, type, count, &there, values),
        "cudnnBackendGetAttribute");
  return there;
}

void CudnnDescriptor::finalize() { check(cudnn()->cudnnBackendFinalize(handle_), "cudnnBackendFinalize"); }

}  // namespace tenon::cuda

#else

namespace tenon::cuda {

const std::string& why_no_cudnn() {
  static const std::string why = "tenon was built without cuDNN's headers";
  return why;
}

}  // namespace tenon::cuda
#endif
