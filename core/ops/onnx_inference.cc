#include "core/ops/onnx_inference.h"

#include <new>

#include "core/ops/failure.h"
#include "core/ops/guard.h"
#include "core/proto/attribute.h"
#include "core/proto/tensor.h"
#include "core/proto/type.h"

namespace tenon::ops {

namespace {

class BodyInferencer final : public pb::GraphInferencer {
 public:
  BodyInferencer(ir::Graph& body, const InferBody& infer) : body_(body), infer_(infer) {}

  std::vector<const pb::TypeProto*> doInferencing(const std::vector<const pb::TypeProto*>& input_types,
                                                  const std::vector<const pb::TensorProto*>&) override {
    std::vector<ir::Type> inputs;
    inputs.reserve(input_types.size());
    for (const pb::TypeProto* type : input_types) {
      Result<ir::Type> read = type == nullptr ? Result<ir::Type>(ir::Type()) : proto::read_type(*type);
      if (!read.ok()) throw StatusException(read.status());
      inputs.push_back(std::move(*read));
    }
    Result<std::vector<ir::Type>> outputs = infer_(body_, inputs);
    if (!outputs.ok()) throw StatusException(outputs.status());
    results_.assign(outputs->size(), pb::TypeProto());
    std::vector<const pb::TypeProto*> pointers;
    for (size_t i = 0; i < results_.size(); ++i) {
      proto::write_type((*outputs)[i], &results_[i]);
      pointers.push_back(&results_[i]);
    }
    return pointers;
  }

 private:
  ir::Graph& body_;
  const InferBody& infer_;
  std::vector<pb::TypeProto> results_;
};

class NodeInference final : public pb::InferenceContext {
 public:
  NodeInference(const ir::Node& node, const std::vector<InputView>& inputs, const AttributeValues* attributes,
                const InferBody& infer_body, google::protobuf::Arena& arena)
      : node_(node), inputs_(inputs), attributes_(attributes), infer_body_(infer_body), arena_(arena) {
    types_.resize(inputs.size());
    tensors_.resize(inputs.size());
    outputs_.resize(node.outputs.size());
  }

  const pb::AttributeProto* getAttribute(const std::string& name) const override {
    for (const pb::AttributeProto* made : made_attributes_) {
      if (made->name() == name) return made;
    }
    const ir::Attribute* attribute = effective_attribute(node_, name, attributes_);
    if (attribute == nullptr) return nullptr;
    auto* made = google::protobuf::Arena::CreateMessage<pb::AttributeProto>(&arena_);
    show_attribute(*attribute, made);
    made->set_name(name);  // a reference may have another name in the call
    made_attributes_.push_back(made);
    return made;
  }

  size_t getNumInputs() const override { return inputs_.size(); }

  const pb::TypeProto* getInputType(size_t index) const override {
    check(index, inputs_.size(), "input");
    const ir::Type* type = inputs_[index].type;
    if (!inputs_[index].given) return nullptr;
    // Some of ONNX's functions read the type of a required input without checking that it is known. An empty
    // message is safe there: it has no content to rely on.
    if (type == nullptr || type->kind == ir::ValueKind::kUnknown) return &pb::TypeProto::default_instance();
    if (types_[index] == nullptr) {
      types_[index] = google::protobuf::Arena::CreateMessage<pb::TypeProto>(&arena_);
      proto::write_type(*type, types_[index]);
    }
    return types_[index];
  }

  bool hasInput(size_t index) const override { return index < inputs_.size() && inputs_[index].given; }

  const pb::TensorProto* getInputData(size_t index) const override {
    check(index, inputs_.size(), "input");
    const ir::Tensor* value = inputs_[index].value;
    if (value == nullptr || value->byte_size() > kMaxInferenceBytes) return nullptr;
    if (tensors_[index] == nullptr) {
      tensors_[index] = google::protobuf::Arena::CreateMessage<pb::TensorProto>(&arena_);
      const ir::TensorPtr wide = is_read_as_int64(index) ? widened(*value) : nullptr;
      proto::write_tensor(wide != nullptr ? *wide : *value, tensors_[index]);
    }
    return tensors_[index];
  }

