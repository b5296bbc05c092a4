// A command while it is put together. Its bytes go into a queue or a graph.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "tests/fakes/cuda/device/protocol.h"

namespace fake_cuda {

class CommandBuffer {
 public:
  CommandBuffer() = default;
  template <class T>
  explicit CommandBuffer(Do what, const T& command) {
    append(&command, sizeof(command));
    head().what = what;
  }

  Command& head() { return *reinterpret_cast<Command*>(bytes_.data()); }
  const Command& head() const { return *reinterpret_cast<const Command*>(bytes_.data()); }
  template <class T>
  T& as() {
    return *reinterpret_cast<T*>(bytes_.data());
  }
  uint64_t size() const { return bytes_.size(); }
  const unsigned char* data() const { return bytes_.data(); }

  void append(const void* data, size_t bytes) {
    if (bytes == 0) return;
    const size_t at = bytes_.size();
    bytes_.resize(at + bytes);
    std::memcpy(bytes_.data() + at, data, bytes);
  }
  void append_text(std::string_view text) {
    append(text.data(), text.size());
    bytes_.push_back(0);
  }
  void pad() { bytes_.resize((bytes_.size() + 15) / 16 * 16); }
  /// Sets the size.
  void finish() {
    pad();
    head().bytes = static_cast<uint32_t>(bytes_.size());
  }
  /// Puts a clock at the end. ClockEntry is 16 bytes.
  void finish_with(const std::vector<ClockEntry>& clock) {
    pad();
    append(clock.data(), clock.size() * sizeof(ClockEntry));
    head().clock_size = static_cast<uint16_t>(clock.size());
    finish();
  }

 private:
  std::vector<unsigned char> bytes_;
};

}  // namespace fake_cuda
