// The device's memory: buffers, and copies to and from the host.

#include <cstring>

#include "stream.h"

namespace tenon::opencl {

void Device::domains(const ep::DomainSink& sink) const {
  sink.add({.id = kDeviceDomain,
            .flags = TENON_DOMAIN_HOST_VISIBLE,
            .alignment = limits_.alignment,
            .max_buffer_bytes = limits_.max_allocation,
            .name = "device memory"});
}

ep::Allocation Device::allocate(uint32_t domain, uint64_t bytes, const Stream*) const {
  ep::require(domain == kDeviceDomain, TENON_INVALID_ARGUMENT, "there is no memory domain ", domain);
  // If the device shares the host's memory: memory that the host can map without a copy.
  const cl_mem_flags visible = limits_.unified_memory ? CL_MEM_ALLOC_HOST_PTR : 0;
  return {.buffer = to_border(make_buffer(bytes == 0 ? 1 : bytes, CL_MEM_READ_WRITE | visible).release())};
}

void Device::free(tenon_buffer* buffer, const Stream*) const {
  const MemHandle last(from_border(buffer));  // the driver keeps it while enqueued work uses it
}

void Device::copy(const tenon_location& destination, const tenon_location& source, uint64_t bytes,
                  const Stream* stream) const {
  if (bytes == 0) return;
  const cl_bool blocking = stream == nullptr ? CL_TRUE : CL_FALSE;
  cl_command_queue const queue = stream == nullptr ? queue_.get() : stream->queue.get();
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

void* Device::map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes) const {
  cl_int code = CL_SUCCESS;
  void* address = clEnqueueMapBuffer(queue_.get(), from_border(buffer), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                     byte_offset, bytes, 0, nullptr, nullptr, &code);
  check(code, "clEnqueueMapBuffer");
  return address;
}

void Device::unmap(tenon_buffer* buffer, void* address) const {
  if (is_forked()) return;
  if (clEnqueueUnmapMemObject(queue_.get(), from_border(buffer), address, 0, nullptr, nullptr) == CL_SUCCESS)
    clFinish(queue_.get());
}

}  // namespace tenon::opencl
