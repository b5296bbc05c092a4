// Memory of a device: its two domains, the buffers in them, and copies.
#pragma once

#include "cl.h"
#include "tenon/ep.hpp"

namespace tenon::opencl {

inline constexpr uint32_t kDeviceDomain = 1;
inline constexpr uint32_t kStagingDomain = 2;

/// What the host's tenon_buffer is. A buffer of the staging domain is mapped for its whole life, at `address`.
struct Buffer {
  MemHandle memory;
  void* address = nullptr;
};

inline tenon_buffer* to_border(Buffer* buffer) { return reinterpret_cast<tenon_buffer*>(buffer); }
inline Buffer* from_border(tenon_buffer* buffer) { return reinterpret_cast<Buffer*>(buffer); }

/// One end of a copy: bytes of a buffer, or an address of the host.
struct Place {
  cl_mem memory = nullptr;
  uint64_t byte_offset = 0;
  void* address = nullptr;  // used if `memory` is null
};

/// A copy of which at least one end is a buffer. Borrows both ends.
struct Transfer {
  Place to, from;
  uint64_t bytes = 0;

  /// `event`: receives the event of the command; may be null.
  void enqueue(cl_command_queue queue, cl_bool blocking, cl_event* event = nullptr) const;
  /// For traces.
  std::string name() const;
};

}  // namespace tenon::opencl
