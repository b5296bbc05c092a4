// Graph to graph: makes a model smaller or faster for any provider, and lowers fused operators that no provider
// claims.
//
// There are two kinds of transforms: a rewrite rule changes one node and its neighbours, a pass changes a whole
// graph. Each has its own file and can be switched off by name. All keep the names and types of the model's inputs
// and outputs. Nothing here depends on a provider: a provider that fuses nodes claims them as a group.
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

/// Runs a graph without inputs, whose values are constants or computed from constants, and returns its outputs. The
/// host provides it. When it fails, for example with UNSUPPORTED, the node stays as it is.
using Evaluator = std::function<Result<std::vector<ir::TensorPtr>>(const ir::Graph& graph)>;

struct Options;

/// What a transform may read besides the graph that it changes.
struct Surroundings {
  const ir::Graph& whole;  // the graph that the pipeline runs on
  const ir::ModelInfo& model;
  const Options& options;
};

/// Local: tries to rewrite at one node and returns whether it did. The node may be gone after that. Applied until
/// nothing changes, up to a limit.
using RewriteRule = std::function<Result<bool>(Surroundings& around, ir::Graph& graph, ir::NodeId node)>;
/// Whole graph; returns the number of changes. Called for every nested graph as well, inner ones first.
using GraphPass = std::function<Result<size_t>(Surroundings& around, ir::Graph& graph)>;

/// One transform by name; exactly one of the two functions is set.
struct Transform {
  std::string name, doc;
  bool on = true;  // by default
  RewriteRule rule;
  GraphPass pass;
  bool needs_types = false;  // infer types again before it if anything has changed
  /// Puts one operator in the place of several nodes, which a node without a provider becomes again. Such transforms run
  /// where Options::raise is set.
  bool raises = false;
};

/// The memory that folding has added to a model.
struct FoldBudget {
  int64_t weights = -1;  // bytes of the constants before any folding; -1: not counted yet
  int64_t grown = 0;     // bytes added, less those of constants that nothing reads any more
};

struct Options {
  /// Switches transforms on or off by name. NOT_FOUND for an unknown name.
  std::map<std::string, bool, std::less<>> enabled;
  /// Whether transforms with `raises` run: when a model is loaded, but not on nodes that were lowered.
  bool raise = true;
  Evaluator evaluator;
  /// Limit in bytes on what folding adds to the model, over all values.
  int64_t fold_bytes = int64_t{64} << 20;
  /// The part of fold_bytes that is used. Copies of the options share it, because folding at load and folding after
  /// functions are expanded belong to one model.
  std::shared_ptr<FoldBudget> folded = std::make_shared<FoldBudget>();
};

struct Applied {
  std::string name;
  size_t changes = 0;
};
struct Report {
  std::vector<Applied> applied;  // every transform that ran, in order of the pipeline
  int rounds = 0;

  size_t changes(std::string_view name) const;
};

/// The built-in transforms in the order in which they run. Read-only; thread-safe.
const std::vector<Transform>& transforms();

/// Runs the pipeline over a graph of the model and its nested graphs until nothing changes, up to a limit of
/// rounds. Types must have been inferred; they are inferred again at the end. Not thread-safe for one graph.
Result<Report> run_pipeline(ir::Graph& graph, const ir::ModelInfo& model, const Options& options);

/// Replaces a fused operator of com.microsoft, or one that ai.onnx has dropped, by operators of ai.onnx, like
/// inlining a function. UNSUPPORTED names the node when the operator, or this use, cannot be expressed; the graph
/// is then unchanged.
Status lower_contrib(ir::Graph& graph, ir::NodeId node, const std::map<std::string, int64_t>& opset_imports);
/// Whether lower_contrib supports the operator. A particular use may still fail.
bool can_lower_contrib(const ir::Node& node);

/// Replaces a node that a transform raised by the nodes that it stands for, under their own names. The node must have
/// `parts`. Returns those nodes; some may have been in the graph already, because others read them.
std::vector<ir::NodeId> put_back(ir::Graph& graph, ir::NodeId node);
/// The same for all raised nodes, also in nested graphs, that a file should not hold: those whose operator is newer than
/// `opset` of ai.onnx, and those whose operator no function of ONNX defines, because what reads the file may not know it.
/// Returns their number.
size_t put_back_for_file(ir::Graph& graph, int64_t opset);
/// Whether one of the parts of a raised node is none of the model's: it only divides a result into other dimensions.
bool is_view(const ir::Node& raised, const ir::Node& part);

struct FloatCast {
  ir::ElementType from, to;  // two of float16, bfloat16, float32, float64
};
/// Converted constants, so that each is converted once.
using Converted = std::map<ir::TensorPtr, ir::TensorPtr>;

/// Makes those of `nodes` that read or produce tensors of type `from` compute in `to`. Values between them are not
/// rounded. Casts are added where they meet other nodes, inputs and outputs, which keep their types. Node ids stay
/// valid. Returns the nodes that changed. A Cast, or a node whose operator does not support the other type, is left
/// as it was.
Result<std::vector<ir::NodeId>> cast_nodes(ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                           FloatCast cast,
                                           const std::map<std::string, int64_t>& opset_imports,
                                           Converted* converted);

}  // namespace tenon::transform
