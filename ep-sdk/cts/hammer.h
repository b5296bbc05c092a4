// Calls from several threads at once (R13).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/ep.h"

namespace tenon::cts {

/// Which check hammers a function of the table.
enum class Hammer { kNone, kDevices, kMemory, kMaps, kPrograms, kRuns, kStreams, kRecordings };

/// Hammers some functions, and counts which ones it called. Reports no activity meanwhile.
class Hammering {
 public:
  Hammering(Hammer by, const tenon_ep_api& api);
  ~Hammering();
  Hammering(const Hammering&) = delete;
  Hammering& operator=(const Hammering&) = delete;

  /// Calls `round` on eight threads for a part of a second, and at least three times on each. Throws Failed when a
  /// round throws.
  void on_threads(const std::function<void(size_t thread, size_t round)>& round) const;
  /// Throws std::logic_error when a function of `by` that the provider has was not called: the kit is wrong then.
  void require_all_called() const;

 private:
  struct Wanted {
    std::string function;
    std::atomic<int64_t> calls{0};
  };
  std::vector<std::unique_ptr<Wanted>> wanted_;
  void (*reported_)(const std::string& what);
};

}  // namespace tenon::cts
