#include "core/onnx/skeleton.h"

#include <limits>

#include "core/base/quote.h"
#include "core/onnx/wire.h"

namespace tenon::onnx {
namespace {

/// The messages that the walk enters. All others are copied unchanged.
enum class Kind {
  kNone,
  kDropped,  // not needed later
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kFunction,
  kValueInfo,
  kType,
  kTensorType,
  kInnerType,  // sequence and optional
  kMapType,
  kShape,
};

/// The kind of a field, by the numbers of onnx-ml.proto.
Kind field_kind(Kind parent, uint32_t field) {
  switch (parent) {
    case Kind::kModel:
      if (field == 7) return Kind::kGraph;
      if (field == 25) return Kind::kFunction;
      if (field == 20 || field == 26) return Kind::kDropped;  // training_info, configuration
      return Kind::kNone;
    case Kind::kGraph:
      if (field == 1) return Kind::kNode;
      if (field == 5) return Kind::kTensor;
      if (field == 15) return Kind::kSparseTensor;
      if (field == 11 || field == 12 || field == 13) return Kind::kValueInfo;
      if (field == 14 || field == 16) return Kind::kDropped;  // quantization_annotation, metadata_props
      return Kind::kNone;
    case Kind::kFunction:
      if (field == 7) return Kind::kNode;
      if (field == 11) return Kind::kAttribute;
      if (field == 12) return Kind::kValueInfo;
      if (field == 14) return Kind::kDropped;  // metadata_props
      return Kind::kNone;
    case Kind::kNode:
      if (field == 5) return Kind::kAttribute;
      if (field == 9 || field == 10) return Kind::kDropped;  // metadata_props, device_configurations
      return Kind::kNone;
    case Kind::kAttribute:
      if (field == 5 || field == 10) return Kind::kTensor;
      if (field == 6 || field == 11) return Kind::kGraph;
      if (field == 22 || field == 23) return Kind::kSparseTensor;
      if (field == 14 || field == 15) return Kind::kType;
      return Kind::kNone;
    case Kind::kTensor:
      return field == 16 ? Kind::kDropped : Kind::kNone;  // metadata_props
    case Kind::kSparseTensor:
      return field == 1 || field == 2 ? Kind::kTensor : Kind::kNone;
    case Kind::kValueInfo:
      if (field == 2) return Kind::kType;
      return field == 4 ? Kind::kDropped : Kind::kNone;  // metadata_props
    case Kind::kType:
      if (field == 1 || field == 8) return Kind::kTensorType;
      if (field == 4 || field == 9) return Kind::kInnerType;
      return field == 5 ? Kind::kMapType : Kind::kNone;
    case Kind::kTensorType:
      return field == 2 ? Kind::kShape : Kind::kNone;
    case Kind::kInnerType:
      return field == 1 ? Kind::kType : Kind::kNone;
    case Kind::kMapType:
      return field == 2 ? Kind::kType : Kind::kNone;
    default:
      return Kind::kNone;
  }
}

constexpr uint32_t kTensorDims = 1, kTensorSegment = 3, kTensorName = 8, kTensorRawData = 9;

/// protobuf sizes are int.
constexpr size_t kLargestSkeleton = static_cast<size_t>(std::numeric_limits<int>::max());

size_t count_varints(const WireField& field) {
  size_t count = 0;
  for (size_t i = 0; i < field.size; ++i) count += (field.payload[i] & std::byte(0x80)) == std::byte(0);
  return count;
}

class SkeletonBuilder {
 public:
  SkeletonBuilder(const std::byte* data, size_t size, const Limits& limits)
      : data_(data), size_(size), limits_(limits) {}

  Result<Skeleton> run() {
    RETURN_IF_ERROR(walk(Kind::kModel, data_, size_, 0));
    return std::move(result_);
  }

 private:
  Status walk(Kind kind, const std::byte* data, size_t size, int depth) {
    WireReader reader(data, size);
    WireField field;
    size_t rank = 0;
    while (reader.next(&field)) {
      if (kind == Kind::kTensor && field.number == kTensorDims) {
        rank += field.type == WireType::kLength ? count_varints(field) : 1;
        RETURN_IF_ERROR(check_rank(rank, data, size));
      }
      if (kind == Kind::kShape && field.type == WireType::kLength && field.number == 1) {
        RETURN_IF_ERROR(check_rank(++rank, nullptr, 0));
      }
      RETURN_IF_ERROR(field.type == WireType::kLength ? take_length(kind, field, depth) : copy(field));
    }
    if (!reader.failed()) return ok_status();
    return invalid_model("not an ONNX model, or damaged: no valid message at byte ",
                         reader.position() - data_, " of ", size_, "; check that the file is complete");
  }

