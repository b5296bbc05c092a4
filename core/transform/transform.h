// Graph to graph: what makes a model smaller or faster whoever runs it, and the lowering of fused operators
// that nobody claims.
//
// Two kinds of transforms, each in a file of its own and switched off by name: rewrite rules look at one node
// and its neighbours, passes at a whole graph. All keep the names and types of the model's inputs and
// outputs. Nothing here knows a provider: what a provider fuses it claims as a group of nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace tenon::transform {

/// Runs a graph without inputs, whose values are all constants or computed from them, and gives its outputs.
/// Handed in by the host. UNSUPPORTED when it cannot: the node then stays as it is.
using Evaluator = std::function<Result<std::vector<ir::TensorPtr>>(const ir::Graph& graph)>;

struct Options;

/// What transforms work with.
struct Context {
  const ir::Graph& whole;  // that the pipeline runs over
  const ir::ModelInfo& model;
  const Options& options;
};

/// Local: tries to rewrite at one node and tells whether it did. The node may be gone after that. Applied
/// until nothing changes, or a bound.
using RewriteRule = std::function<Result<bool>(Context& context, ir::Graph& graph, ir::NodeId node)>;
/// Whole graph; tells the number of changes. Called for every nested graph as well, inner ones first.
using GraphPass = std::function<Result<size_t>(Context& context, ir::Graph& graph)>;

/// One transform by name; exactly one of the two functions is set.
struct Transform {
  std::string name, doc;
  bool on = true;  // by default
  RewriteRule rule;
  GraphPass pass;
  bool needs_types = false;  // types are inferred again before it when something has changed
};

/// What folding has added to a model.
struct FoldBudget {
  int64_t weights = -1;  // bytes of the constants before anything was folded; -1: not counted yet
  int64_t grown = 0;     // bytes
};

struct Options {
  /// By name; overrides the default. NOT_FOUND for a name that is no transform.
  std::map<std::string, bool, std::less<>> enabled;
  Evaluator evaluator;
  /// Bytes by which folding may make the model larger, all values together.
  int64_t fold_bytes = int64_t{64} << 20;
  /// How much of that is used. Copies of the options share it: what is folded at load and what is folded after
  /// expanding functions belong to one model.
  std::shared_ptr<FoldBudget> folded = std::make_shared<FoldBudget>();
};

struct Applied {
  std::string name;
  size_t changes = 0;
};
struct Report {
  std::vector<Applied> applied;  // in order of the pipeline, every transform that ran
  int rounds = 0;

  size_t changes(std::string_view name) const;
};

/// The built-in transforms in the order in which they run. Read-only, any thread.
const std::vector<Transform>& transforms();

/// Runs the pipeline over a graph of the model and its nested graphs until nothing changes, or a bound of
/// rounds. Types must have been inferred, and are again at the end. Not thread-safe for one graph.
Result<Report> run_pipeline(ir::Graph& graph, const ir::ModelInfo& model, const Options& options);

/// Replaces a fused operator of com.microsoft (or one that ai.onnx has dropped) by operators of ai.onnx, like
/// inlining a function. UNSUPPORTED, naming the node, when the operator or this use of it has no such form;
/// the graph is then as it was.
Status lower_contrib(ir::Graph& graph, ir::NodeId node, const std::map<std::string, int64_t>& opset_imports);
/// Whether lower_contrib knows the operator (a particular use may still have no form).
bool can_lower_contrib(const ir::Node& node);

struct FloatCast {
  ir::ElementType from, to;  // two of float16, bfloat16, float32, float64
};
/// Constants that were converted, so that it is done once.
using Converted = std::map<ir::TensorPtr, ir::TensorPtr>;

/// Lets those of `nodes` that read or make tensors of type `from` compute in `to`. Nothing is rounded between
/// them; Casts stand where they meet other nodes, inputs and outputs, whose types stay. Node ids stay too.
/// Gives the nodes that changed; one whose operator has no form in the other type, or is a Cast,
/// is left as it was.
Result<std::vector<ir::NodeId>> cast_nodes(ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                           FloatCast cast,
                                           const std::map<std::string, int64_t>& opset_imports,
                                           Converted* converted);

}  // namespace tenon::transform
