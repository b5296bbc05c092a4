#include "ep-sdk/cts/queue.h"

#include <utility>

namespace tenon::cts {

Queue::Queue(const Subject& subject, tenon_instance* instance, uint32_t flags) : subject_(subject) {
  const tenon_stream_params params{sizeof(tenon_stream_params), flags};
  call("stream_create", subject.api.stream_create, instance == nullptr ? subject.instance : instance, &params,
       &stream);
  if (stream == nullptr) throw Failed("stream_create returns OK and no stream", "set *out_stream");
}

Queue::~Queue() {
  try {
    destroy("stream_destroy", subject_.api.stream_destroy, stream);
  } catch (const std::exception& e) {
    host_state().violate(8, e.what());
  }
}

uint64_t Queue::point() {
  uint64_t out = 0;
  call("stream_point", subject_.api.stream_point, stream, &out);
  return out;
}

void Queue::flush() { call("stream_flush", subject_.api.stream_flush, stream); }

void Queue::wait(uint64_t point) { call("point_wait", subject_.api.point_wait, stream, point, int64_t{-1}); }

CallResult Queue::poll(uint64_t point) { return try_wait(point, 0); }

CallResult Queue::try_wait(uint64_t point, int64_t timeout_ns) {
  return try_call("point_wait", subject_.api.point_wait, stream, point, timeout_ns);
}

void Queue::wait_for(const Queue& other, uint64_t point) {
  call("stream_wait", subject_.api.stream_wait, stream, other.stream, point);
}

void Queue::finish() {
  const uint64_t end = point();
  flush();
  wait(end);
}

std::vector<WorkTime> Queue::times() {
  std::vector<WorkTime> out;
  tenon_time_sink sink{};
  sink.struct_size = sizeof sink;
  sink.context = &out;
  sink.add = [](void* context, const tenon_time_span* span, tenon_error*) {
    static_cast<std::vector<WorkTime>*>(context)->push_back(
        {std::string(span->name.data, span->name.size), span->work_id, span->begin_ns, span->end_ns});
    return tenon_status{TENON_OK};
  };
  call("stream_times", subject_.api.stream_times, stream, &std::as_const(sink));
  return out;
}

void Queue::record_begin() { call("record_begin", subject_.api.record_begin, stream); }

tenon_recording* Queue::record_end() {
  tenon_recording* out = nullptr;
  call("record_end", subject_.api.record_end, stream, &out);
  if (out == nullptr) throw Failed("R56: record_end returns OK and no recording", "set *out_recording");
  return out;
}

void Queue::record_drop() {
  call("record_end", subject_.api.record_end, stream, static_cast<tenon_recording**>(nullptr));
}

void Queue::run(tenon_recording* recording) {
  call("recording_run", subject_.api.recording_run, recording, stream);
}

void destroy_recording(const Subject& subject, tenon_recording*& recording) {
  destroy("recording_destroy", subject.api.recording_destroy, recording);
}

}  // namespace tenon::cts
