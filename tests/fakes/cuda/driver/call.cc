#include "call.h"

#include "capture.h"
#include "context.h"
#include "errors.h"
#include "process.h"

namespace fake_cuda {

CUresult why_unusable(unsigned needs) {
  if ((needs & kDriver) == 0) return CUDA_SUCCESS;
  return driver().forked || !driver().initialised ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
}

void Call::enter(unsigned needs) {
  ++driver().counts[name_];
  if ((needs & kContext) == kContext) {
    Context* context = current_context();
    require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
    require(context->is_active(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    device_ = context->device;
    if (const CUresult error = error_of(*device_); error != CUDA_SUCCESS) refuse(error, "the error stays");
  }
  if ((needs & kUnsafe) != 0) refuse_in_capture(*this);
}

CUresult Call::finish(CUresult code, const std::string& why) {
  if (!lock_.owns_lock()) lock_.lock();
  const Log& log = driver().log;
  if (!log.is_open()) return code;
  std::string line = name_;
  if (!detail_.empty()) line += " " + detail_;
  line += std::string(" = ") + error_name(code);
  if (!why.empty()) line += " (" + why + ")";
  log.line(line);
  return code;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kContext:
      return "context";
    case Kind::kStream:
      return "stream";
    case Kind::kEvent:
      return "event";
    case Kind::kModule:
      return "module";
    case Kind::kFunction:
      return "function";
    case Kind::kLibrary:
      return "library";
    case Kind::kKernel:
      return "kernel";
    case Kind::kPool:
      return "memory pool";
    case Kind::kGraph:
      return "graph";
    case Kind::kGraphExec:
      return "executable graph";
  }
  return "object";
}

Stream& stream_of(const Call& call, CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return call.device().null_stream();
  auto& stream = object_of<Stream>(handle, Kind::kStream);
  if (const CUresult error = error_of(*stream.device); error != CUDA_SUCCESS)
    refuse(error, "the error stays");
  return stream;
}

Device& device_of_ordinal(CUdevice device) {
  const auto& devices = driver().devices;
  require(device >= 0 && static_cast<size_t>(device) < devices.size(), CUDA_ERROR_INVALID_DEVICE);
  return *devices[static_cast<size_t>(device)];
}

void join(Clock& into, const Clock& other) {
  for (const auto& [queue, number] : other) {
    uint64_t& at = into[queue];
    at = std::max(at, number);
  }
}

Driver& driver() {
  static auto* const driver = new Driver();
  return *driver;
}

}  // namespace fake_cuda
