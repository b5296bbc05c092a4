// Operators: schemas, type and shape inference, function bodies, all from ONNX's own library, over our graph.
//
// protobuf and onnx types appear only in the .cc files. Thread-safe: schemas are read-only after first use.
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

/// since_version of the schema in force for (domain, op) at `opset`; 0 when ONNX knows no such operator
/// there.
int schema_since_version(std::string_view domain, std::string_view op_type, int64_t opset);
/// Highest opset of a domain that the linked ONNX defines; 0 for a foreign domain.
int64_t latest_opset(std::string_view domain);
/// The version a model imports of a domain; 0 when it imports none.
int64_t opset_of(const std::map<std::string, int64_t>& imports, std::string_view domain);
/// The nearest operator name ONNX knows in the domain (edit distance), or "".
std::string nearest_op(std::string_view domain, std::string_view op_type);

/// One version of an operator that this build knows, ONNX's own or of our table.
struct OperatorVersion {
  struct AttributeRule {
    std::string name;
    ir::AttributeType type;
    bool required;
  };
  std::string_view domain, name;
  int since = 0;
  size_t min_inputs = 0, max_inputs = 0, max_outputs = 0;
  std::vector<bool> needs_input;  // per formal input, as far as the schema tells; empty for our own
  std::vector<AttributeRule> attributes;
};
/// All of them, by domain, name and version: for tests that leave none out. Makes every schema.
std::vector<OperatorVersion> all_operators();

/// Sets Node::since_version of every node and nested node from the model's opset imports, and checks each
/// node against its schema: arity, attribute names, types and required ones. Unknown operators of foreign
/// domains pass (a provider may know them); an unknown operator of a standard domain is UNSUPPORTED and names
/// the nearest one.
Status resolve(ir::Graph& graph, const std::map<std::string, int64_t>& opset_imports,
               const std::vector<ir::Function>& functions);
/// The same for the graph of a model and the bodies of its functions.
Status resolve(ir::Model& model);

/// What a node's inference may look at besides types.
struct InferInputs {
  /// Type of input i; null when missing.
  std::vector<const ir::Type*> types;
  /// Known values of inputs (constants, shape inputs at run time); null where not known.
  std::vector<const ir::Tensor*> values;
};

/// Types of the outputs of one node, for the given inputs. Outputs whose type nobody knows come back
/// kUnknown. Nested graphs are inferred with it. INVALID_MODEL names the node when the inputs contradict the
/// operator.
Result<std::vector<ir::Type>> infer_node(const ir::Node& node, const InferInputs& inputs);

/// What is known from both. Dimensions that differ take the inferred ones (published models carry stale
/// shapes); an error when the kind or an element type differs.
Result<ir::Type> merge_types(const ir::Type& declared, ir::Type inferred);

/// Infers the whole graph and its bodies, in order, with symbolic dimensions and values of shape arithmetic
/// propagated (Shape, Gather, Concat, ... on int64). Declared types are merged; a contradiction is
/// INVALID_MODEL. `input_shapes`: concrete shapes for some inputs; dims of those inputs are replaced by them
/// first.
Status infer_graph(ir::Graph& graph, const std::vector<ir::Function>& functions,
                   const std::map<ir::ValueId, ir::Shape>& input_shapes = {});

/// The same for a graph that was accepted and changed since: a branch of an If may contradict itself as long as the other
/// does not. Bodies of ONNX's own functions have such branches, for uses of other ranks, until the condition is folded;
/// a branch that is taken all the same fails when its node runs.
Status infer_expanded(ir::Graph& graph, const std::vector<ir::Function>& functions);

/// What inference knows of every value of a graph, by value id.
struct Inference {
  std::vector<ir::Type> types;
  std::vector<ir::TensorPtr> values;  // constants and shape arithmetic whose value is known; else null
  std::unordered_map<ir::ValueId, Elements> elements;  // shape arithmetic, also where it is known in part
};

/// infer_graph without changing the graph: for concrete input shapes, and values of inputs that shapes depend
/// on. Element types are not checked again. INVALID_INPUT when a shape has not the rank that the input
/// declares.
Result<Inference> infer_values(const ir::Graph& graph, const std::vector<ir::Function>& functions,
                               const std::map<ir::ValueId, ir::Shape>& input_shapes,
                               const std::map<ir::ValueId, ir::TensorPtr>& input_values = {});

/// The body that ONNX defines for a function operator (also those whose body depends on the node's inputs and
/// attributes), as a function with resolved nodes. NOT_FOUND when the operator is no function.
Result<ir::Function> function_body(const ir::Graph& graph, ir::NodeId node,
                                   const std::map<std::string, int64_t>& opset_imports);
bool has_function_body(const ir::Node& node);

/// If, Loop, Scan, SequenceMap, and BeamSearch of com.microsoft: run by the executor.
bool is_control_flow(const ir::Node& node);

/// Operators whose result is not a function of their inputs (RandomNormal, Bernoulli, ...): never folded or
/// merged.
bool is_nondeterministic(const ir::Node& node);

}  // namespace tenon::ops
