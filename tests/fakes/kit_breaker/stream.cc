#include "stream.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "work.h"

namespace breaker {
namespace {

/// Defects under which work waits until the host waits for it.
bool is_lazy() { return breaks("R49") || breaks("R50") || breaks("R55"); }

struct Recording {
  std::vector<Work> works;
  const Stream* recorded_on;
  bool used = false;
};

tenon_status stream_create(tenon_instance*, const tenon_stream_params* params, tenon_stream** out,
                           tenon_error* error) {
  return guard(error,
               [&] { *out = own<tenon_stream>(new Stream((params->flags & TENON_STREAM_TIMED) != 0)); });
}
void stream_destroy(tenon_stream* stream) { delete own<Stream>(stream); }

tenon_status stream_flush(tenon_stream* stream, tenon_error* error) {
  return guard(error, [&] { own<Stream>(stream)->flush(); });
}

tenon_status stream_point(tenon_stream* stream, uint64_t* out_point, tenon_error* error) {
  return guard(error, [&] {
    require(!crowded("R13.streams"), TENON_INTERNAL, "two calls at once");
    *out_point = own<Stream>(stream)->point();
  });
}

// The other stream was flushed, so its work is done.
tenon_status stream_wait(tenon_stream*, tenon_stream*, uint64_t, tenon_error*) { return TENON_OK; }

tenon_status point_wait(tenon_stream* stream, uint64_t point, int64_t timeout_ns, tenon_error* error) {
  return guard(error, [&] { own<Stream>(stream)->wait_point(point, timeout_ns); });
}

tenon_status stream_times(tenon_stream* stream, const tenon_time_sink* sink, tenon_error* error) {
  return guard(error, [&] { own<Stream>(stream)->times(TimeSink(sink)); });
}

tenon_status record_begin(tenon_stream* stream, tenon_error* error) {
  return guard(error, [&] {
    require(!crowded("R13.recordings"), TENON_INTERNAL, "two calls at once");
    own<Stream>(stream)->record_begin();
  });
}

tenon_status record_end(tenon_stream* raw, tenon_recording** out, tenon_error* error) {
  return guard(error, [&] {
    Stream& stream = *own<Stream>(raw);
    std::vector<Work> works = stream.record_end(out == nullptr);
    if (out != nullptr) *out = own<tenon_recording>(new Recording{std::move(works), &stream});
  });
}

tenon_status recording_run(tenon_recording* raw, tenon_stream* stream, tenon_error* error) {
  return guard(error, [&] {
    Recording& recording = *own<Recording>(raw);
    const bool again = std::exchange(recording.used, true);
    if (breaks("R56.once") && again) return;
    if (breaks("R56.elsewhere") && recording.recorded_on != own<Stream>(stream)) return;
    for (int i = 0; i < (breaks("R56.copies") ? 2 : 1); ++i) own<Stream>(stream)->add(recording.works);
  });
}
void recording_destroy(tenon_recording* recording) { delete own<Recording>(recording); }

}  // namespace

void Stream::add(std::function<void()> act, std::string place, uint64_t work_id) {
  Work work{std::move(act), std::move(place), work_id};
  if (records()) {
    if (breaks("R56.early")) work.act();
    recorded_->push_back(std::move(work));
    return;
  }
  const std::lock_guard lock(mutex_);
  work.before = made_ + 1;
  pending_.push_back(std::move(work));
}

void Stream::add(const std::vector<Work>& recorded) {
  for (const Work& work : recorded)
    add(work.act, work.place, breaks("R59.recordings") ? recorded[0].work_id : work.work_id);
}

std::vector<Work> Stream::record_end(bool dropped) {
  std::vector<Work> works = std::move(*recorded_);
  recorded_.reset();
  if (dropped && breaks("R56.dropped")) add(works);
  return works;
}

void Stream::flush() {
  if (is_lazy()) return;
  const std::lock_guard lock(mutex_);
  work();
}

uint64_t Stream::point() {
  const std::lock_guard lock(mutex_);
  ++made_;
  return breaks("R49.points") ? 1 : made_;
}

void Stream::work() {
  if (breaks("R48")) std::reverse(pending_.begin(), pending_.end());
  for (const Work& work : std::exchange(pending_, {})) {
    const uint64_t begin_ns = now_ns();
    try {
      work.act();
      if (is_timed_ && (work.work_id != 0 || breaks("R59.untimed"))) {
        const TimeSpan span{.work_id = work.work_id, .begin_ns = begin_ns, .end_ns = now_ns()};
        measured_.push_back({work.place, span});
      }
    } catch (Error& error) {
      error.flags |= TENON_ERROR_ASYNC;
      error.where = work.place;
      if (!failure_) failure_ = Failure{std::move(error), work.before};
    }
  }
}

void Stream::wait_point(uint64_t point, int64_t timeout_ns) {
  const std::lock_guard lock(mutex_);
  if (breaks("R49")) return;
  if (breaks("R49.timeout")) std::this_thread::sleep_for(std::chrono::milliseconds(800));
  const bool known = point != 0 && point <= made_;
  require(known || breaks("R49.unknown"), TENON_INVALID_ARGUMENT, "the stream has no point ", point);
  if (is_lazy()) {
    require(timeout_ns != 0 || pending_.empty(), TENON_DEADLINE_EXCEEDED, "the work is not done");
    work();
  }
  if (!failure_ || failure_->before > point) return;
  Error error = failure_->error;
  if (!breaks("R49.errors")) failure_.reset();
  if (breaks("R49.errors.flag")) error.flags = 0;
  if (breaks("R49.errors.place")) error.where.clear();
  throw error;
}

void Stream::times(const TimeSink& sink) {
  const std::lock_guard lock(mutex_);
  if (breaks("R59.order")) std::reverse(measured_.begin(), measured_.end());
  for (Measured& each : measured_) {
    TimeSpan& span = each.span;
    if (!breaks("R59.name")) span.name = each.place;
    if (breaks("R59.id")) span.work_id = 7;
    if (breaks("R59.clock")) span.begin_ns -= 5'000'000'000, span.end_ns -= 5'000'000'000;
    if (breaks("R59.turned")) std::swap(span.begin_ns, span.end_ns);
    sink.add(span);
  }
  if (!breaks("R59.again")) measured_.clear();
}

void add_stream_functions(tenon_ep_api* api) {
  api->stream_create = stream_create;
  api->stream_destroy = stream_destroy;
  api->stream_flush = stream_flush;
  api->stream_point = stream_point;
  api->stream_wait = stream_wait;
  api->point_wait = point_wait;
  api->stream_times = stream_times;
  api->record_begin = record_begin;
  api->record_end = record_end;
  api->recording_run = recording_run;
  api->recording_destroy = recording_destroy;
}

}  // namespace breaker