  const pb::TensorShapeProto* getSymbolicInput(size_t index) const override {
    check(index, inputs_.size(), "input");
    const Elements* elements = inputs_[index].elements;
    if (elements == nullptr) return nullptr;
    auto* made = google::protobuf::Arena::CreateMessage<pb::TensorShapeProto>(&arena_);
    for (const Element& element : elements->items) {
      auto* dim = made->add_dim();
      if (element.known) {
        dim->set_dim_value(element.value);
      } else if (!element.symbol.empty()) {
        dim->set_dim_param(element.symbol);
      }
    }
    return made;
  }

  const pb::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }

  size_t getNumOutputs() const override { return outputs_.size(); }

  pb::TypeProto* getOutputType(size_t index) override {
    check(index, outputs_.size(), "output");
    if (outputs_[index] == nullptr) {
      outputs_[index] = google::protobuf::Arena::CreateMessage<pb::TypeProto>(&arena_);
    }
    return outputs_[index];
  }

  bool hasOutput(size_t index) override {
    return index < outputs_.size() && node_.outputs[index] != ir::kNone;
  }

  pb::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override {
    const ir::Attribute* attribute = node_.find(name);
    if (attribute == nullptr || attribute->graphs.empty()) {
      throw StatusException(invalid_model("attribute '", name, "' must be a graph"));
    }
    bodies_.push_back(std::make_unique<BodyInferencer>(*attribute->graphs[0], infer_body_));
    return bodies_.back().get();
  }

  std::string getDisplayName() const override { return node_.label(); }

  Status take_outputs(std::vector<ir::Type>& out) const {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i] == nullptr) continue;
      ASSIGN_OR_RETURN(out[i], proto::read_type(*outputs_[i]));
    }
    return ok_status();
  }

 private:
  /// Pad accepts axes of type int32, but ONNX's inference for it does not.
  bool is_read_as_int64(size_t index) const { return node_.is("Pad") && index == 3; }
  /// Null for types other than int32.
  static ir::TensorPtr widened(const ir::Tensor& value) {
    std::vector<int64_t> numbers;
    if (value.type() != ir::ElementType::kInt32 || value.dims().size() != 1 || !value.to_ints(&numbers))
      return nullptr;
    return ir::Tensor::of_ints(numbers);
  }
  static void check(size_t index, size_t size, const char* what) {
    if (index >= size)
      throw StatusException(invalid_model("needs ", what, ' ', index, ", which the node does not have"));
  }

  const ir::Node& node_;
  const std::vector<InputView>& inputs_;
  const AttributeValues* attributes_;
  const InferBody& infer_body_;
  google::protobuf::Arena& arena_;
  mutable std::vector<pb::AttributeProto*> made_attributes_;
  mutable std::vector<pb::TypeProto*> types_;
  mutable std::vector<pb::TensorProto*> tensors_;
  std::vector<pb::TypeProto*> outputs_;
  std::vector<std::unique_ptr<BodyInferencer>> bodies_;
};

void write_border(const ir::Graph& graph, pb::GraphProto* out) {
  auto add = [&](ir::ValueId id, pb::ValueInfoProto* info) {
    info->set_name(graph.value(id).name);
    proto::write_type(graph.value(id).type, info->mutable_type());
  };
  for (const ir::ValueId id : graph.inputs()) add(id, out->add_input());
  for (const ir::ValueId id : graph.outputs()) add(id, out->add_output());
}

}  // namespace

void show_attribute(const ir::Attribute& attribute, pb::AttributeProto* out) {
  proto::write_attribute(attribute, write_border, out, kMaxInferenceBytes);
}

Status run_onnx_inference(const pb::InferenceFunction& function, const ir::Node& node,
                          const std::vector<InputView>& inputs, const AttributeValues* attributes,
                          const InferBody& infer_body, std::vector<ir::Type>& out) {
  RETURN_IF_ERROR(guard_inference(node, inputs, attributes));
  // Enough for the messages of most nodes, so that they need no allocation.
  alignas(16) char block[4096];
  google::protobuf::Arena arena(block, sizeof(block));
  NodeInference inference(node, inputs, attributes, infer_body, arena);
  try {
    function(inference);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return status_of(error);
  }
  return inference.take_outputs(out);
}

}  // namespace tenon::ops
