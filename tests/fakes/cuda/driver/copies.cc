// Copies and fills.
#include <unistd.h>

#include <cstring>

#include "capture.h"
#include "host_functions.h"
#include "memory.h"
#include "process.h"
#include "queue.h"

namespace fake_cuda {
namespace {

constexpr uint64_t kStaged = 64 << 10;  // pageable memory of at most so many bytes is read at once

/// One end of a copy.
struct End {
  enum What { kDevice, kPinned, kRegistered, kPageable } what = kPageable;
  uint64_t address = 0;
  Device* device = nullptr;
  Allocation* allocation = nullptr;
  uint64_t place = 0;  // in the pinned memory

  void* host() const { return reinterpret_cast<void*>(address); }
  bool is_mapped() const { return what == kDevice || what == kPinned; }
};

End device_end(uint64_t address, uint64_t bytes) {
  End out;
  out.what = End::kDevice;
  out.address = address;
  out.allocation = &allocation_at(address, bytes, &out.device);
  return out;
}

End host_end(const void* memory, uint64_t bytes) {
  End out;
  out.address = reinterpret_cast<uint64_t>(memory);
  require(memory != nullptr, CUDA_ERROR_INVALID_VALUE, "null");
  uint64_t begin = 0;
  const HostMemory* found = find_host_memory(memory, bytes, &begin);
  if (found == nullptr) {
    require(find_host_memory(memory, 0) == nullptr, CUDA_ERROR_INVALID_VALUE,
            "behind the end of pinned memory");
    return out;
  }
  out.what = found->registered ? End::kRegistered : End::kPinned;
  out.place = found->place + (out.address - begin);
  return out;
}

End any_end(uint64_t address, uint64_t bytes) {
  return is_device_address(address) ? device_end(address, bytes)
                                    : host_end(reinterpret_cast<const void*>(address), bytes);
}

Place place_of(const End& end, const Stream& stream) {
  Place out;
  out.space = end.what == End::kPinned      ? Space::kPinned
              : end.device == stream.device ? Space::kOwn
                                            : Space::kPeer;
  out.at = end.what == End::kPinned ? end.place : end.address;
  return out;
}

uint64_t submit_copy(Call& call, Stream& stream, Place to, Place from, uint64_t bytes) {
  CopyCommand copy;
  copy.to = to;
  copy.from = from;
  copy.size = bytes;
  return submit(call, stream, CommandBuffer(Do::kCopy, copy), CU_GRAPH_NODE_TYPE_MEMCPY, "memcpy");
}

/// Between memory that the host's process can access and device memory, whose file it has.
void copy_here(const End& to, const End& from, uint64_t bytes) {
  const auto offset = [](const End& end) {
    return static_cast<off_t>(end.address - base_of(end.device->index));
  };
  ssize_t done = static_cast<ssize_t>(bytes);
  if (to.what == End::kDevice) {
    done = pwrite(to.device->memory_fd, from.host(), bytes, offset(to));
  } else if (from.what == End::kDevice) {
    done = pread(from.device->memory_fd, to.host(), bytes, offset(from));
  } else {
    std::memmove(to.host(), from.host(), bytes);
  }
  require(done == static_cast<ssize_t>(bytes), CUDA_ERROR_INVALID_VALUE,
          "the host's memory is not accessible");
}

/// For races: a copy by the host's process comes in the order of a stream, too.
void note_access(Call& call, Stream& stream, const End& end, uint64_t bytes, bool writes) {
  if (!driver().settings.races || end.what != End::kDevice || end.device != stream.device) return;
  RangeCommand access;
  access.range = {end.address, bytes, writes ? 1U : 0U};
  enqueue(call, stream, CommandBuffer(Do::kAccess, access));
}

/// When the stream has come there, this thread copies.
void copy_in_turn(Call& call, Stream& stream, const End& to, const End& from, uint64_t bytes) {
  refuse_captured(stream, "a copy of pageable memory cannot be captured");
  refuse_implicit(stream);
  wait_for_log(call, *stream.device);
  note_access(call, stream, from, bytes, false);
  note_access(call, stream, to, bytes, true);
  wait_for_stream(call, stream);
  ++driver().counts["memcpy"];
  copy_here(to, from, bytes);
}

void copy(Call& call, Stream& stream, const End& to, const End& from, uint64_t bytes, bool async) {
  call.say(std::to_string(bytes) + " bytes, stream " + std::to_string(stream.id));
  if (bytes == 0) return;
  if (to.allocation != nullptr) to.allocation->written = true;
  for (const End* end : {&to, &from}) {
    if (end->device != nullptr && end->device != stream.device) wait_for_log(call, *end->device);
  }
  if (to.is_mapped() && from.is_mapped()) {
    submit_copy(call, stream, place_of(to, stream), place_of(from, stream), bytes);
    if (!async) wait_for_stream(call, stream);
    return;
  }
  if (async && (to.what == End::kRegistered || from.what == End::kRegistered) && to.what != End::kPageable &&
      from.what != End::kPageable) {
    wait_for_log(call, *stream.device);
    if (stream.capture == nullptr) {
      note_access(call, stream, from, bytes, false);
      note_access(call, stream, to, bytes, true);
    }
    submit_host_function(
        call, stream, [to, from, bytes] { copy_here(to, from, bytes); }, CU_GRAPH_NODE_TYPE_MEMCPY, "memcpy");
    return;
  }
  if (async && to.what == End::kDevice && bytes <= kStaged && stream.capture == nullptr) {
    const uint64_t place = driver().arena.take(bytes);
    require(place != 0, CUDA_ERROR_OUT_OF_MEMORY);
    std::memcpy(driver().shared->arena.data() + place, from.host(), bytes);
    const uint64_t number = submit_copy(call, stream, place_of(to, stream), {Space::kArena, 0, place}, bytes);
    give_back_after(*stream.device, stream.queue, number, place);
    return;
  }
  copy_in_turn(call, stream, to, from, bytes);
}

/// Copies without a stream use the null stream, so they are not allowed where a stream is captured.
template <class Ends>
CUresult copy_call(const char* name, size_t bytes, Ends ends) {
  return run_call(name, kContext | kUnsafe, [&](Call& call) {
    const auto [to, from] = ends();
    copy(call, call.device().null_stream(), to, from, bytes, false);
  });
}

template <class Ends>
CUresult copy_call(const char* name, size_t bytes, CUstream handle, Ends ends) {
  return run_call(name, kContext, [&](Call& call) {
    Stream& stream = stream_of(call, handle);
    const auto [to, from] = ends();
    copy(call, stream, to, from, bytes, true);
  });
}

void require_contexts(CUcontext to, CUcontext from, const std::pair<End, End>& ends) {
  require(ends.first.device == context_of(to).device && ends.second.device == context_of(from).device,
          CUDA_ERROR_INVALID_VALUE, "the memory is of another context");
}

void fill(Call& call, Stream& stream, CUdeviceptr address, uint32_t value, uint32_t element, uint64_t count,
          bool async) {
  call.say(std::to_string(count * element) + " bytes, stream " + std::to_string(stream.id));
  require(address % element == 0, CUDA_ERROR_INVALID_VALUE, "not aligned");
  if (count == 0) return;
  Device* device = nullptr;
  Allocation& allocation = allocation_at(address, count * element, &device);
  require(device == stream.device, CUDA_ERROR_INVALID_VALUE, "the memory is of another device");
  allocation.written = true;
  FillCommand command;
  command.address = address;
  command.count = count;
  command.value = value;
  command.element_bytes = element;
  submit(call, stream, CommandBuffer(Do::kFill, command), CU_GRAPH_NODE_TYPE_MEMSET, "memset");
  if (!async) wait_for_stream(call, stream);
}

CUresult fill_call(const char* name, CUdeviceptr address, uint32_t value, uint32_t element, size_t count) {
  return run_call(name, kContext | kUnsafe, [&](Call& call) {
    fill(call, call.device().null_stream(), address, value, element, count, false);
  });
}

CUresult fill_call(const char* name, CUdeviceptr address, uint32_t value, uint32_t element, size_t count,
                   CUstream stream) {
  return run_call(name, kContext, [&](Call& call) {
    fill(call, stream_of(call, stream), address, value, element, count, true);
  });
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;
using Ends = std::pair<End, End>;

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_call("cuMemcpy", bytes, [&] { return Ends(any_end(to, bytes), any_end(from, bytes)); });
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_call("cuMemcpyAsync", bytes, stream,
                   [&] { return Ends(any_end(to, bytes), any_end(from, bytes)); });
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return copy_call("cuMemcpyHtoD", bytes, [&] { return Ends(device_end(to, bytes), host_end(from, bytes)); });
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy_call("cuMemcpyHtoDAsync", bytes, stream,
                   [&] { return Ends(device_end(to, bytes), host_end(from, bytes)); });
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return copy_call("cuMemcpyDtoH", bytes, [&] { return Ends(host_end(to, bytes), device_end(from, bytes)); });
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_call("cuMemcpyDtoHAsync", bytes, stream,
                   [&] { return Ends(host_end(to, bytes), device_end(from, bytes)); });
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_call("cuMemcpyDtoD", bytes,
                   [&] { return Ends(device_end(to, bytes), device_end(from, bytes)); });
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_call("cuMemcpyDtoDAsync", bytes, stream,
                   [&] { return Ends(device_end(to, bytes), device_end(from, bytes)); });
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                      size_t bytes) {
  return copy_call("cuMemcpyPeer", bytes, [&] {
    Ends ends(device_end(to, bytes), device_end(from, bytes));
    require_contexts(to_context, from_context, ends);
    return ends;
  });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t bytes, CUstream stream) {
  return copy_call("cuMemcpyPeerAsync", bytes, stream, [&] {
    Ends ends(device_end(to, bytes), device_end(from, bytes));
    require_contexts(to_context, from_context, ends);
    return ends;
  });
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return fill_call("cuMemsetD8", to, value, 1, count);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill_call("cuMemsetD8Async", to, value, 1, count, stream);
}
CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  return fill_call("cuMemsetD16", to, value, 2, count);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill_call("cuMemsetD16Async", to, value, 2, count, stream);
}
CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  return fill_call("cuMemsetD32", to, value, 4, count);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill_call("cuMemsetD32Async", to, value, 4, count, stream);
}
