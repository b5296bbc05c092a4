// Errors of work on a stream, which are known only when the work is done.
#ifndef TENON_EP_DEVICE_LATE_ERRORS_HPP_
#define TENON_EP_DEVICE_LATE_ERRORS_HPP_

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tenon/ep/error.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// What tells after the work whether it failed: for example a flag that a kernel sets. Thread-safe.
class LateCheck {
 public:
  virtual ~LateCheck() = default;
  /// For finished work: the error, once.
  virtual std::optional<Error> take() = 0;
};

/// What may have failed on one stream, in the order of the points that follow the work. Thread-safe.
class LateErrors {
 public:
  /// `check` tells whether work before `point` failed.
  void add(uint64_t point, std::shared_ptr<LateCheck> check) {
    insert({.point = point, .check = std::move(check)});
  }
  /// Work before `point` waited for the work before `other_point` of another stream: errors of that work are errors of
  /// this one. Whichever stream is asked first reports them.
  void add(uint64_t point, std::shared_ptr<LateErrors> other, uint64_t other_point) {
    insert({.point = point, .other = std::move(other), .other_point = other_point});
  }
  void add(uint64_t point, Error error) {
    error.flags |= TENON_ERROR_ASYNC;
    insert({.point = point, .error = std::move(error)});
  }
  /// Call it when the work before `point` is done. Throws the first error of that work, and forgets its other errors:
  /// they belong to the same wait, and must not appear in a later one.
  void check(uint64_t point) {
    if (std::optional<Error> first = take(point)) throw std::move(*first);
  }

 private:
  struct Entry {
    uint64_t point = 0;
    std::shared_ptr<LateCheck> check = nullptr;
    std::shared_ptr<LateErrors> other = nullptr;
    uint64_t other_point = 0;
    std::optional<Error> error = std::nullopt;

    std::optional<Error> take() {
      if (other != nullptr) return other->take(other_point);
      if (check != nullptr) return check->take();
      return std::move(error);
    }
  };

  void insert(Entry entry) {
    const std::lock_guard lock(mutex_);
    const auto at = std::upper_bound(entries_.begin(), entries_.end(), entry.point,
                                     [](uint64_t point, const Entry& known) { return point < known.point; });
    entries_.insert(at, std::move(entry));
  }

  std::optional<Error> take(uint64_t point) {
    std::vector<Entry> done;
    {
      const std::lock_guard lock(mutex_);
      const auto end = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.point > point; });
      done.assign(std::make_move_iterator(entries_.begin()), std::make_move_iterator(end));
      entries_.erase(entries_.begin(), end);
    }
    // Without the lock: streams that waited for each other ask each other.
    std::optional<Error> first;
    for (Entry& entry : done) {
      std::optional<Error> found = entry.take();
      if (!first) first = std::move(found);
    }
    return first;
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;  // ordered by `point`
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_LATE_ERRORS_HPP_
