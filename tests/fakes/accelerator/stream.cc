#include "stream.h"

#include <chrono>

namespace accelerator {

Stream::Stream(const Instance& instance)
    : latency_us_(instance.options.latency_us), thread_([this] { work(); }) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::enqueue(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  pending_.push_back(std::move(work));
  ++enqueued_;
}

void Stream::flush() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& work : pending_) queue_.push_back(std::move(work));
    pending_.clear();
    flushed_ = enqueued_;
  }
  changed_.notify_all();
}

void Stream::wait(const Event& event) {
  enqueue([at = event]() mutable { at.wait(-1); });
}

void Event::record(Stream& stream) {
  const std::lock_guard lock(stream.mutex_);
  stream_ = &stream;
  position_ = stream.enqueued_;
}

void Stream::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto work = std::move(queue_.front());
    queue_.pop_front();
    const bool failed = failure_.has_value();
    lock.unlock();
    std::optional<Error> failure;
    try {
      if (latency_us_ > 0) std::this_thread::sleep_for(std::chrono::microseconds(latency_us_));
      if (!failed) work();
    } catch (const Error& caught) {
      failure = caught;
    }
    lock.lock();
    if (failure && !failure_) failure_ = std::move(failure);
    ++done_;
    changed_.notify_all();
  }
}

void Event::wait(int64_t timeout_ns) {
  require(stream_ != nullptr, TENON_FAILED_PRECONDITION,
          "the host waits for an event that it did not record");
  std::unique_lock lock(stream_->mutex_);
  require(stream_->flushed_ >= position_, TENON_FAILED_PRECONDITION,
          "the host waits for work that it did not flush");
  const auto done = [&] { return stream_->done_ >= position_; };
  if (timeout_ns < 0) {
    stream_->changed_.wait(lock, done);
  } else if (!stream_->changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), done)) {
    fail(TENON_DEADLINE_EXCEEDED, "the work is not done");
  }
  if (!stream_->failure_) return;
  const Error failure = *stream_->failure_;
  stream_->failure_.reset();
  throw failure;
}

}  // namespace accelerator
