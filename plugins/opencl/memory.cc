#include "memory.h"

#include <cstring>

#include "device.h"
#include "stream.h"

namespace tenon::opencl {
namespace {

constexpr uint32_t kStagingAlignment = 64;

/// As CL_MAP_x: what the host does with mapped bytes.
cl_map_flags map_flags(uint32_t flags) {
  const bool reads = (flags & TENON_MAP_READ) != 0, discards = (flags & TENON_MAP_DISCARD) != 0;
  ep::require(flags != 0 && !(reads && discards), TENON_INVALID_ARGUMENT, "map has the flags ", flags,
              "; pass READ, WRITE or both, or DISCARD without READ");
  if (discards) return CL_MAP_WRITE_INVALIDATE_REGION;
  return (reads ? CL_MAP_READ : 0) | ((flags & TENON_MAP_WRITE) != 0 ? CL_MAP_WRITE : 0);
}

void* map_buffer(cl_command_queue queue, cl_mem memory, cl_map_flags flags, uint64_t byte_offset,
                 uint64_t bytes) {
  cl_int code = CL_SUCCESS;
  void* address =
      clEnqueueMapBuffer(queue, memory, CL_TRUE, flags, byte_offset, bytes, 0, nullptr, nullptr, &code);
  check(code, "clEnqueueMapBuffer");
  return address;
}

}  // namespace

void Transfer::enqueue(cl_command_queue queue, cl_bool blocking, cl_event* event) const {
  if (from.memory == nullptr) {
    check(clEnqueueWriteBuffer(queue, to.memory, blocking, to.byte_offset, bytes, from.address, 0, nullptr,
                               event),
          "clEnqueueWriteBuffer");
  } else if (to.memory == nullptr) {
    check(clEnqueueReadBuffer(queue, from.memory, blocking, from.byte_offset, bytes, to.address, 0, nullptr,
                              event),
          "clEnqueueReadBuffer");
  } else {
    check(clEnqueueCopyBuffer(queue, from.memory, to.memory, from.byte_offset, to.byte_offset, bytes, 0,
                              nullptr, event),
          "clEnqueueCopyBuffer");
    if (blocking != CL_FALSE) check(clFinish(queue), "clFinish");
  }
}

std::string Transfer::name() const {
  const char* way = from.memory == nullptr ? "to" : to.memory == nullptr ? "from" : "within";
  return ep::cat("copy of ", bytes, " bytes ", way, " the device");
}

void Device::domains(const ep::DomainSink& sink) const {
  sink.add({.id = kDeviceDomain,
            .flags = TENON_DOMAIN_MAPPABLE,
            .alignment = limits_.alignment,
            .max_buffer_bytes = limits_.max_allocation,
            .name = "device memory"});
  // Declared for every device, since any of them can be told to work in its own memory (the option `memory`). Instances
  // that work in the host's memory copy nothing, and so do not use it.
  sink.add({.id = kStagingDomain,
            .flags = TENON_DOMAIN_HOST_ADDRESS | TENON_DOMAIN_STAGING,
            .alignment = kStagingAlignment,
            .max_buffer_bytes = limits_.max_allocation,
            .name = "staging memory"});
}

ep::Allocation Device::allocate(uint32_t domain, uint64_t bytes, const Stream*) const {
  const bool is_staging = domain == kStagingDomain;
  ep::require(is_staging || domain == kDeviceDomain, TENON_INVALID_ARGUMENT, "there is no memory domain ",
              domain);
  // ALLOC_HOST_PTR gives pinned memory, and memory that is mapped without a copy if the device shares the host's.
  const cl_mem_flags visible = is_staging || limits_.unified_memory ? CL_MEM_ALLOC_HOST_PTR : 0;
  const uint64_t size = bytes == 0 ? 1 : bytes;
  auto out = std::make_unique<Buffer>();
  out->memory = make_buffer(size, CL_MEM_READ_WRITE | visible);
  if (is_staging) {
    out->address = map_buffer(queue(), out->memory.get(), CL_MAP_READ | CL_MAP_WRITE, 0, size);
    ep::require(reinterpret_cast<uintptr_t>(out->address) % kStagingAlignment == 0, TENON_INTERNAL,
                "the driver maps memory at an address that is not aligned to ", kStagingAlignment, " bytes");
  }
  void* const address = out->address;
  return {.buffer = to_border(out.release()), .address = address};
}

void Device::free(tenon_buffer* buffer, const Stream* stream) const {
  const std::unique_ptr<Buffer> last(from_border(buffer));
  // The driver keeps memory while enqueued work uses it, but does not see that a copy uses the address of a mapping. So
  // the mapping ends in the order of the stream.
  if (last->address != nullptr && !is_forked())
    clEnqueueUnmapMemObject(stream == nullptr ? queue() : stream->queue(), last->memory.get(), last->address,
                            0, nullptr, nullptr);
}

Place Device::place_of(const tenon_location& location) const {
  if (location.domain == TENON_DOMAIN_HOST) return {.address = location.data};
  ep::require(location.device == nullptr || reinterpret_cast<const Device*>(location.device) == this,
              TENON_UNIMPLEMENTED,
              "OpenCL 1.2 has no copy between devices of two contexts, and each device has its own");
  const Buffer& buffer = *from_border(location.buffer);
  if (buffer.address != nullptr)
    return {.address = static_cast<char*>(buffer.address) + location.byte_offset};
  return {.memory = buffer.memory.get(), .byte_offset = location.byte_offset};
}

void Device::copy(const tenon_location& destination, const tenon_location& source, uint64_t bytes,
                  Stream* stream, uint64_t work_id) const {
  if (bytes == 0) return;
  const Place to = place_of(destination), from = place_of(source);
  if (to.memory == nullptr && from.memory == nullptr) {
    if (stream == nullptr) {
      std::memmove(to.address, from.address, bytes);
      return;
    }
    // The device does it by way of a buffer, so that it happens in the order of the stream.
    MemHandle between = make_buffer(bytes);
    stream->copy({.to = {.memory = between.get()}, .from = from, .bytes = bytes}, work_id);
    stream->copy({.to = to, .from = {.memory = between.get()}, .bytes = bytes}, work_id);
    stream->keep(std::move(between));
    return;
  }
  const Transfer transfer{to, from, bytes};
  if (stream != nullptr) return stream->copy(transfer, work_id);
  transfer.enqueue(queue(), CL_TRUE);
}

void* Device::map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes, uint32_t flags) const {
  return map_buffer(queue(), from_border(buffer)->memory.get(), map_flags(flags), byte_offset, bytes);
}

void Device::unmap(tenon_buffer* buffer, void* address) const {
  if (is_forked()) return;
  if (clEnqueueUnmapMemObject(queue(), from_border(buffer)->memory.get(), address, 0, nullptr, nullptr) ==
      CL_SUCCESS)
    clFinish(queue());
}

}  // namespace tenon::opencl
