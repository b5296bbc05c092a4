// The graph: nodes, values, attributes, nested graphs. It is the only in-memory form of a model between import and
// plan.
//
// An id of a node or value stays valid for the life of the graph: removing an element does not move the others.
// Each value has at most one producer (SSA). A nested graph (the body of If, Loop, Scan, ...) uses values of its
// outer graph through `captures`. A capture ties an outer value to a value without producer in the nested graph. So
// a nested graph is an ordinary graph, and all uses of an outer value can be found. Writing is not thread-safe; any
// number of threads may read.
//
// This library does not know operators (see core/ops), protobuf (see core/onnx) or providers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/ir/tensor.h"
#include "core/ir/type.h"

namespace tenon::ops {
struct RegisteredOperator;
}

namespace tenon::ir {

using NodeId = uint32_t;
using ValueId = uint32_t;
inline constexpr uint32_t kNone = TENON_NO_INDEX;  // a missing optional input or output; no producer

class Graph;
struct Function;

/// Owns a graph; copies deeply, so that attributes and nodes can be copied like values.
class GraphBox {
 public:
  GraphBox();
  explicit GraphBox(Graph graph);
  GraphBox(const GraphBox& other);
  GraphBox(GraphBox&& other) noexcept;
  GraphBox& operator=(GraphBox other) noexcept;
  ~GraphBox();
  Graph& operator*() const { return *graph_; }
  Graph* operator->() const { return graph_.get(); }

 private:
  std::unique_ptr<Graph> graph_;
};

/// The numbers of ONNX.
enum class AttributeType : uint32_t {
  kUndefined = TENON_ATTR_UNDEFINED,
  kFloat = TENON_ATTR_FLOAT,
  kInt = TENON_ATTR_INT,
  kString = TENON_ATTR_STRING,
  kTensor = TENON_ATTR_TENSOR,
  kGraph = TENON_ATTR_GRAPH,
  kFloats = TENON_ATTR_FLOATS,
  kInts = TENON_ATTR_INTS,
  kStrings = TENON_ATTR_STRINGS,
  kTensors = TENON_ATTR_TENSORS,
  kGraphs = TENON_ATTR_GRAPHS,
  kSparseTensor = TENON_ATTR_SPARSE_TENSOR,
  kSparseTensors = TENON_ATTR_SPARSE_TENSORS,
  kTypeProto = TENON_ATTR_TYPE_PROTO,
  kTypeProtos = TENON_ATTR_TYPE_PROTOS,
};
std::string_view attribute_type_name(AttributeType type);

struct Attribute {
  std::string name;
  AttributeType type = AttributeType::kUndefined;
  std::string reference;  // inside a function body: the attribute of the function that gives the value
  int64_t i = 0;
  float f = 0;
  std::string s;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  std::vector<TensorPtr> tensors;  // one for kTensor
  std::vector<SparseTensor> sparse_tensors;
  std::vector<GraphBox> graphs;  // one for kGraph
  std::vector<Type> types;

  static Attribute of_int(std::string name, int64_t value);
  static Attribute of_ints(std::string name, std::vector<int64_t> values);
  static Attribute of_float(std::string name, float value);
  static Attribute of_floats(std::string name, std::vector<float> values);
  static Attribute of_string(std::string name, std::string value);
  static Attribute of_strings(std::string name, std::vector<std::string> values);
  static Attribute of_tensor(std::string name, TensorPtr value);
  static Attribute of_graph(std::string name, Graph graph);
};

struct Node {
  std::string name;    // unique in the graph; import names unnamed nodes "Op_7"
  std::string domain;  // "" is ai.onnx
  std::string op_type;
  std::string overload;
  int since_version = 0;  // of the schema that applies; 0: no schema (model-local function, custom operator)
  std::vector<ValueId> inputs;   // kNone where missing
  std::vector<ValueId> outputs;  // kNone where not used
  std::vector<Attribute> attributes;
  std::string doc;
  /// What an application registered for the operator (core/ops/registered.h); null for all others.
  std::shared_ptr<const ops::RegisteredOperator> registered;
  /// For a node that a transform put in the place of several: those nodes, as a body with the inputs and outputs of
  /// this node by position. `name` is that of the transform. Null for all others. See core/transform/raise/raise.h.
  std::shared_ptr<const Function> parts;

  const Attribute* find(std::string_view attribute) const;
  int64_t int_or(std::string_view attribute, int64_t fallback) const;
  bool is(std::string_view op, std::string_view in_domain = "") const {
    return op_type == op && domain == in_domain;
  }
  bool has_subgraph() const;
  /// "node 'conv1' (Conv)", with the domain when it is not ai.onnx.
  std::string label() const;
};

/// One use of a value. `input` is an index into Node::inputs, or kNone when a nested graph of the node captures it.
struct Use {
  NodeId node;
  uint32_t input;
  bool operator==(const Use&) const = default;
};

struct Value {
  std::string name;  // unique in the graph
  Type type;
  NodeId producer = kNone;
  uint32_t producer_output = 0;
  std::vector<Use> uses;
  TensorPtr constant;     // known at load: initializers, folded values
  bool is_input = false;  // of the graph; also with a default: `constant` is then null, see Graph::defaults
  bool is_capture = false;
  uint32_t output_count = 0;  // how many times it is an output of the graph

  bool is_constant() const { return constant != nullptr; }
};

struct Capture {
  ValueId outer;  // a value of the outer graph
  ValueId inner;  // a value of this graph, without producer
};

/// A graph input that has an initializer. The caller may override it, so the value is not a constant.
struct Default {
  ValueId input;
  TensorPtr value;
};

class Graph {
 public:
  Graph();
  Graph(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph) noexcept;
  ~Graph();

  std::string name, doc;

