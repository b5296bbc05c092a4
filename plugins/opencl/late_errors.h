// Errors of work on a stream, which are known only when the work is done.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "flag.h"

namespace tenon::opencl {

/// What may have failed on one stream, in the order of the points that follow the work. Thread-safe.
class LateErrors {
 public:
  /// `flag` tells whether work before `point` failed.
  void add(uint64_t point, std::shared_ptr<IndexFlag> flag);
  /// Work before `point` waited for the work before `other_point` of another stream: errors of that work are errors of
  /// this one. Whichever stream is asked first reports them.
  void add(uint64_t point, std::shared_ptr<LateErrors> other, uint64_t other_point);
  void add(uint64_t point, ep::Error error);
  /// Call it when the work before `point` is done. Throws the first error of that work, and forgets its other errors:
  /// they belong to the same wait, and must not appear in a later one.
  void check(uint64_t point);

 private:
  struct Entry {
    uint64_t point = 0;
    std::shared_ptr<IndexFlag> flag = nullptr;
    std::shared_ptr<LateErrors> other = nullptr;
    uint64_t other_point = 0;
    std::optional<ep::Error> error = std::nullopt;

    std::optional<ep::Error> take();
  };

  void insert(Entry entry);
  std::optional<ep::Error> take(uint64_t point);

  std::mutex mutex_;
  std::vector<Entry> entries_;  // ordered by `point`
};

}  // namespace tenon::opencl
