#include "core/base/quote.h"
#include "core/base/stop.h"
#include "core/ops/ops.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

constexpr int kMaxRounds = 4;  // published models need two at most
constexpr int kMaxSweeps = 8;  // of one rule over one graph

Result<size_t> apply_rule(Surroundings& around, ir::Graph& graph, const RewriteRule& rule) {
  size_t total = 0;
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    size_t changes = 0;
    ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph.topological_order());
    for (const ir::NodeId id : order) {
      if (!graph.has_node(id)) continue;
      if (Status stop = check_stop("the graph was transformed"); !stop.ok())
        return std::move(stop).with_context(graph.node(id).label());
      const Result<bool> changed = rule(around, graph, id);
      if (!changed.ok()) return changed.status();
      changes += *changed ? 1 : 0;
    }
    total += changes;
    if (changes == 0) break;
  }
  return total;
}

/// Nested graphs first, so that the outer graph no longer has the captures that they drop.
Result<size_t> apply(Surroundings& around, ir::Graph& graph, const Transform& transform) {
  size_t total = 0;
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    if (!graph.has_node(id) || !graph.node(id).has_subgraph()) continue;
    size_t changes = 0;
    for (ir::Attribute& attribute : graph.mutable_node(id).attributes) {
      for (ir::GraphBox& body : attribute.graphs) {
        ASSIGN_OR_RETURN(const size_t inside, apply(around, *body, transform));
        changes += inside;
        if (inside != 0) body->remove_unused_captures();
      }
    }
    if (changes != 0) graph.refresh_captures(id);
    total += changes;
  }
  Result<size_t> here =
      transform.rule ? apply_rule(around, graph, transform.rule) : transform.pass(around, graph);
  if (!here.ok()) return here;
  return total + *here;
}

bool is_on(const Transform& transform, const Options& options) {
  if (transform.raises && !options.raise) return false;
  const auto named = options.enabled.find(transform.name);
  return named != options.enabled.end() ? named->second : transform.on;
}

Status check_names(const Options& options) {
  for (const auto& entry : options.enabled) {
    bool known = false;
    for (const Transform& transform : transforms()) known = known || transform.name == entry.first;
    if (!known) return not_found("no transform is named ", quote(entry.first));
  }
  return ok_status();
}

class Pipeline {
 public:
  Pipeline(ir::Graph& graph, const ir::ModelInfo& model, const Options& options)
      : graph_(graph), model_(model), options_(options) {
    for (const Transform& transform : transforms()) {
      if (is_on(transform, options)) chosen_.push_back(&transform);
    }
    for (const Transform* transform : chosen_) report_.applied.push_back({transform->name, 0});
  }

  Result<Report> run() {
    bool changed = true;
    while (changed && report_.rounds < kMaxRounds) {
      changed = false;
      ++report_.rounds;
      for (size_t i = 0; i < chosen_.size(); ++i) {
        ASSIGN_OR_RETURN(const size_t changes, run_one(*chosen_[i]));
        report_.applied[i].changes += changes;
        changed = changed || changes != 0;
      }
    }
    refresh_types();
    RETURN_IF_ERROR(check_stop("the graph was transformed"));
    return std::move(report_);
  }

 private:
  Result<size_t> run_one(const Transform& transform) {
    if (transform.needs_types) refresh_types();
    RETURN_IF_ERROR(check_stop("the graph was transformed").with_context(transform.name));
    Surroundings around{graph_, model_, options_};
    Result<size_t> changes = apply(around, graph_, transform);
    if (!changes.ok())
      return std::move(changes).error().with_context(str_cat("transform ", quote(transform.name)));
    if (*changes == 0) return changes;
    stale_ = true;
#ifndef NDEBUG
    Status sound = ir::verify(graph_);
    if (!sound.ok()) return std::move(sound).with_context(str_cat("after transform ", quote(transform.name)));
#endif
    return changes;
  }

