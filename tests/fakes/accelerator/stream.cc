#include "stream.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace accelerator {

Recording::Recording(std::vector<Work> works, bool is_timed) : state_(std::make_shared<State>()) {
  state_->works = std::move(works);
  state_->is_timed = is_timed;
}

void Recording::run(Stream& stream) {
  const InCall call(stream.counters());
  stream.check_not_recording("runs a recording with");
  const OneAtATime alone(stream.instance_.device);
  stream.instance_.device.check_lost();
  for (const Work& work : state_->works) {
    if (work.enter) work.enter();
  }
  require(!state_->busy.exchange(true), TENON_INTERNAL,
          "the host runs a recording again whose last run is still at work");
  std::shared_ptr<State> busy(state_.get(), [state = state_](State* used) { used->busy = false; });
  stream.enqueue([busy](Stream* on) {
    on->measures_ = on->measures_ && busy->is_timed;
    for (const Work& work : busy->works) work.act(on);
  });
  ++stream.counters().recording_runs;
}

Stream::Stream(Instance& instance, const tenon_stream_params& params)
    : instance_(instance), is_timed_((params.flags & TENON_STREAM_TIMED) != 0), thread_([this] { work(); }) {
  if (is_timed_) ++counters().timed_streams;
}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::check_not_recording(const char* what) const {
  require(!records(), TENON_FAILED_PRECONDITION, "the host ", what, " a stream that records");
}

void Stream::add(Item item) {
  const std::lock_guard lock(mutex_);
  pending_.push_back(std::move(item));
}

void Stream::submit(Stream* stream, Work work) {
  if (stream != nullptr && stream->records()) return stream->recorded_->push_back(std::move(work));
  if (work.enter) work.enter();
  if (stream == nullptr) return work.act(nullptr);
  stream->add({.work = std::move(work)});
}

void Stream::flush() {
  const InCall call(counters());
  check_not_recording("flushes");
  ++counters().flushes;
  {
    const std::lock_guard lock(mutex_);
    for (Item& item : pending_) queue_.push_back(std::move(item));
    pending_.clear();
    timeline_->flushed = timeline_->made;
  }
  changed_.notify_all();
}

uint64_t Stream::point() {
  const InCall call(counters());
  check_not_recording("makes a point of");
  ++counters().points;
  const std::lock_guard lock(mutex_);
  pending_.push_back({.point = ++timeline_->made});
  return timeline_->made;
}

void Stream::wait(const Stream& other, uint64_t point) {
  const InCall call(counters());
  check_not_recording("makes another wait with");
  other.check_not_recording("waits for");
  ++counters().stream_waits;
  const std::shared_ptr<Timeline> from = other.timeline_;
  size_t reported = 0;
  bool flushed = false;
  {
    const std::lock_guard lock(from->mutex);
    require(point != 0 && point <= from->made, TENON_INVALID_ARGUMENT, "the other stream has no point ",
            point);
    reported = from->reported;
    flushed = point <= from->flushed;
  }
  Work work{.act = [from, point, reported, flushed](Stream* on) {
    if (!flushed) {
      throw Error{TENON_INVALID_ARGUMENT,
                  cat("the host waits for point ", point, " of another stream that it did not flush"), 0,
                  "a wait for another stream"};
    }
    on->await(from, point, reported);
  }};
  add({.work = std::move(work), .is_wait = true});
}

void Stream::await(const std::shared_ptr<Timeline>& other, uint64_t point, size_t first_failure) {
  Timeline::Failure failure;
  {
    std::unique_lock lock(other->mutex);
    while (other->done < point && !ending_) other->changed.wait_for(lock, std::chrono::milliseconds(1));
    require(other->done >= point, TENON_ABORTED, "the stream ended before the one that it waits for");
    if (first_failure >= other->failures.size() || other->failures[first_failure].before > point) return;
    failure = {other->failures[first_failure].error, 0, other, first_failure};
  }
  add_failure(std::move(failure));
}

