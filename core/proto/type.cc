#include "core/proto/type.h"

#include <algorithm>

#include "core/base/quote.h"

namespace tenon::proto {
namespace {

using ir::ElementType;
using ir::Type;

/// 0 means that the file gives no type.
Result<ElementType> read_element(int32_t number) {
  return number == 0 ? ElementType::kUndefined : read_element_type(number);
}

/// Symbols appear in messages. One with unprintable characters is dropped; the dimension is then unknown. So is one without a
/// letter: some exporters write "?" or "-1" for every unknown dimension, and do not mean that all are equal.
std::string read_symbol(const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
  };
  if (std::none_of(name.begin(), name.end(), is_letter)) return {};
  return printable(name) == name ? name : std::string();
}

/// Exporters write an unknown dimension as nothing, as a name or as -1.
ir::Shape read_shape(const pb::TensorShapeProto& proto) {
  std::vector<ir::Dim> dims;
  dims.reserve(static_cast<size_t>(proto.dim_size()));
  for (const auto& dim : proto.dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      dims.emplace_back(dim.dim_value());
    } else {
      dims.emplace_back(read_symbol(dim.dim_param()));
    }
  }
  return ir::Shape(std::move(dims));
}

template <class TensorType>
Result<Type> read_tensor(const TensorType& proto, ir::ValueKind kind) {
  ASSIGN_OR_RETURN(ElementType element, read_element(proto.elem_type()));
  Type type = Type::tensor(element, proto.has_shape() ? read_shape(proto.shape()) : ir::Shape());
  type.kind = kind;
  return type;
}

template <class TensorType>
void write_tensor(const Type& type, TensorType* out) {
  out->set_elem_type(static_cast<int32_t>(type.element));
  if (!type.shape.has_rank) return;
  auto* shape = out->mutable_shape();
  for (const ir::Dim& dim : type.shape.dims) {
    auto* added = shape->add_dim();
    if (dim.known()) {
      added->set_dim_value(dim.value);
    } else if (!dim.symbol.empty()) {
      added->set_dim_param(dim.symbol);
    }
  }
}

}  // namespace

Result<ElementType> read_element_type(int32_t number) {
  if (number >= 0 && ir::is_element_type(static_cast<uint32_t>(number)))
    return static_cast<ElementType>(number);
  return invalid_model("element type ", number, " does not exist");
}

Result<Type> read_type(const pb::TypeProto& proto) {
  switch (proto.value_case()) {
    case pb::TypeProto::kTensorType:
      return read_tensor(proto.tensor_type(), ir::ValueKind::kTensor);
    case pb::TypeProto::kSparseTensorType:
      return read_tensor(proto.sparse_tensor_type(), ir::ValueKind::kSparseTensor);
    case pb::TypeProto::kSequenceType: {
      ASSIGN_OR_RETURN(Type inner, read_type(proto.sequence_type().elem_type()));
      return Type::sequence(std::move(inner));
    }
    case pb::TypeProto::kOptionalType: {
      ASSIGN_OR_RETURN(Type inner, read_type(proto.optional_type().elem_type()));
      return Type::optional(std::move(inner));
    }
    case pb::TypeProto::kMapType: {
      ASSIGN_OR_RETURN(ElementType key, read_element(proto.map_type().key_type()));
      ASSIGN_OR_RETURN(Type inner, read_type(proto.map_type().value_type()));
      return Type::map(key, std::move(inner));
    }
    case pb::TypeProto::kOpaqueType:
      return unsupported("values of opaque type ",
                         quote(proto.opaque_type().domain() + "." + proto.opaque_type().name()),
                         " are not supported");
    case pb::TypeProto::VALUE_NOT_SET:
      return Type();
  }
  return Type();
}

void write_type(const Type& type, pb::TypeProto* out) {
  switch (type.kind) {
    case ir::ValueKind::kUnknown:
      return;
    case ir::ValueKind::kTensor:
      return write_tensor(type, out->mutable_tensor_type());
    case ir::ValueKind::kSparseTensor:
      return write_tensor(type, out->mutable_sparse_tensor_type());
    case ir::ValueKind::kSequence:
      if (type.inner) write_type(*type.inner, out->mutable_sequence_type()->mutable_elem_type());
      return;
    case ir::ValueKind::kOptional:
      if (type.inner) write_type(*type.inner, out->mutable_optional_type()->mutable_elem_type());
      return;
    case ir::ValueKind::kMap:
      out->mutable_map_type()->set_key_type(static_cast<int32_t>(type.element));
      if (type.inner) write_type(*type.inner, out->mutable_map_type()->mutable_value_type());
      return;
  }
}

}  // namespace tenon::proto
