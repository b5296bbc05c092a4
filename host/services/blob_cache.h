// Keeps blobs on disk by key: compiled kernels, tuned plans. A blob is written atomically, with a checksum, into a
// folder that only the owner may enter. A blob that is damaged or has another format counts as absent.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/base/result.h"
#include "tenon/ep.h"

namespace tenon::runtime {

/// What a put may take, in bytes; 0 = no limit. The config keys limits.cache_blob_bytes and limits.cache_bytes.
struct BlobLimits {
  uint64_t blob_bytes = 0;
  uint64_t all_bytes = 0;  // of all files together; a put removes the oldest first
};

/// Thread-safe, and safe against other processes that use the same folder.
class BlobCache {
 public:
  /// The first put makes the directory, with mode 0700.
  explicit BlobCache(std::string directory);
  BlobCache(const BlobCache&) = delete;
  BlobCache& operator=(const BlobCache&) = delete;

  /// The process's cache in $XDG_CACHE_HOME/tenon or ~/.cache/tenon. Null under elevated privileges or without a home.
  static BlobCache* process();

  /// The mapped blob, valid until done(). NOT_FOUND when it does not exist or is damaged.
  Result<std::string_view> get(std::string_view key);
  void done(std::string_view blob);
  /// LIMIT_EXCEEDED, which names the config key, when the blob is larger than the limits allow.
  Status put(std::string_view key, std::string_view blob, const BlobLimits& limits);

 private:
  std::string path_of(std::string_view key) const;
  /// Removes the oldest files until those that are left and `bytes` fit into `limit`.
  void make_room(uint64_t bytes, uint64_t limit);

  std::string directory_;
  std::mutex mutex_;
  std::multimap<const void*, Mapping> mapped_;  // by the address of the returned blob
};

}  // namespace tenon::runtime
