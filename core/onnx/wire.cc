#include "core/onnx/wire.h"

namespace tenon::onnx {
namespace {

constexpr uint64_t kMaxFieldNumber = (uint64_t{1} << 29) - 1;

}  // namespace

bool WireReader::fail(const std::byte* place) {
  failed_ = true;
  at_ = place;
  return false;
}

bool WireReader::read_varint(uint64_t* out) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70 && at_ != end_; shift += 7) {
    auto byte = static_cast<uint64_t>(*at_++);
    if (shift < 64) value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      *out = value;
      return true;
    }
  }
  return false;
}

bool WireReader::next(WireField* out) {
  if (failed_ || at_ == end_) return false;
  const std::byte* start = at_;
  uint64_t tag = 0;
  if (!read_varint(&tag) || tag >> 3 == 0 || tag >> 3 > kMaxFieldNumber) return fail(start);
  out->start = start;
  out->number = static_cast<uint32_t>(tag >> 3);
  out->length = nullptr;
  out->varint = 0;
  size_t size = 0;
  switch (tag & 7) {
    case 0:
      out->type = WireType::kVarint;
      out->payload = at_;
      if (!read_varint(&out->varint)) return fail(start);
      out->size = static_cast<size_t>(at_ - out->payload);
      return true;
    case 1:
      out->type = WireType::kFixed64;
      size = 8;
      break;
    case 2: {
      out->type = WireType::kLength;
      out->length = at_;
      uint64_t length = 0;
      if (!read_varint(&length) || length > static_cast<uint64_t>(end_ - at_)) return fail(start);
      size = static_cast<size_t>(length);
      break;
    }
    case 5:
      out->type = WireType::kFixed32;
      size = 4;
      break;
    default:
      return fail(start);  // groups, which ONNX never used, and unknown wire types
  }
  if (size > static_cast<size_t>(end_ - at_)) return fail(start);
  out->payload = at_;
  out->size = size;
  at_ += size;
  return true;
}

}  // namespace tenon::onnx
