// Counted objects, such as packed weights. Each is made once per key while other callers wait.
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

/// Thread-safe. `make` is called without a lock. It may ask for other keys, but not for its own.
class SharedCache {
 public:
  SharedCache() = default;
  ~SharedCache();
  SharedCache(const SharedCache&) = delete;
  SharedCache& operator=(const SharedCache&) = delete;

  /// The cache of the process.
  static SharedCache& process();

  /// Adds a count to the object of `key`; the first caller makes it. If `make` fails, its caller gets the error
  /// and the next waiting caller tries again. Only `make` fills `error`.
  tenon_status get(const std::string& key, tenon_make_fn make, void* context, tenon_release_fn release,
                   void** out_object, tenon_error* error);
  /// Removes one count. The last one calls `release` without a lock. An unknown key is ignored.
  void release(const std::string& key);
  size_t size() const;

 private:
  struct Entry {
    void* object = nullptr;
    tenon_release_fn release = nullptr;
    uint64_t count = 0;  // users and waiting callers
    bool making = false;
    bool made = false;
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Entry> entries_;
};

}  // namespace tenon::runtime
