#include "tests/ops/inference.h"

#include <cstring>

#include "core/ops/ops.h"

namespace tenon::test {
namespace {

ir::ElementType element_of(uint32_t dtype) { return static_cast<ir::ElementType>(dtype); }

ir::Type type_of(const cts::Tensor& tensor, bool knows_dims) {
  if (tensor.kind == TENON_KIND_TENSOR) {
    ir::Shape shape = ir::Shape::of(tensor.dims);
    if (!knows_dims) shape.dims.assign(tensor.dims.size(), ir::Dim());
    return ir::Type::tensor(element_of(tensor.dtype), shape);
  }
  const ir::Type inner = ir::Type::tensor(element_of(tensor.dtype));
  if (tensor.kind == TENON_KIND_SEQUENCE) return ir::Type::sequence(inner);
  if (tensor.kind == TENON_KIND_OPTIONAL) return ir::Type::optional(inner);
  return {};
}

ir::TensorPtr value_of(const cts::Tensor& tensor) {
  if (tensor.kind != TENON_KIND_TENSOR) return nullptr;
  if (tensor.dtype == TENON_STRING)
    return ir::Tensor::make_strings(tensor.dims, tensor.strings).value_or(nullptr);
  std::vector<std::byte> bytes(tensor.bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), tensor.bytes.data(), bytes.size());
  return ir::Tensor::make(element_of(tensor.dtype), tensor.dims, std::move(bytes)).value_or(nullptr);
}

ir::Attribute attribute_of(const cts::Attribute& from) {
  using A = ir::Attribute;
  if (const auto* i = std::get_if<int64_t>(&from.value)) return A::of_int(from.name, *i);
  if (const auto* f = std::get_if<float>(&from.value)) return A::of_float(from.name, *f);
  if (const auto* s = std::get_if<std::string>(&from.value)) return A::of_string(from.name, *s);
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&from.value)) return A::of_ints(from.name, *ints);
  if (const auto* floats = std::get_if<std::vector<float>>(&from.value))
    return A::of_floats(from.name, *floats);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&from.value))
    return A::of_strings(from.name, *texts);
  return A::of_tensor(from.name, value_of(std::get<cts::Tensor>(from.value)));
}

/// Only what inference looks at: values are named by their positions.
ir::Node node_of(const cts::NodeCase& from) {
  ir::Node out;
  out.name = "tested", out.domain = from.domain, out.op_type = from.op_type;
  out.since_version = ops::schema_since_version(from.domain, from.op_type, from.since_version);
  auto number = [next = ir::ValueId{0}](const cts::Tensor& tensor) mutable {
    return tensor.kind == TENON_KIND_NONE ? ir::kNone : next++;
  };
  for (const cts::Tensor& input : from.inputs) out.inputs.push_back(number(input));
  for (const cts::Tensor& output : from.outputs) out.outputs.push_back(number(output));
  for (const cts::Attribute& attribute : from.attributes) out.attributes.push_back(attribute_of(attribute));
  return out;
}

InferredOutput output_of(const ir::Type& type) {
  InferredOutput out;
  if (!type.is_tensor() || !type.shape.has_rank) return out;
  out.has_rank = true;
  for (const ir::Dim& dim : type.shape.dims) out.dims.push_back(dim.known() ? dim.value : TENON_DIM_UNKNOWN);
  return out;
}

}  // namespace

Inferred infer(const cts::NodeCase& node, const std::function<Knowledge(size_t input)>& known) {
  const size_t count = node.inputs.size();
  std::vector<ir::Type> types(count);
  std::vector<ir::TensorPtr> values(count);
  ops::InferInputs inputs{std::vector<const ir::Type*>(count), std::vector<const ir::Tensor*>(count)};
  for (size_t i = 0; i < count; ++i) {
    if (node.inputs[i].kind == TENON_KIND_NONE) continue;
    const Knowledge knowledge = known(i);
    types[i] = type_of(node.inputs[i], knowledge.dims);
    if (knowledge.elements) values[i] = value_of(node.inputs[i]);
    inputs.types[i] = &types[i];
    inputs.values[i] = values[i].get();
  }
  Inferred out;
  const Result<std::vector<ir::Type>> made = ops::infer_node(node_of(node), inputs);
  if (!made.ok()) {
    out.refusal = made.status().message();
    out.outputs.resize(node.outputs.size());
    return out;
  }
  for (const ir::Type& type : *made) out.outputs.push_back(output_of(type));
  return out;
}

}  // namespace tenon::test