  Status take_length(Kind kind, const WireField& field, int depth) {
    RETURN_IF_ERROR(count_part(kind, field));
    if (kind == Kind::kTensor && field.number == kTensorRawData) return take_raw_data(field);
    if (kind == Kind::kTensor && field.number == kTensorSegment) {
      return invalid_model("a tensor has field 'segment', which ONNX does not use; export the model again");
    }
    Kind child = field_kind(kind, field.number);
    if (child == Kind::kDropped) return ok_status();
    if (child == Kind::kNone || field.size == 0) return copy(field);
    if ((child == Kind::kGraph || child == Kind::kType) && kind != Kind::kModel && kind != Kind::kValueInfo &&
        ++depth > limits_.graph_depth) {
      return limit_exceeded("graphs or types are nested more than ", limits_.graph_depth,
                            " deep; raise limits.graph_depth for a trusted model");
    }
    return descend(child, field, depth);
  }

  /// The length of the new content is not known yet. It can only shrink, apart from the few bytes that replace raw
  /// data. So five bytes, protobuf's longest length, are reserved and filled in afterwards.
  Status descend(Kind child, const WireField& field, int depth) {
    static constexpr size_t kLengthBytes = 5;
    append(field.start, static_cast<size_t>(field.length - field.start));
    size_t length_at = result_.bytes.size();
    result_.bytes.append(kLengthBytes, '\0');
    RETURN_IF_ERROR(walk(child, field.payload, field.size, depth));
    size_t length = result_.bytes.size() - length_at - kLengthBytes;
    for (size_t i = 0; i < kLengthBytes; ++i) {
      bool last = i + 1 == kLengthBytes;
      result_.bytes[length_at + i] = static_cast<char>((length >> (7 * i) & 0x7f) | (last ? 0 : 0x80));
    }
    return ok_status();
  }

  Status take_raw_data(const WireField& field) {
    size_t index = result_.raw_data.size();
    result_.raw_data.push_back({field.payload, field.size});
    std::string segment(1, '\x08');  // Segment.begin, a varint
    for (size_t rest = index; segment.size() == 1 || rest != 0; rest >>= 7) {
      segment += static_cast<char>((rest & 0x7f) | (rest >= 0x80 ? 0x80 : 0));
    }
    result_.bytes += static_cast<char>(kTensorSegment << 3 | static_cast<uint32_t>(WireType::kLength));
    result_.bytes += static_cast<char>(segment.size());
    result_.bytes += segment;
    return ok_status();
  }

  /// Two bytes of a file can take a hundred bytes in memory, because an empty message costs as much as a full one.
  /// Nodes have their own limit. All other parts share one, which is enough for any model with that many nodes.
  Status count_part(Kind kind, const WireField& field) {
    if (field_kind(kind, field.number) == Kind::kNode && ++nodes_ > limits_.nodes) {
      return limit_exceeded("the model has more than ", limits_.nodes,
                            " nodes; raise limits.nodes for a trusted model");
    }
    int64_t allowed = 5 * limits_.nodes + static_cast<int64_t>(size_ / 8);
    if (++parts_ <= allowed) return ok_status();
    return limit_exceeded("the file has more than ", allowed,
                          " messages and strings (attributes, metadata, value_info, input names, ...); raise "
                          "limits.nodes for a trusted model");
  }

  Status check_rank(size_t rank, const std::byte* tensor, size_t size) const {
    if (rank <= static_cast<size_t>(limits_.rank)) return ok_status();
    Status status = limit_exceeded("a tensor has rank above ", limits_.rank,
                                   "; reshape it in the model to fewer dimensions");
    if (tensor) status = std::move(status).with_context("tensor " + quote(tensor_name(tensor, size)));
    return status;
  }

  static std::string tensor_name(const std::byte* data, size_t size) {
    WireReader reader(data, size);
    WireField field;
    std::string name;
    while (reader.next(&field)) {
      if (field.number != kTensorName || field.type != WireType::kLength) continue;
      name.assign(reinterpret_cast<const char*>(field.payload), field.size);
    }
    return name;
  }

  Status copy(const WireField& field) {
    size_t size = static_cast<size_t>(field.payload - field.start) + field.size;
    if (size > kLargestSkeleton - result_.bytes.size()) {
      return limit_exceeded(
          "the model is larger than 2 GiB without its raw weights; store weights as raw_data or external "
          "data");
    }
    append(field.start, size);
    return ok_status();
  }

  void append(const std::byte* data, size_t size) {
    result_.bytes.append(reinterpret_cast<const char*>(data), size);
  }

  const std::byte* data_;
  size_t size_;
  const Limits& limits_;
  Skeleton result_;
  int64_t nodes_ = 0, parts_ = 0;
};

}  // namespace

Result<Skeleton> make_skeleton(const std::byte* data, size_t size, const Limits& limits) {
  return SkeletonBuilder(data, size, limits).run();
}

}  // namespace tenon::onnx
