#include "memory.h"

#include <cstring>

namespace tenon::opencl {

tenon_domain_info domain_of(const Device& device) {
  tenon_domain_info info{};
  info.struct_size = sizeof(info);
  info.flags = TENON_DOMAIN_HOST_VISIBLE;
  info.id = kDeviceDomain;
  info.alignment = device.limits().alignment;
  info.max_buffer_bytes = device.limits().max_allocation;
  info.name = ep::to_str("device memory");
  return info;
}

tenon_buffer* allocate(Device& device, uint64_t bytes) {
  // If the device shares the host's memory: memory that the host can map without a copy.
  const cl_mem_flags visible = device.limits().unified_memory ? CL_MEM_ALLOC_HOST_PTR : 0;
  return to_border(device.make_buffer(bytes == 0 ? 1 : bytes, CL_MEM_READ_WRITE | visible).release());
}

void copy(Device& device, const tenon_location& destination, const tenon_location& source, uint64_t bytes,
          cl_command_queue stream) {
  if (bytes == 0) return;
  const cl_bool blocking = stream == nullptr ? CL_TRUE : CL_FALSE;
  cl_command_queue queue = stream == nullptr ? device.queue() : stream;
  const bool from_host = source.domain == TENON_DOMAIN_HOST,
             to_host = destination.domain == TENON_DOMAIN_HOST;
  if (from_host && to_host) {
    std::memmove(destination.data, source.data, bytes);
  } else if (from_host) {
    check(clEnqueueWriteBuffer(queue, from_border(destination.buffer), blocking, destination.byte_offset,
                               bytes, source.data, 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  } else if (to_host) {
    check(clEnqueueReadBuffer(queue, from_border(source.buffer), blocking, source.byte_offset, bytes,
                              destination.data, 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  } else {
    check(clEnqueueCopyBuffer(queue, from_border(source.buffer), from_border(destination.buffer),
                              source.byte_offset, destination.byte_offset, bytes, 0, nullptr, nullptr),
          "clEnqueueCopyBuffer");
    if (blocking != CL_FALSE) check(clFinish(queue), "clFinish");
  }
}

void* map(Device& device, tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes) {
  cl_int code = CL_SUCCESS;
  void* address = clEnqueueMapBuffer(device.queue(), from_border(buffer), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                     byte_offset, bytes, 0, nullptr, nullptr, &code);
  check(code, "clEnqueueMapBuffer");
  return address;
}

void unmap(Device& device, tenon_buffer* buffer, void* address) {
  if (is_forked()) return;
  if (clEnqueueUnmapMemObject(device.queue(), from_border(buffer), address, 0, nullptr, nullptr) ==
      CL_SUCCESS)
    clFinish(device.queue());
}

}  // namespace tenon::opencl