  /// Ignores a contradiction that shows only now that more values are known: the model was accepted, and the
  /// provider reports the error when the node runs. Types then stay as they were.
  void refresh_types() {
    if (!stale_) return;
    stale_ = false;
    static_cast<void>(ops::infer_expanded(graph_, model_.functions));
  }

  ir::Graph& graph_;
  const ir::ModelInfo& model_;
  const Options& options_;
  std::vector<const Transform*> chosen_;
  Report report_;
  bool stale_ = false;
};

}  // namespace

size_t Report::changes(std::string_view name) const {
  for (const Applied& one : applied) {
    if (one.name == name) return one.changes;
  }
  return 0;
}

const std::vector<Transform>& transforms() {
  static const std::vector<Transform> table = {
      {"if_with_constant_condition", "an If whose condition is known becomes the branch it takes", true,
       inline_constant_if, nullptr},
      {"constant_folding", "values that depend only on constants are computed once, at load", true, nullptr,
       fold_constants},
      {"shape_folding", "shape arithmetic on known dimensions becomes constants", true, nullptr, fold_shapes,
       true},
      {"identity_removal",
       "nodes that return their input are removed: Identity, Dropout, empty Pad, full Slice, ...", true,
       remove_identity, nullptr, true},
      {"cast_removal", "a Cast of a lossless Cast becomes one Cast", true, remove_cast, nullptr, true},
      {"transpose_sinking", "Transposes that cancel, also across elementwise nodes, are removed", true,
       sink_transpose, nullptr, true},
      {"pad_into_conv", "a Pad with zeros becomes the padding of the Conv after it", true, fuse_pad_into_conv,
       nullptr},
      {"bn_into_conv", "a BatchNormalization becomes part of the weights of the Conv before it", true,
       fuse_bn_into_conv, nullptr},
      {"scale_into_conv",
       "factors and offsets per channel become part of the weights of the Conv before them", true,
       fuse_scale_into_conv, nullptr},
      {"swish", "x * Sigmoid(x) becomes Swish", true, raise_swish, nullptr, false, true},
      {"hard_swish", "x * HardSigmoid(x), also written with Clip, becomes HardSwish", true, raise_hard_swish,
       nullptr, false, true},
      {"gelu", "GELU by Erf or Tanh becomes Gelu", true, raise_gelu, nullptr, false, true},
      {"layer_normalization", "a normalisation by mean and variance becomes LayerNormalization", true,
       raise_layer_normalization, nullptr, true, true},
      {"rms_normalization", "a normalisation by the mean of squares becomes RMSNormalization", true,
       raise_rms_normalization, nullptr, true, true},
      {"attention", "scaled dot-product attention becomes Attention", true, raise_attention, nullptr, true,
       true},
      {"quantized_conv", "a Conv of dequantised tensors whose result is quantised becomes QLinearConv", true,
       raise_quantized_conv, nullptr, true, true},
      {"quantized_matmul", "a MatMul of dequantised tensors whose result is quantised becomes QLinearMatMul",
       true, raise_quantized_matmul, nullptr, true, true},
      {"quantized_gemm", "a Gemm of dequantised tensors whose result is quantised becomes QGemm", true,
       raise_quantized_gemm, nullptr, true, true},
      {"quantized_movement",
       "operators that only move or select elements between dequantising and quantising take bytes", true,
       raise_quantized_movement, nullptr, true, true},
      {"matmul_integer_to_float",
       "products of integers that are cast and scaled become MatMulIntegerToFloat of com.microsoft", true,
       raise_matmul_integer_to_float, nullptr, true, true},
      {"common_subexpressions", "nodes that compute the same value are merged", true, nullptr,
       merge_common_subexpressions},
      {"dead_nodes", "unused nodes and constants are removed", true, nullptr, remove_dead_nodes},
  };
  return table;
}

Result<Report> run_pipeline(ir::Graph& graph, const ir::ModelInfo& model, const Options& options) {
  RETURN_IF_ERROR(check_names(options));
  return Pipeline(graph, model, options).run();
}

}  // namespace tenon::transform
