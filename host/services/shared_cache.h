// Objects that are made once per key while others wait, and counted: packed weights and the like.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tenon/ep.h"

namespace tenon::runtime {

/// Thread-safe. `make` is called without a lock; it may ask for other keys, but not for its own.
class SharedCache {
 public:
  SharedCache() = default;
  ~SharedCache();
  SharedCache(const SharedCache&) = delete;
  SharedCache& operator=(const SharedCache&) = delete;

  /// The one of the process.
  static SharedCache& process();

  /// The object of `key`, made by the first caller. A failed make is reported to the caller who made it, and
  /// the next one in the line tries again. `error` is filled by `make` alone.
  tenon_status get(const std::string& key, tenon_make_fn make, void* context, tenon_release_fn release,
                   void** out_object, tenon_error* error);
  /// Gives one count back; `release` runs with the last, without a lock. An unknown key is ignored.
  void release(const std::string& key);
  size_t size() const;

 private:
  struct Entry {
    void* object = nullptr;
    tenon_release_fn release = nullptr;
    uint64_t count = 0;  // users, and those who wait
    bool making = false;
    bool made = false;
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Entry> entries_;
};

}  // namespace tenon::runtime