  // Reading.
  uint32_t node_limit() const { return static_cast<uint32_t>(nodes_.size()); }  // all ids are below this
  uint32_t value_limit() const { return static_cast<uint32_t>(values_.size()); }
  bool has_node(NodeId id) const { return id < nodes_.size() && nodes_[id] != nullptr; }
  bool has_value(ValueId id) const { return id < values_.size() && values_[id] != nullptr; }
  const Node& node(NodeId id) const { return *nodes_[id]; }
  const Value& value(ValueId id) const { return *values_[id]; }
  size_t node_count() const { return node_count_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<Capture>& captures() const { return captures_; }
  const std::vector<Default>& defaults() const { return defaults_; }
  /// kNone when there is none.
  ValueId find_value(std::string_view name) const;
  /// Nodes in an order where producers come before users; ties go by id. On a cycle the error names one of its
  /// nodes.
  Result<std::vector<NodeId>> topological_order() const;

  // Building. A name that is taken gets a suffix.
  ValueId add_value(std::string_view name, Type type = {});
  ValueId add_constant(std::string_view name, TensorPtr tensor);
  void add_input(ValueId value);
  void add_default(ValueId input, TensorPtr value);
  void add_output(ValueId value);
  ValueId add_capture(ValueId outer, std::string_view name, Type type);
  /// Connects inputs, outputs and the captures of nested graphs. Values must exist; outputs must not have a
  /// producer.
  NodeId add_node(Node node);

  // Changing. All of these keep the use lists correct.
  /// For attributes, operator and doc only. After changing captures of nested graphs, call refresh_captures.
  Node& mutable_node(NodeId id) { return *nodes_[id]; }
  /// A name that is taken gets a suffix.
  void rename_value(ValueId value, std::string_view name);
  void set_type(ValueId value, Type type);
  void set_constant(ValueId value, TensorPtr tensor);  // detaches the value from its producer, if any
  void set_input(NodeId node, uint32_t index, ValueId value);
  /// Makes all uses and graph outputs of `from` uses of `to`. A graph output keeps its name: the names are swapped.
  /// When `to` cannot take that name (it is an input, a capture or an output itself), `from` remains the output.
  /// Check Value::output_count before removing its producer.
  void replace_uses(ValueId from, ValueId to);
  /// The outputs lose their producer; they must be unused or replaced.
  void remove_node(NodeId id);
  /// Only for a value without uses and producer that is not an input, capture or output.
  void remove_value(ValueId id);
  void set_outputs(std::vector<ValueId> outputs);
  /// Recomputes the captures of a node after its nested graphs changed.
  void refresh_captures(NodeId node);
  /// For a nested graph that moves to another outer graph: outer values become map[outer].
  void remap_captures(const std::vector<ValueId>& map);
  /// Removes captures that this graph no longer uses. Call refresh_captures for the outer node afterwards.
  void remove_unused_captures();
  std::string unique_node_name(std::string_view base) const;
  std::string unique_value_name(std::string_view base) const;

 private:
  friend class GraphVerifier;
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  using NameMap = std::unordered_map<std::string, uint32_t, NameHash, std::equal_to<>>;
  // The positions of a node in the use lists of its inputs, so that removing a use takes constant time.
  struct NodeLinks {
    std::vector<uint32_t> input_use_index;     // parallel to Node::inputs
    std::vector<ValueId> captured;             // by nested graphs; sorted, each value once
    std::vector<uint32_t> captured_use_index;  // parallel to `captured`
  };

  void add_use(ValueId value, Use use);
  void drop_use(ValueId value, uint32_t use_index);
  uint32_t& use_index_of(ValueId value, const Use& use);
  void add_capture_use(NodeId node, ValueId value);
  void drop_capture_use(NodeId node, ValueId value);
  void redirect_captures(NodeId node, ValueId from, ValueId to);
  void take_output_places(ValueId from, ValueId to);

  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<NodeLinks> links_;  // by node id
  size_t node_count_ = 0;
  std::vector<ValueId> inputs_, outputs_;
  std::unordered_multimap<ValueId, uint32_t> output_places_;  // value -> index in outputs_
  std::vector<Capture> captures_;
  std::vector<Default> defaults_;
  NameMap value_names_;
  NameMap node_names_;
};

/// A model-local function, or the function body that a schema gives. Inputs and outputs are those of `body`, by
/// position. A call may omit trailing ones.
struct Function {
  std::string domain, name, overload;
  std::vector<std::string> attributes;  // those without default
  std::vector<Attribute> attribute_defaults;
  std::map<std::string, int64_t> opset_imports;
  Graph body;
};

/// The parts of a model apart from its graph.
struct ModelInfo {
  std::vector<Function> functions;
  std::map<std::string, int64_t> opset_imports;  // "" is ai.onnx
  int64_t ir_version = 0;
  std::string producer_name, producer_version, domain, doc;
  int64_t model_version = 0;
  std::map<std::string, std::string> metadata;
  std::string path;  // as given; empty when read from memory

  const Function* find_function(std::string_view domain, std::string_view name,
                                std::string_view overload) const;
};

struct Model : ModelInfo {
  Graph graph;
};

/// Checks SSA, topological order, ids, use lists, captures and nested graphs. INVALID_MODEL names the place.
Status verify(const Graph& graph);

/// Replaces a call by the body of the function: substitutes attributes and prefixes names with the name of the
/// call. `since_version` of body nodes must be set. INVALID_MODEL when the call does not fit the function; do not
/// use the graph after that. A graph output that the function passes through from an input may need an Identity
/// node. It gets since_version 1: resolve operators again where the version matters.
Status inline_call(Graph& graph, NodeId call, const Function& function);

/// A listing for people: inputs, nodes in order, outputs, types.
std::string to_text(const Graph& graph);

}  // namespace tenon::ir
