#include "stream.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "program.h"

namespace tenon::opencl {
namespace {

/// Returns when the event is done, or failed.
void wait_for(cl_event event) {
  const cl_int code = clWaitForEvents(1, &event);
  if (code != CL_SUCCESS && status_of(event) > CL_COMPLETE) check(code, "clWaitForEvents");
}

/// Polls, since OpenCL cannot wait with a timeout. A pause is a small part of the time that has passed.
void wait_for(cl_event event, std::chrono::nanoseconds timeout) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds kLongest = std::chrono::microseconds(500);
  const auto begin = Clock::now();
  while (status_of(event) > CL_COMPLETE) {
    const auto passed = Clock::now() - begin;
    ep::require(passed < timeout, TENON_DEADLINE_EXCEEDED, "the work on the device is not done in time");
    std::this_thread::sleep_for(std::min({passed / 16, timeout - passed, kLongest}));
  }
}

void CL_CALLBACK finish_mirror(cl_event, cl_int status, void* raw) {
  const EventHandle mirror(static_cast<cl_event>(raw));
  clSetUserEventStatus(mirror.get(), std::min(status, CL_COMPLETE));
}

/// An event of `context` that is done, or fails, with `event` of another context.
EventHandle make_mirror(cl_context context, cl_event event) {
  cl_int code = CL_SUCCESS;
  EventHandle out(clCreateUserEvent(context, &code));
  check(code, "clCreateUserEvent");
  check(clRetainEvent(out.get()), "clRetainEvent");
  EventHandle for_callback(out.get());
  check(clSetEventCallback(event, CL_COMPLETE, finish_mirror, for_callback.get()), "clSetEventCallback");
  for_callback.release();
  return out;
}

}  // namespace

Stream::Stream(const Instance& instance, const tenon_stream_params& params)
    : context_(instance.device.context()),
      queue_(instance.device.make_queue((params.flags & TENON_STREAM_TIMED) != 0)) {
  if ((params.flags & TENON_STREAM_TIMED) != 0) timings_ = std::make_unique<Timings>(queue());
}

Stream::~Stream() {
  if (!is_forked()) clFinish(queue());
}

uint64_t Stream::point() {
  cl_event marker = nullptr;
  check(clEnqueueMarkerWithWaitList(queue(), 0, nullptr, &marker), "clEnqueueMarkerWithWaitList");
  Mark mark{0, EventHandle(marker), "work on a stream"};
  if (last_place_ != nullptr) mark.where = ep::cat("work up to ", *std::exchange(last_place_, nullptr));
  const std::lock_guard lock(mutex_);
  drop_done();
  mark.number = last_ + 1;
  marks_.push_back(std::move(mark));
  return ++last_;
}

void Stream::drop_done() {
  while (!marks_.empty()) {
    Mark& first = marks_.front();
    const cl_int status = status_of(first.event.get());
    if (status > CL_COMPLETE) return;
    if (status < CL_COMPLETE) {
      ep::Error error = error_of(status, "work on the device");
      error.where = std::move(first.where);
      errors_->add(first.number, std::move(error));
    }
    marks_.pop_front();
  }
}

EventHandle Stream::find_mark(uint64_t point) {
  const std::lock_guard lock(mutex_);
  ep::require(point >= 1 && point <= last_, TENON_INVALID_ARGUMENT, "the stream has ", last_,
              " points, and the host names point ", point);
  if (marks_.empty() || point < marks_.front().number) return {};
  const cl_event event = marks_[point - marks_.front().number].event.get();
  check(clRetainEvent(event), "clRetainEvent");
  return EventHandle(event);
}

void Stream::wait(Stream& other, uint64_t point) {
  if (&other == this) return;  // the order of the queue
  const EventHandle mark = other.find_mark(point);
  errors_->add(last_ + 1, other.errors_, point);
  if (!mark) return;
  // Streams of one device share its context. A queue takes no events of another context.
  const EventHandle mirror = other.context_ == context_ ? EventHandle() : make_mirror(context_, mark.get());
  const cl_event event = mirror ? mirror.get() : mark.get();
  check(clEnqueueBarrierWithWaitList(queue(), 1, &event, nullptr), "clEnqueueBarrierWithWaitList");
}

void Stream::wait_point(uint64_t point, int64_t timeout_ns) {
  if (const EventHandle mark = find_mark(point)) {
    if (timeout_ns > 0) flush();  // as clWaitForEvents does
    if (timeout_ns < 0) {
      wait_for(mark.get());
    } else {
      wait_for(mark.get(), std::chrono::nanoseconds(timeout_ns));
    }
    const std::lock_guard lock(mutex_);
    drop_done();
  }
  errors_->check(point);
}

void Stream::times(const ep::TimeSink& sink) {
  if (timings_ != nullptr) timings_->give(sink);
}

void Stream::record_begin() {
  ep::require(recording_ == nullptr, TENON_FAILED_PRECONDITION, "the stream records already");
  recording_ = std::make_unique<Recording>();
}

std::unique_ptr<Recording> Stream::record_end() {
  ep::require(recording_ != nullptr, TENON_FAILED_PRECONDITION, "the stream does not record");
  return std::move(recording_);
}

void Stream::run(const Launches& launches, uint64_t work_id) {
  if (recording_ != nullptr) return recording_->add(launches, work_id);
  launches.enqueue(queue(), timings_.get(), work_id);
  if (launches.flag() != nullptr) errors_->add(last_ + 1, launches.flag());
  last_place_ = &launches.node().place();
}

void Stream::copy(const Transfer& transfer, uint64_t work_id) {
  if (recording_ != nullptr) return recording_->add(transfer, work_id);
  if (timings_ == nullptr) return transfer.enqueue(queue(), CL_FALSE);
  cl_event event = nullptr;
  transfer.enqueue(queue(), CL_FALSE, &event);
  timings_->add(EventHandle(event), transfer.name(), work_id);
}

void Stream::keep(MemHandle memory) {
  // The driver keeps memory of enqueued work itself.
  if (recording_ != nullptr) recording_->keep(std::move(memory));
}

}  // namespace tenon::opencl
