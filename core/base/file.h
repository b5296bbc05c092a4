// Files: open, map into memory, and replace in one step.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace tenon {

/// An open file. The destructor closes it.
class Descriptor {
 public:
  /// Below 0: no file.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  bool ok() const { return number_ >= 0; }

 private:
  int number_;
};

/// The bytes of a file in memory, read-only. The destructor unmaps them. A Mapping may outlive its Descriptor.
class Mapping {
 public:
  Mapping() = default;
  /// Maps the first `size` bytes; `size` must not be 0. On failure data() is null and errno gives the reason.
  Mapping(const Descriptor& file, size_t size);
  ~Mapping();
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view view() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// Gives the memory of whole pages within these bytes of a Mapping back to the system. Who reads them later gets them
/// from the file again.
void release_pages(std::span<const std::byte> mapped);

struct WriteOptions {
  bool is_private = false;  // mode 0600; otherwise 0666 less the umask
  bool durable = true;      // false: a crash of the machine may lose the file; for files that are made again
};

/// Writes the pieces to a new file beside `path`, then renames it to `path`, so readers see the old or the new
/// content. On failure the old file stays and the new one is removed.
std::error_code write_file(const std::string& path, std::span<const std::string_view> pieces,
                           WriteOptions options = {});
std::error_code write_file(const std::string& path, std::string_view text, WriteOptions options = {});

}  // namespace tenon
