// Attributes and tensors -> protobuf.
#include "core/onnx/graph_writer.h"
#include "core/onnx/type_convert.h"

namespace tenon::onnx {
namespace {

void write_sparse(const ir::SparseTensor& sparse, pb::SparseTensorProto* out) {
  for (int64_t dim : sparse.dims) out->add_dims(dim);
  write_tensor(*sparse.values, out->mutable_values());
  write_tensor(*sparse.indices, out->mutable_indices());
}

}  // namespace

void write_tensor(const ir::Tensor& tensor, pb::TensorProto* out) {
  out->set_data_type(static_cast<int32_t>(tensor.type()));
  for (int64_t dim : tensor.dims()) out->add_dims(dim);
  if (tensor.type() != ir::ElementType::kString) {
    out->set_raw_data(tensor.data(), tensor.byte_size());
    return;
  }
  for (int64_t i = 0; i < tensor.element_count(); ++i) out->add_string_data(std::string(tensor.string_at(i)));
}

void write_attribute(const ir::Attribute& a, const GraphWriter& writer, pb::AttributeProto* out) {
  using ir::AttributeType;
  out->set_name(a.name);
  out->set_type(static_cast<pb::AttributeProto::AttributeType>(a.type));
  if (!a.reference.empty()) {
    out->set_ref_attr_name(a.reference);
    return;
  }
  auto write_graph = [&](const ir::GraphBox& graph, pb::GraphProto* proto) {
    GraphWriter(*graph, &writer).write(proto, false);
  };
  switch (a.type) {
    case AttributeType::kUndefined:
      return;
    case AttributeType::kFloat:
      return out->set_f(a.f);
    case AttributeType::kInt:
      return out->set_i(a.i);
    case AttributeType::kString:
      return out->set_s(a.s);
    case AttributeType::kFloats:
      return out->mutable_floats()->Add(a.floats.begin(), a.floats.end());
    case AttributeType::kInts:
      return out->mutable_ints()->Add(a.ints.begin(), a.ints.end());
    case AttributeType::kStrings:
      for (const std::string& text : a.strings) out->add_strings(text);
      return;
    case AttributeType::kTensor:
      return write_tensor(*a.tensors[0], out->mutable_t());
    case AttributeType::kTensors:
      for (const ir::TensorPtr& tensor : a.tensors) write_tensor(*tensor, out->add_tensors());
      return;
    case AttributeType::kSparseTensor:
      return write_sparse(a.sparse_tensors[0], out->mutable_sparse_tensor());
    case AttributeType::kSparseTensors:
      for (const ir::SparseTensor& tensor : a.sparse_tensors) write_sparse(tensor, out->add_sparse_tensors());
      return;
    case AttributeType::kGraph:
      return write_graph(a.graphs[0], out->mutable_g());
    case AttributeType::kGraphs:
      for (const ir::GraphBox& graph : a.graphs) write_graph(graph, out->add_graphs());
      return;
    case AttributeType::kTypeProto:
      return write_type(a.types[0], out->mutable_tp());
    case AttributeType::kTypeProtos:
      for (const ir::Type& type : a.types) write_type(type, out->add_type_protos());
      return;
  }
}

}  // namespace tenon::onnx
