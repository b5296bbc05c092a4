#include "late_errors.h"

#include <algorithm>
#include <iterator>

namespace tenon::opencl {

void LateErrors::add(uint64_t point, std::shared_ptr<IndexFlag> flag) {
  insert({.point = point, .flag = std::move(flag)});
}

void LateErrors::add(uint64_t point, std::shared_ptr<LateErrors> other, uint64_t other_point) {
  insert({.point = point, .other = std::move(other), .other_point = other_point});
}

void LateErrors::add(uint64_t point, ep::Error error) {
  error.flags |= TENON_ERROR_ASYNC;
  insert({.point = point, .error = std::move(error)});
}

void LateErrors::insert(Entry entry) {
  const std::lock_guard lock(mutex_);
  const auto at = std::upper_bound(entries_.begin(), entries_.end(), entry.point,
                                   [](uint64_t point, const Entry& known) { return point < known.point; });
  entries_.insert(at, std::move(entry));
}

void LateErrors::check(uint64_t point) {
  if (std::optional<ep::Error> first = take(point)) throw std::move(*first);
}

std::optional<ep::Error> LateErrors::take(uint64_t point) {
  std::vector<Entry> done;
  {
    const std::lock_guard lock(mutex_);
    const auto end = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.point > point; });
    done.assign(std::make_move_iterator(entries_.begin()), std::make_move_iterator(end));
    entries_.erase(entries_.begin(), end);
  }
  // Without the lock: streams that waited for each other ask each other.
  std::optional<ep::Error> first;
  for (Entry& entry : done) {
    std::optional<ep::Error> found = entry.take();
    if (!first) first = std::move(found);
  }
  return first;
}

std::optional<ep::Error> LateErrors::Entry::take() {
  if (other != nullptr) return other->take(other_point);
  if (flag == nullptr) return std::move(error);
  std::string text = flag->take();
  if (text.empty()) return std::nullopt;
  return ep::Error{TENON_OUT_OF_RANGE, std::move(text), TENON_ERROR_ASYNC, flag->place()};
}

}  // namespace tenon::opencl
