// A file that is read through one descriptor, so that all checks see the same file, and its identity, which shows
// later changes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace tenon::provider {

/// Two equal identities of one path mean that the file was not replaced or written and its attributes did not change.
struct FileIdentity {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;

  bool operator==(const FileIdentity&) const = default;
  /// Five numbers; used in cache keys.
  std::string to_string() const;
};

/// Bytes at positions. Tests implement it to feed hostile bytes to readers.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  /// Fills `out` with `n` bytes from `offset`. Returns false when there are fewer.
  virtual bool read(uint64_t offset, void* out, size_t n) const = 0;
};

/// A regular file, open for reading.
class OpenFile : public ByteSource {
 public:
  /// Follows links. Errors (kInvalidInput): does not exist, is not a regular file, may not be read.
  static Result<std::unique_ptr<OpenFile>> open(const std::string& path);
  ~OpenFile() override;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// The path given to open().
  const std::string& path() const { return path_; }
  const FileIdentity& identity() const { return identity_; }
  /// True when the file's last change was long enough before open() that a later change gets another time.
  bool is_settled() const { return settled_; }
  /// True when the file still has its identity.
  bool is_unchanged() const;
  uint64_t size() const override { return identity_.size; }
  bool read(uint64_t offset, void* out, size_t n) const override;

  /// 64 lower-case hex digits of the whole file. Kept for the process until the file changes.
  Result<std::string> sha256() const;
  /// The whole file. An error when it is larger than `limit`.
  Result<std::string> text(uint64_t limit) const;

 private:
  OpenFile() = default;

  Result<std::string> read_sha256() const;

  std::string path_;
  FileIdentity identity_;
  bool settled_ = false;
  intptr_t handle_ = -1;
};

/// The identity of the file that `path` leads to. An error when there is no file.
Result<FileIdentity> identity_of(const std::string& path);

/// Refuses with E_FILE_MODE when anybody but root and this process's user owns, or may write, the file at `path`
/// (a real path) or a folder above it. Below libtenon's own folder the owner of libtenon's file is accepted too,
/// who could change libtenon itself. Also accepted: folders with the sticky bit, and write access of the owner's
/// private group, which some distributions give by default.
Status check_writers(const std::string& path);

}  // namespace tenon::provider
