// Events, and streams that wait for them.
#include "capture.h"
#include "process.h"
#include "queue.h"

namespace fake_cuda {
namespace {

bool is_captured(const Event& event) { return event.capture != nullptr; }

/// Events of a capture cannot be asked; a capture in progress is lost.
void refuse_captured_event(Event& event) {
  if (!is_captured(event)) return;
  if (driver().captures.count(event.capture.get()) > 0) invalidate(*event.capture);
  refuse(CUDA_ERROR_CAPTURED_EVENT, "the event was last recorded in a capture");
}

bool is_complete(const Event& event) {
  return !event.recorded || is_done(*event.device, event.queue, event.number);
}

void record(Call& call, CUevent handle, CUstream stream_handle, unsigned flags) {
  Event& event = event_of(handle);
  Stream& stream = stream_of(call, stream_handle);
  call.say("stream " + std::to_string(stream.id));
  require((flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) == 0, CUDA_ERROR_INVALID_VALUE);
  require(event.device == stream.device, CUDA_ERROR_INVALID_HANDLE,
          "event and stream are of different devices");
  IdCommand command;
  command.id = event.slot;
  const bool external = (flags & CU_EVENT_RECORD_EXTERNAL) != 0;
  if (stream.capture != nullptr) {
    require(!stream.capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (external) {
      submit(call, stream, CommandBuffer(Do::kEvent, command), CU_GRAPH_NODE_TYPE_EVENT_RECORD, "", {&event});
    } else {
      event.capture = stream.capture;
      event.nodes = stream.tail;
    }
    return;
  }
  require(!external, CUDA_ERROR_ILLEGAL_STATE, "only a capture can have external events");
  event.capture = nullptr;
  event.nodes.clear();
  refuse_implicit(stream);
  if (event.has_time() || stream.is_null()) enqueue(call, stream, CommandBuffer(Do::kEvent, command));
  event.recorded = true;
  event.queue = stream.queue;
  event.number = stream.last;
  if (driver().settings.races) event.clock = clock_of(stream);
}

/// The stream joins the capture in which the event was recorded.
void join_capture(Stream& stream, Event& event) {
  Capture& capture = *event.capture;
  require(driver().captures.count(&capture) > 0, CUDA_ERROR_CAPTURED_EVENT,
          "the capture in which the event was recorded has ended");
  require(!capture.invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (stream.capture != nullptr && stream.capture != event.capture) {
    invalidate(capture);
    invalidate(*stream.capture);
    refuse(CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  if (stream.is_null()) {
    invalidate(capture);
    refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the null stream cannot be captured");
  }
  stream.capture = event.capture;
  capture.streams.insert(&stream);
  stream.tail.insert(event.nodes.begin(), event.nodes.end());
}

void wait(Call& call, Stream& stream, Event& event, unsigned flags) {
  require(flags == 0, flags == CU_EVENT_WAIT_EXTERNAL ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE,
          "the stand-in has no external waits");
  if (is_captured(event)) return join_capture(stream, event);
  if (stream.capture != nullptr) {
    invalidate(*stream.capture);
    refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "the event was recorded outside of the capture");
  }
  refuse_implicit(stream);
  if (!event.recorded) return;
  const bool same = event.device == stream.device && event.queue == stream.queue;
  if (driver().settings.races) join(stream.clock, event.clock);
  if (same || is_complete(event)) return;
  WaitCommand command;
  command.device = event.device->index;
  command.queue = event.queue;
  command.until = event.number;
  enqueue(call, stream, CommandBuffer(Do::kWait, command));
}

uint64_t time_of(const Event& event) { return event.device->state->times[event.slot].load(); }

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuEventCreate(CUevent* out, unsigned flags) {
  return run_call("cuEventCreate", kContext, [&](Call& call) {
    constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    require((flags & ~kKnown) == 0, CUDA_ERROR_INVALID_VALUE,
            "the stand-in shares no events with other processes");
    Driver& own = driver();
    require(!own.free_events.empty() || own.next_event < kMaxEvents, CUDA_ERROR_OUT_OF_MEMORY,
            "too many events");
    if (own.free_events.empty()) own.free_events.push_back(own.next_event++);
    auto* event = new Event();
    event->flags = flags;
    event->slot = own.free_events.back();
    own.free_events.pop_back();
    add_handle(event, Kind::kEvent, &call.device());
    *out = reinterpret_cast<CUevent>(event);
  });
}

CUresult cuEventDestroy(CUevent handle) {
  return run_call("cuEventDestroy", kContext, [&](Call&) {
    Event& event = event_of(handle);
    driver().free_events.push_back(event.slot);
    remove_handle(&event);
    delete &event;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return run_call("cuEventRecord", kContext, [&](Call& call) { record(call, event, stream, 0); });
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return run_call("cuEventRecordWithFlags", kContext,
                  [&](Call& call) { record(call, event, stream, flags); });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  return run_call("cuStreamWaitEvent", kContext, [&](Call& call) {
    Stream& stream = stream_of(call, handle);
    call.say("stream " + std::to_string(stream.id));
    wait(call, stream, event_of(event), flags);
  });
}

CUresult cuEventQuery(CUevent handle) {
  return run_call("cuEventQuery", kContext | kUnsafe, [&](Call&) {
    Event& event = event_of(handle);
    refuse_captured_event(event);
    if (!is_complete(event)) {
      const CUresult error = check_alive(*event.device);
      return error == CUDA_SUCCESS ? CUDA_ERROR_NOT_READY : error;
    }
    host_knows(event.clock);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return run_call("cuEventSynchronize", kContext | kUnsafe, [&](Call& call) {
    Event& event = event_of(handle);
    refuse_captured_event(event);
    if (!event.recorded) return;
    const Clock clock = event.clock;
    wait_for(call, *event.device, event.queue, event.number);
    host_knows(clock);
  });
}

CUresult cuEventElapsedTime(float* out, CUevent begin_handle, CUevent end_handle) {
  return run_call("cuEventElapsedTime", kContext, [&](Call&) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    Event &begin = event_of(begin_handle), &end = event_of(end_handle);
    refuse_captured_event(begin);
    refuse_captured_event(end);
    require(begin.recorded && end.recorded && begin.has_time() && end.has_time(), CUDA_ERROR_INVALID_HANDLE,
            "an event has no time");
    require(begin.device == end.device, CUDA_ERROR_INVALID_HANDLE, "the events are of different devices");
    if (!is_complete(begin) || !is_complete(end)) return CUDA_ERROR_NOT_READY;
    const auto elapsed = static_cast<int64_t>(time_of(end) - time_of(begin));
    *out = static_cast<float>(static_cast<double>(elapsed) * 1e-6);
    return CUDA_SUCCESS;
  });
}
