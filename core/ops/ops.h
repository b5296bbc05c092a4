// Operators over our graph: schemas, type and shape inference and function bodies, all from ONNX's own library.
//
// Protobuf and ONNX types appear only in the .cc files. Thread-safe: schemas are read-only after first use.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/ops/shape_values.h"

namespace tenon::ops {

class RegisteredOperators;

/// since_version of the schema that applies to (domain, op) at `opset`; 0 when ONNX does not define the operator
/// there.
int schema_since_version(std::string_view domain, std::string_view op_type, int64_t opset);
/// Highest opset of a domain that the linked ONNX defines; 0 for a custom domain.
int64_t latest_opset(std::string_view domain);
/// The version of a domain that the model imports; 0 when it imports none.
int64_t opset_of(const std::map<std::string, int64_t>& imports, std::string_view domain);
/// The nearest name of a known operator of the domain (edit distance), or "".
std::string nearest_op(std::string_view domain, std::string_view op_type);

/// One version of an operator that this build knows, from ONNX or from our own table.
struct OperatorVersion {
  struct AttributeRule {
    std::string name;
    ir::AttributeType type;
    bool required;
  };
  std::string_view domain, name;
  int since = 0;
  size_t min_inputs = 0, max_inputs = 0, max_outputs = 0;
  std::vector<bool> needs_input;  // per formal input, as far as the schema says; empty for our own
  std::vector<AttributeRule> attributes;
};
/// All known operators, by domain, name and version; for tests that must cover all. Makes every schema.
std::vector<OperatorVersion> all_operators();

/// Sets Node::since_version of every node, also in nested graphs, from the opset imports. Checks each node against
/// its schema: arity, attribute names, types and required ones. Unknown operators of custom domains pass, because a
/// provider may know them. An unknown operator of a standard domain is UNSUPPORTED; the message suggests the
/// nearest name.
/// Operators in `registered` (may be null) are those of the application; functions of the model come before them.
Status resolve(ir::Graph& graph, const std::map<std::string, int64_t>& opset_imports,
               const std::vector<ir::Function>& functions, const RegisteredOperators* registered = nullptr);
/// For the graph of a model and the bodies of its functions.
Status resolve(ir::Model& model, const RegisteredOperators* registered = nullptr);

/// The inputs of one node, for its inference.
struct InferInputs {
  /// Type of input i; null when missing.
  std::vector<const ir::Type*> types;
  /// Known values of inputs (constants, shape inputs at run time); null where not known.
  std::vector<const ir::Tensor*> values;
};

/// Types of the outputs of one node for the given inputs. An unknown type is kUnknown. Nested graphs are inferred
/// as well. INVALID_MODEL names the node when the inputs do not fit the operator.
Result<std::vector<ir::Type>> infer_node(const ir::Node& node, const InferInputs& inputs);

/// Combines both types. Where dimensions differ, the inferred one wins, because published models carry stale
/// shapes. An error when the kind or an element type differs.
Result<ir::Type> merge_types(const ir::Type& declared, ir::Type inferred);

/// Infers the types of the whole graph and its nested graphs, in order. Propagates symbolic dimensions and values
/// of shape arithmetic (Shape, Gather, Concat, ... on int64). Merges declared types; a contradiction is
/// INVALID_MODEL. `input_shapes`: concrete shapes of some inputs, which replace the declared dimensions first.
Status infer_graph(ir::Graph& graph, const std::vector<ir::Function>& functions,
                   const std::map<ir::ValueId, ir::Shape>& input_shapes = {});

/// The same for a graph that was accepted and then changed. A branch of an If may fail inference when the other
/// does not: bodies of ONNX's functions have branches for other ranks until the condition is folded. If such a
/// branch runs all the same, its node fails.
Status infer_expanded(ir::Graph& graph, const std::vector<ir::Function>& functions);

/// The inference results for every value of a graph, by value id.
struct Inference {
  std::vector<ir::Type> types;
  std::vector<ir::TensorPtr> values;  // constants and fully known shape arithmetic; otherwise null
  std::unordered_map<ir::ValueId, Elements> elements;  // shape arithmetic, also when partly known
};

/// Like infer_graph, for concrete input shapes and for values of inputs that shapes depend on. Does not change the
/// graph or check element types again. INVALID_INPUT when a shape does not have the declared rank.
Result<Inference> infer_values(const ir::Graph& graph, const std::vector<ir::Function>& functions,
                               const std::map<ir::ValueId, ir::Shape>& input_shapes,
                               const std::map<ir::ValueId, ir::TensorPtr>& input_values = {});

/// The body that ONNX defines for a function operator, as a function with resolved nodes. The body may depend on
/// the node's inputs and attributes. NOT_FOUND when the operator is not a function.
Result<ir::Function> function_body(const ir::Graph& graph, ir::NodeId node,
                                   const std::map<std::string, int64_t>& opset_imports);
bool has_function_body(const ir::Node& node);

/// If, Loop, Scan, SequenceMap, and the searches of com.microsoft. The executor runs them.
bool is_control_flow(const ir::Node& node);

/// Operators whose result is not, or may not be, a function of their inputs: RandomNormal, Bernoulli, ..., and those of
/// applications. They are never folded or merged.
bool is_nondeterministic(const ir::Node& node);

}  // namespace tenon::ops
