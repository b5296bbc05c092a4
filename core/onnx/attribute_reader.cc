// Attributes of nodes, and Constant nodes.
#include "core/base/quote.h"
#include "core/onnx/graph_reader.h"
#include "core/onnx/names.h"
#include "core/onnx/type_convert.h"

namespace tenon::onnx {
namespace {

using ir::Attribute;
using ir::AttributeType;

struct Presence {
  AttributeType type;
  bool present;
};

/// Which fields hold something. At most one may, and it must be the one of the type.
std::vector<Presence> fields_of(const pb::AttributeProto& p) {
  return {{AttributeType::kFloat, p.has_f()},
          {AttributeType::kInt, p.has_i()},
          {AttributeType::kString, p.has_s()},
          {AttributeType::kTensor, p.has_t()},
          {AttributeType::kGraph, p.has_g()},
          {AttributeType::kSparseTensor, p.has_sparse_tensor()},
          {AttributeType::kTypeProto, p.has_tp()},
          {AttributeType::kFloats, p.floats_size() != 0},
          {AttributeType::kInts, p.ints_size() != 0},
          {AttributeType::kStrings, p.strings_size() != 0},
          {AttributeType::kTensors, p.tensors_size() != 0},
          {AttributeType::kGraphs, p.graphs_size() != 0},
          {AttributeType::kSparseTensors, p.sparse_tensors_size() != 0},
          {AttributeType::kTypeProtos, p.type_protos_size() != 0}};
}

bool needs_field(AttributeType type) {
  return type == AttributeType::kTensor || type == AttributeType::kGraph ||
         type == AttributeType::kSparseTensor || type == AttributeType::kTypeProto;
}

Result<AttributeType> type_of(const pb::AttributeProto& proto, int64_t ir_version) {
  auto declared = static_cast<AttributeType>(proto.type());
  AttributeType held = AttributeType::kUndefined;
  for (const Presence& field : fields_of(proto)) {
    if (!field.present) continue;
    if (held != AttributeType::kUndefined) {
      return invalid_model("the attribute holds both ", attribute_type_name(held), " and ",
                           attribute_type_name(field.type));
    }
    held = field.type;
  }
  // The first version of the format had no type field.
  if (declared == AttributeType::kUndefined && ir_version < 2) declared = held;
  if (declared == AttributeType::kUndefined) {
    return invalid_model("the attribute has no type; export the model again with a current exporter");
  }
  bool fits = held == declared || (held == AttributeType::kUndefined && !needs_field(declared));
  if (fits) return declared;
  return invalid_model("the attribute is declared as ", attribute_type_name(declared), " and holds ",
                       held == AttributeType::kUndefined ? "nothing" : attribute_type_name(held));
}

template <class T, class List>
Result<ir::TensorPtr> number_tensor(ir::ElementType type, std::vector<int64_t> dims, const List& values) {
  std::vector<T> copy(values.begin(), values.end());
  const auto* bytes = reinterpret_cast<const std::byte*>(copy.data());
  return ir::Tensor::make(type, std::move(dims), {bytes, bytes + copy.size() * sizeof(T)});
}

/// The tensor of a Constant node's only attribute.
Result<ir::TensorPtr> constant_value(const Attribute& a, int64_t limit_bytes) {
  using ir::ElementType;
  auto wrong = [&] {
    return invalid_model("a Constant cannot have attribute ", quote(a.name), " of type ",
                         attribute_type_name(a.type));
  };
  auto is = [&](std::string_view name, AttributeType type) { return a.name == name && a.type == type; };
  auto count = [](const auto& list) { return std::vector<int64_t>{static_cast<int64_t>(list.size())}; };
  if (is("value", AttributeType::kTensor)) return a.tensors[0];
  if (is("sparse_value", AttributeType::kSparseTensor)) return to_dense(a.sparse_tensors[0], limit_bytes);
  if (is("value_int", AttributeType::kInt)) return ir::Tensor::scalar_int(a.i);
  if (is("value_ints", AttributeType::kInts)) return ir::Tensor::of_ints(a.ints);
  if (is("value_float", AttributeType::kFloat)) {
    return number_tensor<float>(ElementType::kFloat32, {}, std::vector<float>{a.f});
  }
  if (is("value_floats", AttributeType::kFloats)) {
    return number_tensor<float>(ElementType::kFloat32, count(a.floats), a.floats);
  }
  if (is("value_string", AttributeType::kString)) return ir::Tensor::make_strings({}, {a.s});
  if (is("value_strings", AttributeType::kStrings))
    return ir::Tensor::make_strings(count(a.strings), a.strings);
  return wrong();
}

}  // namespace

Result<Attribute> GraphReader::read_attribute(const pb::AttributeProto& proto) {
  Attribute attribute;
  attribute.name = proto.name();
  if (attribute.name.empty()) return invalid_model("an attribute has no name");
  RETURN_IF_ERROR(check_name("attribute", attribute.name));
  if (!proto.ref_attr_name().empty()) {
    attribute.reference = proto.ref_attr_name();
    attribute.type = static_cast<AttributeType>(proto.type());
    if (!context_.attributes) {
      return invalid_model("the attribute refers to attribute ", quote(attribute.reference),
                           " of a function, and the node is in none");
    }
    if (context_.attributes->find(attribute.reference) == context_.attributes->end()) {
      return invalid_model("the attribute refers to attribute ", quote(attribute.reference),
                           ", which the function does not declare");
    }
    return attribute;
  }
  ASSIGN_OR_RETURN(attribute.type, type_of(proto, context_.ir_version));
  RETURN_IF_ERROR(read_attribute_value(proto, attribute));
  return attribute;
}

Status GraphReader::read_attribute_value(const pb::AttributeProto& proto, Attribute& attribute) {
  attribute.f = proto.f();
  attribute.i = proto.i();
  attribute.s = proto.s();
  attribute.floats.assign(proto.floats().begin(), proto.floats().end());
  attribute.ints.assign(proto.ints().begin(), proto.ints().end());
  attribute.strings.assign(proto.strings().begin(), proto.strings().end());
  auto add_tensor = [&](const pb::TensorProto& tensor) -> Status {
    ASSIGN_OR_RETURN(attribute.tensors.emplace_back(), context_.tensors.read(tensor));
    return ok_status();
  };
  auto add_sparse = [&](const pb::SparseTensorProto& tensor) -> Status {
    ASSIGN_OR_RETURN(attribute.sparse_tensors.emplace_back(), context_.tensors.read_sparse(tensor));
    return ok_status();
  };
  auto add_graph = [&](const pb::GraphProto& graph) -> Status {
    ASSIGN_OR_RETURN(ir::Graph nested, GraphReader(context_, this).read(graph));
    attribute.graphs.emplace_back(std::move(nested));
    return ok_status();
  };
  auto add_type = [&](const pb::TypeProto& type) -> Status {
    ASSIGN_OR_RETURN(attribute.types.emplace_back(), read_type(type));
    return ok_status();
  };
  if (proto.has_t()) RETURN_IF_ERROR(add_tensor(proto.t()));
  if (proto.has_sparse_tensor()) RETURN_IF_ERROR(add_sparse(proto.sparse_tensor()));
  if (proto.has_g()) RETURN_IF_ERROR(add_graph(proto.g()));
  if (proto.has_tp()) RETURN_IF_ERROR(add_type(proto.tp()));
  for (const auto& tensor : proto.tensors()) RETURN_IF_ERROR(add_tensor(tensor));
  for (const auto& tensor : proto.sparse_tensors()) RETURN_IF_ERROR(add_sparse(tensor));
  for (const auto& graph : proto.graphs()) RETURN_IF_ERROR(add_graph(graph));
  for (const auto& type : proto.type_protos()) RETURN_IF_ERROR(add_type(type));
  return ok_status();
}

bool is_plain_constant(const pb::NodeProto& proto) {
  if (proto.op_type() != "Constant" || !normal_domain(proto.domain()).empty()) return false;
  if (proto.output_size() != 1 || proto.input_size() != 0) return false;
  for (const auto& attribute : proto.attribute()) {
    if (!attribute.ref_attr_name().empty()) return false;
  }
  return true;
}

Result<ir::TensorPtr> GraphReader::read_constant(const pb::NodeProto& proto) {
  if (proto.attribute_size() != 1) {
    return invalid_model("a Constant has one value, and this one has ", proto.attribute_size(),
                         " attributes");
  }
  auto in_attribute = [&](Status status) {
    return std::move(status).with_context("attribute " + quote(proto.attribute(0).name()));
  };
  auto attribute = read_attribute(proto.attribute(0));
  if (!attribute.ok()) return in_attribute(std::move(attribute).error());
  auto value = constant_value(*attribute, context_.limits.fold_bytes);
  if (!value.ok()) return in_attribute(std::move(value).error());
  return value;
}

}  // namespace tenon::onnx
