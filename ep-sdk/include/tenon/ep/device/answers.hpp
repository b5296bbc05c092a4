// Which of several ways to do the same is the fastest: measured on the device, and kept in the host's cache for later processes.
#ifndef TENON_EP_DEVICE_ANSWERS_HPP_
#define TENON_EP_DEVICE_ANSWERS_HPP_

#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/ep/options.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// What was measured on a device. Ways are numbers, which mean the same in every process. Thread-safe.
class MeasuredAnswers {
 public:
  /// `key`: of the device, and of all else on which times depend, in the host's cache.
  explicit MeasuredAnswers(std::string key) : key_(std::move(key)) {}

  /// Nanoseconds that a way takes; kFailed if it does not work.
  using Measure = std::function<int64_t(uint32_t way)>;
  static constexpr int64_t kFailed = INT64_MAX;

  /// The fastest of `ways`. Measures each of them once per question, one at a time; of ways that are about as fast, the first is
  /// taken, so that noise decides less often. The first way is taken if none works. `question`: without line breaks.
  uint32_t fastest(const std::string& question, std::span<const uint32_t> ways, const Measure& measure) {
    if (const std::optional<uint32_t> known = find(question, ways)) return *known;
    const std::lock_guard timing(timing_);  // work of two measurements would slow each other down
    if (const std::optional<uint32_t> known = find(question, ways)) return *known;
    uint32_t best = ways.front();
    int64_t least = kFailed;
    for (const uint32_t way : ways) {
      const int64_t time = measure(way);
      if (!is_faster(time, least)) continue;
      best = way;
      least = time;
    }
    const std::lock_guard lock(mutex_);
    answers_[question] = best;
    is_new_ = true;
    return best;
  }

  /// What is known of a question, if it is one of `ways`.
  std::optional<uint32_t> find(const std::string& question, std::span<const uint32_t> ways) const {
    const std::lock_guard lock(mutex_);
    const auto known = answers_.find(question);
    if (known == answers_.end()) return std::nullopt;
    for (const uint32_t way : ways) {
      if (way == known->second) return way;
    }
    return std::nullopt;
  }

  /// Adds what earlier processes measured. Does nothing at later calls.
  void load(const InstanceSettings& instance) {
    if (host().cache_get == nullptr || instance.host == nullptr) return;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_loaded_, true)) return;
    }
    tenon_str blob{};
    if (host().cache_get(instance.host, to_str(key_), &blob, nullptr) != TENON_OK) return;
    read(view(blob));
    host().cache_done(instance.host, blob);
  }
  /// Stores what was measured, unless nothing is new.
  void save(const InstanceSettings& instance) {
    if (host().cache_put == nullptr || instance.host == nullptr) return;
    std::string text;
    {
      const std::lock_guard lock(mutex_);
      if (!std::exchange(is_new_, false)) return;
      for (const auto& [question, answer] : answers_) text += cat(question, " ", answer, "\n");
    }
    // Best effort: if the cache is full or read-only, the next process measures again.
    if (host().cache_put(instance.host, to_str(key_), to_str(text), nullptr) == TENON_OK) return;
    const std::lock_guard lock(mutex_);
    is_new_ = true;
  }

 private:
  static bool is_faster(int64_t time, int64_t than) { return time < than - than / 10; }

  /// Lines of a question and its answer. Leaves out what is no such line, and what is known.
  void read(std::string_view text) {
    const std::lock_guard lock(mutex_);
    for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end + 1);
      const size_t space = line.rfind(' ');
      if (space == std::string_view::npos || space == 0) continue;
      uint32_t answer = 0;
      const char* const last = line.data() + line.size();
      const auto [at, error] = std::from_chars(line.data() + space + 1, last, answer);
      if (error == std::errc() && at == last)
        answers_.try_emplace(std::string(line.substr(0, space)), answer);
    }
  }

  const std::string key_;
  std::mutex timing_;         // held while something is measured
  mutable std::mutex mutex_;  // for what follows
  std::map<std::string, uint32_t> answers_;
  bool is_loaded_ = false, is_new_ = false;
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_ANSWERS_HPP_
