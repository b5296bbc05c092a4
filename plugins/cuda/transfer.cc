#include "transfer.h"

#include <cstring>

#include "instance.h"

namespace tenon::cuda {
namespace {

void CUDA_CB copy_within_host(void* raw) {
  const auto& transfer = *static_cast<const Transfer*>(raw);
  std::memmove(transfer.to.address, transfer.from.address, transfer.bytes);
}

}  // namespace

void Transfer::enqueue(CUstream stream) const {
  const DriverApi& api = driver();
  if (is_within_host()) {
    check(api.cuLaunchHostFunc(stream, copy_within_host, const_cast<Transfer*>(this)), "cuLaunchHostFunc");
  } else if (from.device == nullptr) {
    check(api.cuMemcpyHtoDAsync(to.pointer, from.address, bytes, stream), "cuMemcpyHtoDAsync");
  } else if (to.device == nullptr) {
    check(api.cuMemcpyDtoHAsync(to.address, from.pointer, bytes, stream), "cuMemcpyDtoHAsync");
  } else if (to.device == from.device) {
    check(api.cuMemcpyDtoDAsync(to.pointer, from.pointer, bytes, stream), "cuMemcpyDtoDAsync");
  } else {
    check(api.cuMemcpyPeerAsync(to.pointer, to.device->context(), from.pointer, from.device->context(), bytes,
                                stream),
          "cuMemcpyPeerAsync");
  }
}

std::string Transfer::name() const {
  const char* const way = is_within_host()           ? "within the host"
                          : from.device == nullptr   ? "to the device"
                          : to.device == nullptr     ? "from the device"
                          : to.device == from.device ? "within the device"
                                                     : "from another device";
  return ep::cat("copy of ", bytes, " bytes ", way);
}

}  // namespace tenon::cuda
