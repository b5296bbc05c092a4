// GraphProto and the body of FunctionProto -> ir::Graph.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/ir/graph.h"
#include "core/onnx/tensor_reader.h"
#include "core/proto/pb.h"

namespace tenon::onnx {

/// State that all graphs of one model share while they are read.
struct ReadState {
  TensorReader& tensors;
  const Limits& limits;
  int64_t ir_version = 0;
  std::map<std::string, int64_t>* opset_imports = nullptr;  // of the model or of the function being read
  const std::set<std::string, std::less<>>* attributes =
      nullptr;                                        // of the function being read, otherwise null
  std::set<std::string, std::less<>> used_dims = {};  // names of Given::dims that were found
};

/// Reads one graph. The reader of a nested graph knows the outer reader and turns uses of outer values into
/// captures.
class GraphReader {
 public:
  GraphReader(ReadState& state, GraphReader* outer) : state_(state), outer_(outer) {}

  /// INVALID_MODEL names the node, value or initializer. An initializer that is also an input becomes a default,
  /// before IR version 4 a constant. Constant nodes become constants.
  Result<ir::Graph> read(const pb::GraphProto& proto);
  Result<ir::Graph> read_function_body(const pb::FunctionProto& proto);
  Result<ir::Attribute> read_attribute(const pb::AttributeProto& proto);

 private:
  using NodeList = google::protobuf::RepeatedPtrField<pb::NodeProto>;
  using ValueList = google::protobuf::RepeatedPtrField<pb::ValueInfoProto>;

  Status read_initializers(const pb::GraphProto& proto);
  /// The initializer, or what the caller gave in its place.
  Result<ir::TensorPtr> read_initializer(const pb::TensorProto& proto);
  Status check_given(const pb::GraphProto& proto) const;
  /// The type, with the sizes that the caller gave for symbolic dims.
  ir::Type with_given_dims(ir::Type type);
  Status hold_initializer(const std::string& name, Result<ir::TensorPtr> tensor);
  Status read_inputs(const ValueList& inputs);
  Status read_input(const pb::ValueInfoProto& proto);
  void add_constants();
  Status declare(std::string_view kind, const std::string& name);
  Status declare_outputs(const NodeList& nodes);
  Status declare_node(const pb::NodeProto& proto);
  Status read_nodes(const NodeList& nodes);
  Status read_node(const pb::NodeProto& proto, ir::Node& node);
  Status check_domain(const std::string& domain);
  Status read_node_attributes(const pb::NodeProto& proto, ir::Node& node);
  Status read_types(const ValueList& values);
  Status read_outputs(const std::vector<std::string>& names);

  Result<ir::TensorPtr> read_constant(const pb::NodeProto& proto);

  /// The value of that name, captured if it is an outer one; kNone when there is none.
  ir::ValueId resolve(const std::string& name);
  /// Whether `name` is already a constant that equals `tensor`.
  bool is_equal_constant(const std::string& name, const ir::Tensor& tensor) const;
  /// Whether an outer graph defines the name before the node that is being read there.
  bool defined_around(const std::string& name) const;

  struct Initializer {
    std::string name;
    ir::TensorPtr tensor;
    bool is_input = false;
  };

  ReadState& state_;
  GraphReader* outer_;
  ir::Graph graph_;
  std::vector<Initializer> initializers_;
  std::map<std::string, size_t, std::less<>> initializer_names_;  // -> index
  std::vector<ir::ValueId> node_starts_;                          // first value that each node declares
  ir::ValueId undefined_from_ = 0;                                // values from here on are produced later
};

/// Name, operator and domain of a node. A node without name gets one from its position: "Relu_7".
Result<ir::Node> read_node_head(const pb::NodeProto& proto, int index);

/// Whether the node is a Constant that can become a constant value: one output, no attribute references.
bool is_plain_constant(const pb::NodeProto& proto);

}  // namespace tenon::onnx
