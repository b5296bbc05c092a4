// Files: open, mapped into memory, and written so that nobody ever sees half of one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace tenon {

/// A file that is open; closed with the object.
class Descriptor {
 public:
  /// Below 0: none.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  bool ok() const { return number_ >= 0; }

 private:
  int number_;
};

/// The bytes of a file in memory, for reading; gone with the object. They outlive the descriptor.
class Mapping {
 public:
  Mapping() = default;
  /// Of the first `size` bytes, which may not be 0. Without data when the system refuses; errno then says why.
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

struct WriteOptions {
  bool is_private = false;  // mode 0600; else what the process's mask leaves of 0666
  bool durable = true;      // false: what a crash of the machine may take, because it is made again
};

/// Writes the pieces to a new file beside `path` and renames it: who reads `path` sees the old content or the new one. A
/// failure leaves the old one and nothing else.
std::error_code write_file(const std::string& path, std::span<const std::string_view> pieces,
                           WriteOptions options = {});
std::error_code write_file(const std::string& path, std::string_view text, WriteOptions options = {});

}  // namespace tenon
