// The skeleton of a model file: the same protobuf message without the bytes of its weights, small enough to parse.
//
// Only this code reads a model before its limits are checked. It walks over the wire format, takes no memory beyond
// the skeleton, and counts what protobuf would allocate.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/onnx/onnx.h"

namespace tenon::onnx {

struct ByteSpan {
  const std::byte* data = nullptr;
  size_t size = 0;
};

struct Skeleton {
  /// A ModelProto with each raw_data field replaced by a `segment` field, which ONNX has not used since 2017 and
  /// which is refused in a file. `segment.begin` is an index into `raw_data`.
  std::string bytes;
  std::vector<ByteSpan> raw_data;  // point into the file
};

/// INVALID_MODEL when the bytes are not a message. LIMIT_EXCEEDED for nodes, depth, rank and the number of parts.
Result<Skeleton> make_skeleton(const std::byte* data, size_t size, const Limits& limits);

}  // namespace tenon::onnx
