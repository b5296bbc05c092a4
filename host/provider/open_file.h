// A file that is looked at through one descriptor, so that what was checked is what was hashed, and its
// identity, by which a later change is noticed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace tenon::provider {

/// Two equal identities of one path mean: not replaced, not written, not renamed over, attributes unchanged.
struct FileIdentity {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;

  bool operator==(const FileIdentity&) const = default;
  /// Five numbers: part of cache keys.
  std::string to_string() const;
};

/// Bytes at positions; the seam through which readers see files and tests feed them hostile bytes.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  /// Fills `out` with exactly `n` bytes from `offset`, or returns false.
  virtual bool read(uint64_t offset, void* out, size_t n) const = 0;
};

/// A regular file, open for reading.
class OpenFile : public ByteSource {
 public:
  /// Follows links. Errors (kInvalidInput): does not exist, is no regular file, may not be read.
  static Result<std::unique_ptr<OpenFile>> open(const std::string& path);
  ~OpenFile() override;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// As it was given to open().
  const std::string& path() const { return path_; }
  const FileIdentity& identity() const { return identity_; }
  /// When the file was opened, its last change lay so far back that a later one has another time.
  bool is_settled() const { return settled_; }
  /// The file still has its identity.
  bool is_unchanged() const;
  uint64_t size() const override { return identity_.size; }
  bool read(uint64_t offset, void* out, size_t n) const override;

  /// 64 lower-case hex digits of the whole file. Reads it once in the life of the process, unless it changes.
  Result<std::string> sha256() const;
  /// All of it; an error when it is larger than `limit`.
  Result<std::string> text(uint64_t limit) const;

 private:
  OpenFile() = default;

  Result<std::string> read_sha256() const;

  std::string path_;
  FileIdentity identity_;
  bool settled_ = false;
  intptr_t handle_ = -1;
};

/// Of what `path` leads to; an error when there is nothing.
Result<FileIdentity> identity_of(const std::string& path);

/// Who could change the file that `path` (a real path) names: refuses E_FILE_MODE when anybody but root and
/// the user of this process owns it or a folder above it or may write there. Beneath the folder that libtenon's own
/// file lies in, the owner of that file may too: whoever it is could change libtenon itself. Two things pass that look
/// otherwise: a folder with the sticky bit, and what is writable by its owner's private group, which some
/// distributions make usual.
Status check_writers(const std::string& path);

/// True when the group is the user's own and has no other member.
bool is_private_group(uint32_t user, uint32_t group);

}  // namespace tenon::provider
