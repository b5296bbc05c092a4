#include "cudnn_api.h"

#if TENON_CUDA_HAS_CUDNN
#include "tenon/ep.hpp"

namespace tenon::cuda {
namespace {

/// Of the major version that the headers at build time describe.
const OptionalApi<CudnnApi>& opened() {
  static const OptionalApi<CudnnApi> once(
      numbered_library("cudnn", CUDNN_MAJOR),
      install_cure(ep::cat("cuDNN ", CUDNN_MAJOR), ep::cat("cudnn", CUDNN_MAJOR, "-cuda-13"),
                   "nvidia-cudnn-cu13"));
  return once;
}

/// "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT (what the library says about it)".
std::string text_of(cudnnStatus_t code) {
  const CudnnApi& api = *cudnn();
  std::string said(512, '\0');
  api.cudnnGetLastErrorString(said.data(), said.size());
  said.resize(said.find('\0') == std::string::npos ? said.size() : said.find('\0'));
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const std::string name = api.cudnnGetErrorString(code);
  return said.empty() ? name : ep::cat(name, " (", said, ")");
}

}  // namespace

const CudnnApi* cudnn() { return opened().get(); }
const std::string& why_no_cudnn() { return opened().why_not(); }

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
  static const std::string why =
      "tenon was built without cuDNN's headers; build it with them, which tools/setup --cuda gets";
  return why;
}

}  // namespace tenon::cuda
#endif
