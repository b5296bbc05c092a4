// The device's memory: buffers, and copies to and from the host.
#pragma once

#include "device.h"

namespace tenon::opencl {

inline tenon_buffer* to_border(cl_mem buffer) { return reinterpret_cast<tenon_buffer*>(buffer); }
inline cl_mem from_border(tenon_buffer* buffer) { return reinterpret_cast<cl_mem>(buffer); }

/// The only memory domain of a device.
tenon_domain_info domain_of(const Device& device);

tenon_buffer* allocate(Device& device, uint64_t bytes);

/// With the device's own queue, the copy is done on return. With a stream's, it is only enqueued.
void copy(Device& device, const tenon_location& destination, const tenon_location& source, uint64_t bytes,
          cl_command_queue stream);

void* map(Device& device, tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes);
void unmap(Device& device, tenon_buffer* buffer, void* address);

}  // namespace tenon::opencl
