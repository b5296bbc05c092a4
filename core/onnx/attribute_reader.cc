#include "core/base/quote.h"
#include "core/ir/constant.h"
#include "core/onnx/graph_reader.h"
#include "core/onnx/names.h"
#include "core/proto/attribute.h"

namespace tenon::onnx {
namespace {

using ir::Attribute;
using ir::AttributeType;

struct Presence {
  AttributeType type;
  bool present;
};

/// The fields that are set. At most one may be, and it must match the type.
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

}  // namespace

Result<Attribute> GraphReader::read_attribute(const pb::AttributeProto& proto) {
  Attribute attribute;
  attribute.name = proto.name();
  if (attribute.name.empty()) return invalid_model("an attribute has no name");
  RETURN_IF_ERROR(check_name("attribute", attribute.name));
  if (!proto.ref_attr_name().empty()) {
    attribute.reference = proto.ref_attr_name();
    attribute.type = static_cast<AttributeType>(proto.type());
    if (!state_.attributes) {
      return invalid_model("the attribute refers to attribute ", quote(attribute.reference),
                           " of a function, but the node is not in a function");
    }
    if (state_.attributes->find(attribute.reference) == state_.attributes->end()) {
      return invalid_model("the attribute refers to attribute ", quote(attribute.reference),
                           ", which the function does not declare");
    }
    return attribute;
  }
  ASSIGN_OR_RETURN(attribute.type, type_of(proto, state_.ir_version));
  const proto::ValueReaders readers = {
      [this](const pb::TensorProto& tensor) { return state_.tensors.read(tensor); },
      [this](const pb::SparseTensorProto& tensor) { return state_.tensors.read_sparse(tensor); },
      [this](const pb::GraphProto& graph) { return GraphReader(state_, this).read(graph); }};
  RETURN_IF_ERROR(proto::read_value(proto, readers, &attribute));
  return attribute;
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
    return invalid_model("a Constant needs exactly one attribute, but this one has ", proto.attribute_size(),
                         " attributes");
  }
  auto in_attribute = [&](Status status) {
    return std::move(status).with_context("attribute " + quote(proto.attribute(0).name()));
  };
  auto attribute = read_attribute(proto.attribute(0));
  if (!attribute.ok()) return in_attribute(std::move(attribute).error());
  auto value = ir::constant_value(*attribute, state_.limits.fold_bytes);
  if (!value.ok()) return in_attribute(std::move(value).error());
  return value;
}

}  // namespace tenon::onnx
