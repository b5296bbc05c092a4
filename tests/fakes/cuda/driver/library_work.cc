#include "library_work.h"

#include "capture.h"
#include "launch.h"
#include "memory.h"
#include "queue.h"

using namespace fake_cuda;

CUresult tenon_fake_cuda_enqueue(CUstream handle, const char* library, const char* function,
                                 const char* label, const tenon_fake_range* ranges, size_t range_count,
                                 const void* arguments, size_t argument_bytes) {
  return run_call("tenon_fake_cuda_enqueue", kContext, [&](Call& call) {
    require(library != nullptr && function != nullptr && label != nullptr, CUDA_ERROR_INVALID_VALUE);
    require((ranges != nullptr || range_count == 0) && (arguments != nullptr || argument_bytes == 0),
            CUDA_ERROR_INVALID_VALUE);
    call.say(label);
    Stream& stream = stream_of(call, handle);
    for (size_t i = 0; i < range_count; ++i) {
      if (ranges[i].bytes == 0) continue;
      Device* device = nullptr;
      Allocation& allocation = allocation_at(ranges[i].address, ranges[i].bytes, &device);
      require(device == stream.device, CUDA_ERROR_INVALID_VALUE, "the memory is of another device");
      if (ranges[i].writes == 0) note_use(label, ranges[i].address, false);
      if (ranges[i].writes != 0) allocation.written = true;
    }
    WorkCommand command;
    command.range_count = static_cast<uint32_t>(range_count);
    command.argument_bytes = argument_bytes;
    command.delay_us = driver().settings.delay_us;
    command.text_bytes =
        static_cast<uint32_t>(std::strlen(library) + std::strlen(function) + std::strlen(label) + 3);
    const bool large = argument_bytes + range_count * sizeof(Range) + command.text_bytes > kMaxCommand / 2;
    if (large) {
      command.arena_at = driver().arena.take(argument_bytes);
      require(command.arena_at != 0, CUDA_ERROR_OUT_OF_MEMORY);
      std::memcpy(driver().shared->arena.data() + command.arena_at, arguments, argument_bytes);
    }
    CommandBuffer buffer(Do::kWork, command);
    for (size_t i = 0; i < range_count; ++i) {
      const Range range{ranges[i].address, ranges[i].bytes, ranges[i].writes != 0 ? 1U : 0U};
      buffer.append(&range, sizeof(range));
    }
    buffer.append_text(library);
    buffer.append_text(function);
    buffer.append_text(label);
    buffer.pad();
    if (!large) buffer.append(arguments, argument_bytes);
    if (stream.capture == nullptr && !count_launch(*stream.device)) return;
    const uint64_t number = submit(call, stream, std::move(buffer), CU_GRAPH_NODE_TYPE_KERNEL, label);
    if (large && number != 0) give_back_after(*stream.device, stream.queue, number, command.arena_at);
  });
}
