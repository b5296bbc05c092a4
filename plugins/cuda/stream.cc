#include "stream.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "program.h"

namespace tenon::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// Short work is polled for: a thread that the driver wakes up comes some tens of microseconds late.
constexpr std::chrono::nanoseconds kPolled = std::chrono::microseconds(50);
constexpr size_t kMostSpareEvents = 64;

/// Returns when the event is done or failed, or NOT_READY after `timeout`.
CUresult poll(CUevent event, std::chrono::nanoseconds timeout, bool sleeps) {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::microseconds(500);
  const auto begin = Clock::now();
  for (;;) {
    const CUresult code = driver().cuEventQuery(event);
    if (code != CUDA_ERROR_NOT_READY) return code;
    const auto passed = Clock::now() - begin;
    if (passed >= timeout) return code;
    // A pause is a small part of the time that has passed.
    if (sleeps && passed > kPolled)
      std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>({passed / 16, timeout - passed, kLongest}));
  }
}

CUresult wait_for(CUevent event, int64_t timeout_ns) {
  if (timeout_ns >= 0) return poll(event, std::chrono::nanoseconds(timeout_ns), true);
  const CUresult code = poll(event, kPolled, false);
  return code == CUDA_ERROR_NOT_READY ? driver().cuEventSynchronize(event) : code;
}

}  // namespace

Stream::Stream(const Instance& instance, const tenon_stream_params& params)
    : device_(instance.device),
      synchronizes_(instance.synchronize),
      handle_(std::make_shared<StreamHandle>(instance.device.make_stream())) {
  if ((params.flags & TENON_STREAM_TIMED) != 0) times_ = std::make_unique<Timestamps>(get());
}

Stream::~Stream() {
  if (is_forked()) return;
  finish(
      get());  // the host destroys a stream when its work is done; what is left after an error must not use freed memory
}

/// Returns when the work of a stream is done, or cannot be done.
void Stream::finish(CUstream stream) noexcept {
  try {
    const Current current(context());
    driver().cuStreamSynchronize(stream);
  } catch (...) {  // the process is lost
  }
}

void Stream::flush() {
#if defined(_WIN32)
  const CUresult code = driver().cuStreamQuery(get());
  if (code != CUDA_ERROR_NOT_READY) check(code, "cuStreamQuery");
#endif
}

/// Calls `enqueue`. If that finds the process lost, work enqueued before is to blame, and the error names it.
template <class Enqueue>
void Stream::blaming(const Enqueue& enqueue) {
  try {
    enqueue();
  } catch (ep::Error& error) {
    if ((error.flags & TENON_ERROR_PROCESS_LOST) == 0 || !error.where.empty()) throw;
    blame(error, UINT64_MAX);
    throw;
  }
}

/// Takes an event back, if nobody waits for it still. Needs the lock.
void Stream::spare(std::shared_ptr<EventHandle> event) {
  if (event.use_count() == 1 && events_.size() < kMostSpareEvents) events_.push_back(std::move(event));
}

std::shared_ptr<EventHandle> Stream::take_event() {
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      std::shared_ptr<EventHandle> out = std::move(events_.back());
      events_.pop_back();
      return out;
    }
  }
  CUevent event = nullptr;
  check(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC), "cuEventCreate");
  return std::make_shared<EventHandle>(event);
}

uint64_t Stream::point() {
  const Current current(context());
  Mark mark;
  mark.event = take_event();
  blaming([&] { check(driver().cuEventRecord(mark.event->get(), get()), "cuEventRecord"); });
  if (first_place_ != nullptr) mark.first_place = *std::exchange(first_place_, nullptr);
  if (last_place_ != nullptr) mark.last_place = *std::exchange(last_place_, nullptr);
  mark.kept = std::exchange(kept_, {});
  const std::lock_guard lock(mutex_);
  drop_done();
  mark.number = last_ + 1;
  marks_.push_back(std::move(mark));
  return ++last_;
}

/// Drops marks of finished work, with what was kept for it. Needs the lock.
void Stream::drop_done() {
  while (!marks_.empty() && driver().cuEventQuery(marks_.front().event->get()) == CUDA_SUCCESS) {
    spare(std::move(marks_.front().event));
    marks_.pop_front();
  }
}

std::shared_ptr<EventHandle> Stream::find_mark(uint64_t point) {
  const std::lock_guard lock(mutex_);
  ep::require(point >= 1 && point <= last_, TENON_INVALID_ARGUMENT, "the stream has ", last_,
              " points, and the host names point ", point);
  if (marks_.empty() || point < marks_.front().number) return nullptr;
  return marks_[point - marks_.front().number].event;
}

void Stream::wait(Stream& other, uint64_t point) {
  const std::shared_ptr<EventHandle> event = other.find_mark(point);
  if (&other == this) return;  // the order of the stream
  errors_->add(last_ + 1, other.errors_, point);
  if (event == nullptr) return;
  const Current current(context());
  check(driver().cuStreamWaitEvent(get(), event->get(), CU_EVENT_WAIT_DEFAULT), "cuStreamWaitEvent");
}

