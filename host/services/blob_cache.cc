#include "host/services/blob_cache.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>
#include <vector>

#include "host/base/folder.h"
#include "host/base/fork.h"
#include "host/base/sha256.h"
#include "host/services/blob_file.h"

namespace tenon::runtime {
namespace {

constexpr std::string_view kSuffix = ".blob";

/// Precedes every blob. Header and key are padded with zeros to a multiple of 64, so that the mapped blob is aligned.
struct Header {
  char magic[8] = {'t', 'e', 'n', 'o', 'n', 'b', 'l', '1'};
  uint64_t key_bytes = 0;
  uint64_t blob_bytes = 0;
  Sha256::Digest digest{};  // of key and blob
};

uint64_t blob_offset(uint64_t key_bytes) { return (sizeof(Header) + key_bytes + 63) / 64 * 64; }

Sha256::Digest digest_of(std::string_view key, std::string_view blob) {
  Sha256 hash;
  hash.add(key);
  hash.add(blob);
  return hash.digest();
}

/// The blob inside a file. Empty when the file is not what was written for `key`.
std::string_view open_blob(std::string_view file, std::string_view key) {
  Header header;
  const Header expected;
  if (file.size() < sizeof(header)) return {};
  std::memcpy(&header, file.data(), sizeof(header));
  if (std::memcmp(header.magic, expected.magic, sizeof(header.magic)) != 0) return {};
  const uint64_t offset = blob_offset(key.size());
  if (header.key_bytes != key.size() || offset > file.size() || header.blob_bytes != file.size() - offset)
    return {};
  if (file.substr(sizeof(header), key.size()) != key) return {};
  const std::string_view blob = file.substr(offset);
  return digest_of(key, blob) == header.digest ? blob : std::string_view();
}

}  // namespace

BlobCache::BlobCache(std::string directory) : directory_(std::move(directory)) {}

BlobCache* BlobCache::process() {
  static constinit PerProcess<std::unique_ptr<BlobCache>> cache;
  if (const auto* made = cache.peek()) return made->get();
  const std::string folder = user_cache_folder();
  return cache.get(folder.empty() ? nullptr : std::make_unique<BlobCache>(folder + "/blobs")).get();
}

std::string BlobCache::path_of(std::string_view key) const {
  return str_cat(directory_, "/", hex_of(digest_of(key, {})), kSuffix);
}

Result<std::string_view> BlobCache::get(std::string_view key) {
  ASSIGN_OR_RETURN(Mapping file, map_file(path_of(key)));
  const std::string_view blob = open_blob(file.view(), key);
  if (blob.empty()) return not_found("the blob of '", key, "' is damaged");
  const std::lock_guard lock(mutex_);
  mapped_.emplace(blob.data(), std::move(file));
  return blob;
}

void BlobCache::done(std::string_view blob) {
  const std::lock_guard lock(mutex_);
  const auto at = mapped_.find(blob.data());
  if (at != mapped_.end()) mapped_.erase(at);
}

Status BlobCache::put(std::string_view key, std::string_view blob, const BlobLimits& limits) {
  if (blob.empty()) return invalid_input("an empty blob cannot be kept");
  const uint64_t offset = blob_offset(key.size());
  const uint64_t file_bytes = offset + blob.size();
  if (limits.blob_bytes != 0 && blob.size() > limits.blob_bytes) {
    return limit_exceeded("a blob of ", blob.size(), " bytes for the cache exceeds limits.cache_blob_bytes (",
                          limits.blob_bytes, "); raise it to keep the blob for the next process");
  }
  if (limits.all_bytes != 0 && file_bytes > limits.all_bytes) {
    return limit_exceeded("a file of ", file_bytes, " bytes for the cache exceeds limits.cache_bytes (",
                          limits.all_bytes, "); raise it to keep the blob for the next process");
  }
  RETURN_IF_ERROR(make_private_folder(directory_));
  if (limits.all_bytes != 0) make_room(file_bytes, limits.all_bytes);
  Header header;
  header.key_bytes = key.size();
  header.blob_bytes = blob.size();
  header.digest = digest_of(key, blob);
  const std::string padding(offset - sizeof(header) - key.size(), '\0');
  const std::string_view pieces[] = {
      {reinterpret_cast<const char*>(&header), sizeof(header)}, key, padding, blob};
  const std::string path = path_of(key);
  const std::error_code error = write_file(path, pieces, {.is_private = true});
  if (!error) return ok_status();
  return Status(StatusCode::kUnavailable, str_cat("cannot be written: ", error.message()))
      .with_context(str_cat("file '", path, "'"));
}

void BlobCache::make_room(uint64_t bytes, uint64_t limit) {
  namespace fs = std::filesystem;
  struct File {
    fs::file_time_type time;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uint64_t total = bytes;
  std::error_code error;  // ignored: another process may have removed a file
  for (const std::string& name : list_folder(directory_, kSuffix).value_or(std::vector<std::string>())) {
    fs::path path(directory_ + "/" + name);
    const uint64_t size = fs::file_size(path, error);
    if (error) continue;
    const fs::file_time_type time = fs::last_write_time(path, error);
    if (error) continue;
    files.push_back({time, size, std::move(path)});
    total += size;
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.time < b.time; });
  for (const File& file : files) {
    if (total <= limit) break;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

}  // namespace tenon::runtime
