// Blobs on disk by key: compiled kernels, tuned plans. Written atomically with a checksum in a folder that
// only the owner may enter; a blob that is damaged or written by another format is as good as absent.
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
  std::string directory;                   // made with mode 0700 at the first put
  uint64_t max_bytes = uint64_t{1} << 30;  // of all blobs together; the oldest ones go first
  uint64_t max_blob_bytes = uint64_t{256} << 20;
};

/// Thread-safe, and safe against other processes that use the same folder.
class BlobCache {
 public:
  explicit BlobCache(BlobCacheOptions options);
  BlobCache(const BlobCache&) = delete;
  BlobCache& operator=(const BlobCache&) = delete;

  /// Of the process: $XDG_CACHE_HOME/tenon, or ~/.cache/tenon; null under elevated privileges or without a
  /// home.
  static BlobCache* process();

  /// A mapped blob, valid until done(). NOT_FOUND when there is none or it is damaged.
  Result<std::string_view> get(std::string_view key);
  void done(std::string_view blob);
  /// LIMIT_EXCEEDED when the blob is larger than the cache takes.
  Status put(std::string_view key, std::string_view blob);

 private:
  std::string path_of(std::string_view key) const;
  void make_room(uint64_t bytes);

  BlobCacheOptions options_;
  std::mutex mutex_;
  std::multimap<const void*, Mapping> mapped_;  // by the address of the blob given out
};

}  // namespace tenon::runtime
