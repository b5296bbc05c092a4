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

struct BlobCacheOptions {
  std::string directory;                   // made with mode 0700 by the first put
  uint64_t max_bytes = uint64_t{1} << 30;  // of all blobs together; the oldest are removed first
  uint64_t max_blob_bytes = uint64_t{256} << 20;
};

/// Thread-safe, and safe against other processes that use the same folder.
class BlobCache {
 public:
  explicit BlobCache(BlobCacheOptions options);
  BlobCache(const BlobCache&) = delete;
  BlobCache& operator=(const BlobCache&) = delete;

  /// The process's cache in $XDG_CACHE_HOME/tenon or ~/.cache/tenon. Null under elevated privileges or without a home.
  static BlobCache* process();

  /// The mapped blob, valid until done(). NOT_FOUND when it does not exist or is damaged.
  Result<std::string_view> get(std::string_view key);
  void done(std::string_view blob);
  /// LIMIT_EXCEEDED when the blob is larger than the cache accepts.
  Status put(std::string_view key, std::string_view blob);

 private:
  std::string path_of(std::string_view key) const;
  void make_room(uint64_t bytes);

  BlobCacheOptions options_;
  std::mutex mutex_;
  std::multimap<const void*, Mapping> mapped_;  // by the address of the returned blob
};

}  // namespace tenon::runtime
