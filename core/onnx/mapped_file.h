// Files opened for reading, mapped or copied into memory. The only platform code of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/ir/tensor.h"

namespace tenon::onnx {

/// Immutable and thread-safe. The bytes live as long as the object; the descriptor is closed after opening.
class MappedFile {
 public:
  struct Options {
    bool map = true;                  // false: copy, for files that may be truncated while in use
    int64_t limit_bytes = INT64_MAX;  // LIMIT_EXCEEDED for a larger file
    std::vector<std::string>
        beneath;  // if not empty: the real file must lie beneath one of these real directories
  };

  /// Regular files only: a pipe, device or directory is refused without being opened. INVALID_INPUT, with code
  /// NOT_FOUND when the file does not exist.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, const Options& options);
  /// Bytes of the caller, who keeps them. They have no origin.
  static std::shared_ptr<const MappedFile> borrow(const std::byte* data, size_t size);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  /// The origin of byte `offset` of the file.
  ir::FileSpan span(uint64_t offset) const;

 private:
  MappedFile() = default;

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  Mapping mapping_;
  std::unique_ptr<std::byte[]> copy_;
  ir::FileSpan identity_;
};

/// INVALID_INPUT, with code NOT_FOUND when the file does not exist. `error`: the errno value.
Status system_failure(std::string_view action, int error);

/// The directory part of a path; "." when it has none.
std::string directory_of(const std::string& path);
/// The path with every link followed; empty when it does not exist.
std::string real_path(const std::string& path);

}  // namespace tenon::onnx
