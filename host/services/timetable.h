// Times that were measured on this machine, kept on disk between processes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "host/services/blob_cache.h"

namespace tenon::runtime {

/// Picoseconds by name. Not thread-safe.
class Timetable {
 public:
  /// The table that is stored under `key`: an empty one if there is none, it is damaged, or it has another form. `cache` may be null.
  static Timetable read(BlobCache* cache, std::string_view key);

  /// Null when `name` is not known.
  const int64_t* find(std::string_view name) const;
  const std::map<std::string, int64_t, std::less<>>& times() const { return times_; }
  /// `name` has no spaces or ends of lines; `ps` is 1 or more.
  void set(std::string_view name, int64_t ps);

  /// Adds this table to the one that is stored under `key`; times of this one win. Another process that does the same at that moment may
  /// lose its times. LIMIT_EXCEEDED as BlobCache::put.
  Status store(BlobCache& cache, std::string_view key, const BlobLimits& limits) const;

 private:
  std::map<std::string, int64_t, std::less<>> times_;
};

}  // namespace tenon::runtime
