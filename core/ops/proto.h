// Between our types and ONNX's messages, for the calls into ONNX's schemas. Internal to core/ops.
#pragma once

#include "core/ops/registry.h"
#include "onnx/onnx_pb.h"

namespace tenon::ops {

/// Values larger than this are not shown to ONNX's inference: no operator reads shapes from so much.
inline constexpr size_t kMaxInferenceBytes = size_t{64} << 10;

void to_proto(const ir::Type& type, pb::TypeProto* out);
ir::Type from_proto(const pb::TypeProto& type);
/// Type and dims; the elements too when they fit kMaxInferenceBytes.
void to_proto(const ir::Tensor& tensor, pb::TensorProto* out);
Result<ir::TensorPtr> from_proto(const pb::TensorProto& tensor);
/// Of a graph only inputs and outputs: ONNX reaches the nodes through a GraphInferencer.
void to_proto(const ir::Attribute& attribute, pb::AttributeProto* out);

/// Graphs are left out as well; the caller reads them.
Result<ir::Attribute> from_proto(const pb::AttributeProto& attribute);

/// A failure that ONNX reported by an exception, without its prefixes.
Status status_of(const std::exception& error);

/// Carries a Status through ONNX's code, which knows only exceptions.
class StatusException : public std::exception {
 public:
  explicit StatusException(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return "status"; }

 private:
  Status status_;
};

}  // namespace tenon::ops
