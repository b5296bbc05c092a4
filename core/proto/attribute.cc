#include "core/proto/attribute.h"

#include "core/proto/tensor.h"
#include "core/proto/type.h"

namespace tenon::proto {
namespace {

/// Reads the single field, if present, and then the fields of the list.
template <class List, class Read, class Out>
Status read_all(bool has_one, const typename List::value_type& one, const List& list, const Read& read,
                std::vector<Out>* out) {
  if (has_one) {
    ASSIGN_OR_RETURN(auto made, read(one));
    out->emplace_back(std::move(made));
  }
  for (const auto& entry : list) {
    ASSIGN_OR_RETURN(auto made, read(entry));
    out->emplace_back(std::move(made));
  }
  return ok_status();
}

}  // namespace

Status read_value(const pb::AttributeProto& proto, const ValueReaders& readers, ir::Attribute* out) {
  out->f = proto.f();
  out->i = proto.i();
  out->s = proto.s();
  out->floats.assign(proto.floats().begin(), proto.floats().end());
  out->ints.assign(proto.ints().begin(), proto.ints().end());
  out->strings.assign(proto.strings().begin(), proto.strings().end());
  RETURN_IF_ERROR(read_all(proto.has_t(), proto.t(), proto.tensors(), readers.tensor, &out->tensors));
  RETURN_IF_ERROR(read_all(proto.has_sparse_tensor(), proto.sparse_tensor(), proto.sparse_tensors(),
                           readers.sparse_tensor, &out->sparse_tensors));
  RETURN_IF_ERROR(read_all(proto.has_g(), proto.g(), proto.graphs(), readers.graph, &out->graphs));
  return read_all(proto.has_tp(), proto.tp(), proto.type_protos(), read_type, &out->types);
}

void write_attribute(const ir::Attribute& a, const WriteGraph& write_graph, pb::AttributeProto* out,
                     size_t most_bytes) {
  using ir::AttributeType;
  out->set_name(a.name);
  out->set_type(static_cast<pb::AttributeProto::AttributeType>(a.type));
  if (!a.reference.empty()) return out->set_ref_attr_name(a.reference);
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
      if (!a.tensors.empty()) write_tensor(*a.tensors[0], out->mutable_t(), most_bytes);
      return;
    case AttributeType::kTensors:
      for (const ir::TensorPtr& tensor : a.tensors) write_tensor(*tensor, out->add_tensors(), most_bytes);
      return;
    case AttributeType::kSparseTensor:
      if (!a.sparse_tensors.empty())
        write_sparse_tensor(a.sparse_tensors[0], out->mutable_sparse_tensor(), most_bytes);
      return;
    case AttributeType::kSparseTensors:
      for (const ir::SparseTensor& tensor : a.sparse_tensors)
        write_sparse_tensor(tensor, out->add_sparse_tensors(), most_bytes);
      return;
    case AttributeType::kGraph:
      if (!a.graphs.empty()) write_graph(*a.graphs[0], out->mutable_g());
      return;
    case AttributeType::kGraphs:
      for (const ir::GraphBox& graph : a.graphs) write_graph(*graph, out->add_graphs());
      return;
    case AttributeType::kTypeProto:
      if (!a.types.empty()) write_type(a.types[0], out->mutable_tp());
      return;
    case AttributeType::kTypeProtos:
      for (const ir::Type& type : a.types) write_type(type, out->add_type_protos());
      return;
  }
}

}  // namespace tenon::proto
