// Copies between memory of devices and of the host, in the order of a stream.
#pragma once

#include <string>

#include "memory.h"

namespace tenon::cuda {

class Device;

/// One end of a copy: memory of a device, or an address of the host.
struct Place {
  CUdeviceptr pointer = 0;
  const Device* device = nullptr;  // null: an address
  char* address = nullptr;
  bool is_pinned = true;  // the driver can copy from and to the address without the host
};

/// A copy. Borrows both ends.
struct Transfer {
  Place to, from;
  uint64_t bytes = 0;

  bool is_within_host() const { return to.device == nullptr && from.device == nullptr; }
  /// Gives it to the stream, which may be capturing. The context of the stream is current. This object lives until the copy is
  /// done, if is_within_host().
  void enqueue(CUstream stream) const;
  /// For traces.
  std::string name() const;
};

}  // namespace tenon::cuda
