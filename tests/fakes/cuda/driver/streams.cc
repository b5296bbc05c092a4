#include "streams.h"

#include <unistd.h>

#include <algorithm>

#include "capture.h"
#include "process.h"
#include "queue.h"

namespace fake_cuda {
namespace {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

uint32_t free_queue(Device& device) {
  for (int patience = 10000;; --patience) {
    std::erase_if(device.ending_queues, [&](uint32_t queue) {
      return is_done(device, queue, device.queue(queue).submitted.load());
    });
    for (uint32_t queue = 0; queue < kMaxQueues; ++queue) {
      if (device.streams.count(queue) == 0 && device.ending_queues.count(queue) == 0) return queue;
    }
    if (device.ending_queues.empty() || patience == 0)
      refuse(CUDA_ERROR_OUT_OF_MEMORY, "the stand-in has 159 streams at once");
    usleep(200);  // a stream that was destroyed takes the device a moment
  }
}

void create(Call& call, CUstream* out, unsigned flags, int priority) {
  require(out != nullptr && (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) == 0, CUDA_ERROR_INVALID_VALUE);
  Stream& stream = add_stream(call.device(), flags, std::clamp(priority, kGreatestPriority, kLeastPriority));
  call.say("stream " + std::to_string(stream.id));
  *out = reinterpret_cast<CUstream>(&stream);
}

template <class Body>
CUresult about_stream(const char* name, CUstream handle, const void* out, Body&& body) {
  return run_call(name, kContext, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    body(stream_of(call, handle));
  });
}

}  // namespace

Stream& add_stream(Device& device, unsigned flags, int priority) {
  auto stream = std::make_unique<Stream>();
  stream->queue = free_queue(device);
  stream->flags = flags;
  stream->priority = priority;
  stream->id = driver().next_id++;
  stream->last = device.queue(stream->queue).submitted.load();
  add_handle(stream.get(), Kind::kStream, &device);
  LogEntry start;
  start.what = Once::kStartQueue;
  start.id = stream->queue;
  write_log(device, start);
  return *(device.streams[stream->queue] = std::move(stream));
}

}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuStreamCreate(CUstream* out, unsigned flags) {
  return run_call("cuStreamCreate", kContext, [&](Call& call) { create(call, out, flags, 0); });
}

CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
  return run_call("cuStreamCreateWithPriority", kContext,
                  [&](Call& call) { create(call, out, flags, priority); });
}

CUresult cuStreamDestroy(CUstream handle) {
  return run_call("cuStreamDestroy", kContext, [&](Call& call) {
    Stream& stream = stream_of(call, handle);
    require(!stream.is_null(), CUDA_ERROR_INVALID_HANDLE, "the null stream stays");
    call.say("stream " + std::to_string(stream.id));
    leave_capture(stream);
    Device& device = *stream.device;
    const uint32_t queue = stream.queue;
    enqueue(call, stream, CommandBuffer(Do::kStop, Command()));  // its work is still done
    device.ending_queues.insert(queue);
    remove_handle(&stream);
    device.streams.erase(queue);
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return run_call("cuStreamSynchronize", kContext | kUnsafe, [&](Call& call) {
    Stream& stream = stream_of(call, handle);
    call.say("stream " + std::to_string(stream.id));
    refuse_captured(stream, "the stream is being captured");
    refuse_implicit(stream);
    wait_for_stream(call, stream);
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return run_call("cuStreamQuery", kContext | kUnsafe, [&](Call& call) {
    Stream& stream = stream_of(call, handle);
    refuse_captured(stream, "the stream is being captured");
    refuse_implicit(stream);
    Clock clock = clock_of(stream);
    std::vector<const Stream*> all = {&stream};
    for (const auto& entry : stream.device->streams) {
      if (stream.is_null() && entry.second->blocks()) all.push_back(entry.second.get());
    }
    for (const Stream* it : all) {
      if (!is_done(*it->device, it->queue, it->last)) {
        const CUresult error = check_alive(*it->device);
        return error == CUDA_SUCCESS ? CUDA_ERROR_NOT_READY : error;
      }
      join(clock, clock_of(*it));
    }
    host_knows(clock);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetPriority(CUstream stream, int* out) {
  return about_stream("cuStreamGetPriority", stream, out, [&](const Stream& it) { *out = it.priority; });
}
CUresult cuStreamGetFlags(CUstream stream, unsigned* out) {
  return about_stream("cuStreamGetFlags", stream, out, [&](const Stream& it) { *out = it.flags; });
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* out) {
  return about_stream("cuStreamGetId", stream, out, [&](const Stream& it) { *out = it.id; });
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* out) {
  return about_stream("cuStreamGetCtx", stream, out, [&](const Stream& it) {
    *out = reinterpret_cast<CUcontext>(it.device->context.get());
  });
}
CUresult cuStreamGetDevice(CUstream stream, CUdevice* out) {
  return about_stream("cuStreamGetDevice", stream, out,
                      [&](const Stream& it) { *out = static_cast<CUdevice>(it.device->index); });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return run_call("cuCtxGetStreamPriorityRange", kContext, [&](Call&) {
    if (least != nullptr) *least = kLeastPriority;
    if (greatest != nullptr) *greatest = kGreatestPriority;
  });
}
