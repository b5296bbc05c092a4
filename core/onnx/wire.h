// The part of the protobuf wire format that is needed to walk over a message without parsing it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::onnx {

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

/// One field of a message. The pointers point into the message.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  const std::byte* start = nullptr;    // of the tag
  const std::byte* length = nullptr;   // of the length of a kLength field
  const std::byte* payload = nullptr;  // of the content
  size_t size = 0;                     // of the content
  uint64_t varint = 0;                 // value of a kVarint field
};

/// Reads fields one after another. Never reads outside of its bytes.
class WireReader {
 public:
  WireReader(const std::byte* data, size_t size) : at_(data), end_(data + size) {}

  /// False at the end and at the first invalid byte; see failed().
  bool next(WireField* out);
  bool failed() const { return failed_; }
  /// Where reading stopped.
  const std::byte* position() const { return at_; }

 private:
  bool read_varint(uint64_t* out);
  bool fail(const std::byte* place);

  const std::byte* at_;
  const std::byte* end_;
  bool failed_ = false;
};

}  // namespace tenon::onnx
