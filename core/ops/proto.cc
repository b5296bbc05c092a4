#include "core/ops/proto.h"

#include <cstring>

namespace tenon::ops {

namespace {

void shape_to_proto(const ir::Shape& shape, pb::TensorShapeProto* out) {
  for (const ir::Dim& dim : shape.dims) {
    auto* added = out->add_dim();
    if (dim.known()) {
      added->set_dim_value(dim.value);
    } else if (!dim.symbol.empty()) {
      added->set_dim_param(dim.symbol);
    }
  }
}

ir::Shape shape_from_proto(const pb::TensorShapeProto& shape) {
  ir::Shape out;
  out.has_rank = true;
  out.dims.reserve(static_cast<size_t>(shape.dim_size()));
  for (const auto& dim : shape.dim()) {
    ir::Dim& added = out.dims.emplace_back();
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      added.value = dim.dim_value();
    } else if (dim.has_dim_param()) {
      added.symbol = dim.dim_param();
    }
  }
  return out;
}

template <class Tensor>
void tensor_to_proto(const ir::Type& type, Tensor* out) {
  out->set_elem_type(static_cast<int32_t>(type.element));
  if (type.shape.has_rank) shape_to_proto(type.shape, out->mutable_shape());
}

template <class Tensor>
ir::Type tensor_from_proto(const Tensor& type) {
  return ir::Type::tensor(static_cast<ir::ElementType>(type.elem_type()),
                          type.has_shape() ? shape_from_proto(type.shape()) : ir::Shape());
}

template <class T, class Values>
std::vector<std::byte> pack(const Values& values) {
  std::vector<std::byte> bytes(static_cast<size_t>(values.size()) * sizeof(T));
  for (int i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

/// Elements of the typed fields; function bodies use few types.
std::vector<std::byte> typed_bytes(const pb::TensorProto& tensor) {
  switch (tensor.data_type()) {
    case pb::TensorProto::FLOAT:
      return pack<float>(tensor.float_data());
    case pb::TensorProto::DOUBLE:
      return pack<double>(tensor.double_data());
    case pb::TensorProto::INT64:
      return pack<int64_t>(tensor.int64_data());
    case pb::TensorProto::UINT64:
      return pack<uint64_t>(tensor.uint64_data());
    case pb::TensorProto::UINT32:
      return pack<uint32_t>(tensor.uint64_data());
    case pb::TensorProto::INT32:
      return pack<int32_t>(tensor.int32_data());
    case pb::TensorProto::INT16:
    case pb::TensorProto::UINT16:
    case pb::TensorProto::FLOAT16:
    case pb::TensorProto::BFLOAT16:
      return pack<uint16_t>(tensor.int32_data());
    default:
      return pack<uint8_t>(tensor.int32_data());
  }
}

}  // namespace

void to_proto(const ir::Type& type, pb::TypeProto* out) {
  switch (type.kind) {
    case ir::ValueKind::kTensor:
      tensor_to_proto(type, out->mutable_tensor_type());
      break;
    case ir::ValueKind::kSparseTensor:
      tensor_to_proto(type, out->mutable_sparse_tensor_type());
      break;
    case ir::ValueKind::kSequence:
      if (type.inner) to_proto(*type.inner, out->mutable_sequence_type()->mutable_elem_type());
      break;
    case ir::ValueKind::kOptional:
      if (type.inner) to_proto(*type.inner, out->mutable_optional_type()->mutable_elem_type());
      break;
    case ir::ValueKind::kMap:
      out->mutable_map_type()->set_key_type(static_cast<int32_t>(type.element));
      if (type.inner) to_proto(*type.inner, out->mutable_map_type()->mutable_value_type());
      break;
    case ir::ValueKind::kUnknown:
      break;
  }
}

ir::Type from_proto(const pb::TypeProto& type) {
  switch (type.value_case()) {
    case pb::TypeProto::kTensorType:
      return tensor_from_proto(type.tensor_type());
    case pb::TypeProto::kSparseTensorType: {
      ir::Type out = tensor_from_proto(type.sparse_tensor_type());
      out.kind = ir::ValueKind::kSparseTensor;
      return out;
    }
    case pb::TypeProto::kSequenceType:
      return ir::Type::sequence(from_proto(type.sequence_type().elem_type()));
    case pb::TypeProto::kOptionalType:
      return ir::Type::optional(from_proto(type.optional_type().elem_type()));
    case pb::TypeProto::kMapType:
      return ir::Type::map(static_cast<ir::ElementType>(type.map_type().key_type()),
                           from_proto(type.map_type().value_type()));
    default:
      return {};
  }
}

void to_proto(const ir::Tensor& tensor, pb::TensorProto* out) {
  out->set_data_type(static_cast<int32_t>(tensor.type()));
  for (const int64_t dim : tensor.dims()) out->add_dims(dim);
  if (tensor.byte_size() > kMaxInferenceBytes) return;
  if (tensor.type() == ir::ElementType::kString) {
    for (int64_t i = 0; i < tensor.element_count(); ++i)
      out->add_string_data(std::string(tensor.string_at(i)));
  } else {
    out->set_raw_data(tensor.data(), tensor.byte_size());
  }
}

Result<ir::TensorPtr> from_proto(const pb::TensorProto& tensor) {
  const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  if (tensor.data_type() == pb::TensorProto::STRING) {
    return ir::Tensor::make_strings(dims, {tensor.string_data().begin(), tensor.string_data().end()});
  }
  std::vector<std::byte> bytes;
  if (tensor.has_raw_data()) {
    bytes.resize(tensor.raw_data().size());
    if (!bytes.empty()) std::memcpy(bytes.data(), tensor.raw_data().data(), bytes.size());
  } else {
    bytes = typed_bytes(tensor);
  }
  return ir::Tensor::make(static_cast<ir::ElementType>(tensor.data_type()), dims, std::move(bytes));
}

namespace {

void border_to_proto(const ir::Graph& graph, pb::GraphProto* out) {
  auto add = [&](ir::ValueId id, pb::ValueInfoProto* info) {
    info->set_name(graph.value(id).name);
    to_proto(graph.value(id).type, info->mutable_type());
  };
  for (const ir::ValueId id : graph.inputs()) add(id, out->add_input());
  for (const ir::ValueId id : graph.outputs()) add(id, out->add_output());
}

}  // namespace

void to_proto(const ir::Attribute& attribute, pb::AttributeProto* out) {
  using ir::AttributeType;
  out->set_name(attribute.name);
  out->set_type(static_cast<pb::AttributeProto::AttributeType>(attribute.type));
  switch (attribute.type) {
    case AttributeType::kFloat:
      out->set_f(attribute.f);
      break;
    case AttributeType::kInt:
      out->set_i(attribute.i);
      break;
    case AttributeType::kString:
      out->set_s(attribute.s);
      break;
    case AttributeType::kFloats:
      out->mutable_floats()->Add(attribute.floats.begin(), attribute.floats.end());
      break;
    case AttributeType::kInts:
      out->mutable_ints()->Add(attribute.ints.begin(), attribute.ints.end());
      break;
    case AttributeType::kStrings:
      for (const std::string& text : attribute.strings) out->add_strings(text);
      break;
    case AttributeType::kTensor:
      if (!attribute.tensors.empty()) to_proto(*attribute.tensors[0], out->mutable_t());
      break;
    case AttributeType::kTensors:
      for (const ir::TensorPtr& tensor : attribute.tensors) to_proto(*tensor, out->add_tensors());
      break;
    case AttributeType::kSparseTensor:
      if (!attribute.sparse_tensors.empty()) {
        const ir::SparseTensor& sparse = attribute.sparse_tensors[0];
        for (const int64_t dim : sparse.dims) out->mutable_sparse_tensor()->add_dims(dim);
        if (sparse.values) to_proto(*sparse.values, out->mutable_sparse_tensor()->mutable_values());
        if (sparse.indices) to_proto(*sparse.indices, out->mutable_sparse_tensor()->mutable_indices());
      }
      break;
    case AttributeType::kTypeProto:
      if (!attribute.types.empty()) to_proto(attribute.types[0], out->mutable_tp());
      break;
    case AttributeType::kTypeProtos:
      for (const ir::Type& type : attribute.types) to_proto(type, out->add_type_protos());
      break;
    case AttributeType::kGraph:
      if (!attribute.graphs.empty()) border_to_proto(*attribute.graphs[0], out->mutable_g());
      break;
    default:
      break;
  }
}

Result<ir::Attribute> from_proto(const pb::AttributeProto& attribute) {
  ir::Attribute out;
  out.name = attribute.name();
  out.type = static_cast<ir::AttributeType>(attribute.type());
  out.reference = attribute.ref_attr_name();
  out.i = attribute.i();
  out.f = attribute.f();
  out.s = attribute.s();
  out.ints.assign(attribute.ints().begin(), attribute.ints().end());
  out.floats.assign(attribute.floats().begin(), attribute.floats().end());
  out.strings.assign(attribute.strings().begin(), attribute.strings().end());
  if (attribute.has_t()) {
    ASSIGN_OR_RETURN(ir::TensorPtr tensor, from_proto(attribute.t()));
    out.tensors.push_back(std::move(tensor));
  }
  for (const auto& proto : attribute.tensors()) {
    ASSIGN_OR_RETURN(ir::TensorPtr tensor, from_proto(proto));
    out.tensors.push_back(std::move(tensor));
  }
  if (attribute.has_tp()) out.types.push_back(from_proto(attribute.tp()));
  for (const auto& proto : attribute.type_protos()) out.types.push_back(from_proto(proto));
  return out;
}

Status status_of(const std::exception& error) {
  if (const auto* carried = dynamic_cast<const StatusException*>(&error)) return carried->status();
  std::string_view text = error.what();
  for (const std::string_view prefix : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
    if (text.substr(0, prefix.size()) == prefix) text.remove_prefix(prefix.size());
  }
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return invalid_model(text);
}

}  // namespace tenon::ops