void Stream::wait_point(uint64_t point, int64_t timeout_ns) {
  const InCall call(counters());
  ++counters().point_waits;
  Timeline::Failure failure;
  {
    std::unique_lock lock(mutex_);
    require(point != 0 && point <= timeline_->made, TENON_INVALID_ARGUMENT, "the stream has no point ",
            point);
    require(point <= timeline_->flushed, TENON_FAILED_PRECONDITION,
            "the host waits for work that it did not flush");
    const auto done = [&] { return timeline_->done >= point; };
    if (timeout_ns < 0) {
      changed_.wait(lock, done);
    } else if (!changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), done)) {
      fail(TENON_DEADLINE_EXCEEDED, "the work is not done");
    }
    if (timeline_->reported == timeline_->failures.size()) return;
    failure = timeline_->failures[timeline_->reported];
    if (failure.before > point) return;
    ++timeline_->reported;
  }
  const Error error = failure.error;
  while (const std::shared_ptr<Timeline> origin = failure.origin) {
    const std::lock_guard lock(origin->mutex);
    origin->reported = std::max(origin->reported, failure.index + 1);
    failure = Timeline::Failure(origin->failures[failure.index]);
  }
  throw error;
}

void Stream::times(const TimeSink& sink) {
  check_not_recording("asks for the times of");
  std::vector<Measured> given;
  {
    const std::lock_guard lock(mutex_);
    given.swap(measured_);
  }
  for (Measured& each : given) {
    each.span.name = each.name;
    sink.add(each.span);
  }
}

Stream::Timer::Timer(Stream* stream, std::string name, uint64_t work_id)
    : stream_(stream != nullptr && stream->measures_ ? stream : nullptr),
      name_(std::move(name)),
      exceptions_(std::uncaught_exceptions()) {
  if (stream_ == nullptr) return;
  span_.work_id = work_id;
  span_.begin_ns = now_ns();
}

Stream::Timer::~Timer() {
  if (stream_ == nullptr || std::uncaught_exceptions() != exceptions_) return;
  span_.end_ns = now_ns();
  const std::lock_guard lock(stream_->mutex_);
  stream_->measured_.push_back({std::move(name_), span_});
}

void Stream::record_begin() {
  check_not_recording("begins a recording on");
  recorded_.emplace();
}

std::unique_ptr<Recording> Stream::record_end() {
  require(records(), TENON_FAILED_PRECONDITION, "the host ends a recording that it did not begin");
  std::vector<Work> works = std::move(*recorded_);
  recorded_.reset();
  auto out = std::make_unique<Recording>(std::move(works), is_timed_);
  ++counters().records;
  return out;
}

void Stream::hang(std::string place) {
  constexpr int kMostMilliseconds = 60'000;
  for (int i = 0; i < kMostMilliseconds && !ending_ && counters().let_go == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  throw Error{TENON_INTERNAL, "the injected fault 'hang' has ended", 0, std::move(place)};
}

void Stream::add_failure(Timeline::Failure failure) {
  failure.error.flags |= TENON_ERROR_ASYNC;
  const std::lock_guard lock(mutex_);
  failure.before = timeline_->done + 1;
  timeline_->failures.push_back(std::move(failure));
}

void Stream::work() {
  const int64_t latency_us = instance_.options.latency_us;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Item item = std::move(queue_.front());
    queue_.pop_front();
    if (item.point != 0) {
      timeline_->done = item.point;
      changed_.notify_all();
      continue;
    }
    // The results of work after a failure would be garbage, so it is skipped until the host knows of the failure.
    const bool skip = timeline_->reported != timeline_->failures.size();
    lock.unlock();
    measures_ = is_timed_;
    try {
      if (latency_us > 0 && !item.is_wait) std::this_thread::sleep_for(std::chrono::microseconds(latency_us));
      if (!skip) item.work.act(this);
    } catch (const Error& error) {
      add_failure({.error = error});
    } catch (const std::exception& error) {
      add_failure({.error = {TENON_INTERNAL, error.what()}});
    }
    item = {};
    lock.lock();
  }
}

}  // namespace accelerator