void Stream::wait_for_stream(CUstream other) noexcept {
  try {
    const Current current(context());
    std::shared_ptr<EventHandle> event = take_event();
    check(driver().cuEventRecord(event->get(), other), "cuEventRecord");
    check(driver().cuStreamWaitEvent(get(), event->get(), CU_EVENT_WAIT_DEFAULT), "cuStreamWaitEvent");
    const std::lock_guard lock(mutex_);
    spare(std::move(event));  // the wait is for what it recorded just now
  } catch (...) {
    finish(other);
  }
}

void Stream::wait_point(uint64_t point, int64_t timeout_ns) {
  if (std::shared_ptr<EventHandle> event = find_mark(point)) {
    const Current current(context());
    if (timeout_ns > 0) flush();
    const CUresult code = wait_for(event->get(), timeout_ns);
    ep::require(code != CUDA_ERROR_NOT_READY, TENON_DEADLINE_EXCEEDED,
                "the work on the device is not done in time");
    if (code != CUDA_SUCCESS) fail_at(point, code);
    event.reset();  // so that it is spared
    const std::lock_guard lock(mutex_);
    drop_done();
  }
  errors_->check(point);
}

/// Throws the error of the work before a point that is not known to be done.
void Stream::fail_at(uint64_t point, CUresult code) {
  ep::Error error = error_of(code, "work on the device");
  blame(error, point);
  throw std::move(error);
}

/// Names the work before a point that is not known to be done as the place of an error. UINT64_MAX: all work so far.
void Stream::blame(ep::Error& error, uint64_t point) {
  error.flags |= TENON_ERROR_ASYNC;
  const std::lock_guard lock(mutex_);
  std::string first, last;
  for (const Mark& mark : marks_) {
    if (mark.number > point) break;
    if (first.empty()) first = mark.first_place;
    if (!mark.last_place.empty()) last = mark.last_place;
  }
  // Only the thread that enqueues asks for all work: what follows is its own.
  if (point == UINT64_MAX && first_place_ != nullptr) {
    if (first.empty()) first = *first_place_;
    last = *last_place_;
  }
  error.where = first.empty()   ? "copies on a stream"
                : first == last ? first
                                : ep::cat("work from ", first, " to ", last);
  if (first != last) error.text += "; with the option synchronize = true the error names its node";
}

void Stream::times(const ep::TimeSink& sink) {
  if (times_ == nullptr) return;
  const Current current(context());
  times_->give(sink);
}

void Stream::record_begin() {
  ep::require(recording_ == nullptr, TENON_FAILED_PRECONDITION, "the stream records already");
  recording_ = std::make_unique<Recording>(device_);
}

std::unique_ptr<Recording> Stream::record_end() {
  ep::require(recording_ != nullptr, TENON_FAILED_PRECONDITION, "the stream does not record");
  std::unique_ptr<Recording> out = std::move(recording_);
  if (times_ == nullptr && !synchronizes_) out->capture();
  return out;
}

void Stream::note(const std::string& first, const std::string& last) {
  if (first_place_ == nullptr) first_place_ = &first;
  last_place_ = &last;
}

void Stream::enqueue(const Launches& launches, uint64_t work_id) {
  const std::string& place = launches.node().place();
  note(place, place);
  launches.enqueue(get(), times_.get(), work_id);
  if (launches.flag() != nullptr) errors_->add(last_ + 1, launches.flag());
  if (!synchronizes_) return;
  const CUresult code = driver().cuStreamSynchronize(get());
  if (code == CUDA_SUCCESS) return;
  ep::Error error = error_of(code, "work on the device");
  error.where = place;
  throw std::move(error);
}

void Stream::enqueue(const Transfer& transfer, uint64_t work_id) {
  if (times_ != nullptr) times_->begin(transfer.name(), work_id);
  transfer.enqueue(get());
  if (times_ != nullptr) times_->end();
}

void Stream::run(const Launches& launches, uint64_t work_id) {
  if (recording_ != nullptr) return recording_->add(launches, work_id);
  const Current current(context());
  blaming([&] { enqueue(launches, work_id); });
}

void Stream::copy(const Transfer& transfer, uint64_t work_id) {
  if (recording_ != nullptr) return recording_->add(transfer, work_id);
  const Current current(context());
  const Transfer* kept = &transfer;
  if (transfer.is_within_host())
    kept = kept_.transfers.emplace_back(std::make_unique<const Transfer>(transfer)).get();
  blaming([&] { enqueue(*kept, work_id); });
}

void Stream::run(const Recording& recording) {
  const Current current(context());
  if (recording.graph() != nullptr && times_ == nullptr && !synchronizes_) {
    if (!recording.first_place().empty()) note(recording.first_place(), recording.last_place());
    blaming([&] { check(driver().cuGraphLaunch(recording.graph(), get()), "cuGraphLaunch"); });
    for (const std::shared_ptr<ep::LateCheck>& check : recording.checks()) errors_->add(last_ + 1, check);
    return;
  }
  blaming([&] {
    for (const Recording::Step& step : recording.steps()) {
      if (step.launches != nullptr) {
        enqueue(*step.launches, step.work_id);
      } else {
        enqueue(step.transfer, step.work_id);
      }
    }
  });
}

void Stream::keep(OwnedPiece piece) noexcept {
  try {
    if (recording_ != nullptr) return recording_->keep(std::move(piece));
    kept_.pieces.push_back(std::move(piece));
  } catch (...) {  // no memory for the list
    finish(get());
  }
}

}  // namespace tenon::cuda
