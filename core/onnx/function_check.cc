#include "core/onnx/function_check.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "core/base/quote.h"
#include "core/onnx/names.h"

namespace tenon::onnx {
namespace {

/// The size of a graph with all calls inlined.
struct Extent {
  int64_t nodes = 0;
  int depth = 0;  // of nested graphs
};

/// How often a graph calls one function, and how deep inside nested graphs.
struct Call {
  size_t function;
  int64_t count;
  int depth;
};

class FunctionChecker {
 public:
  FunctionChecker(const ir::Model& model, const Limits& limits) : model_(model), limits_(limits) {
    for (size_t i = 0; i < model.functions.size(); ++i) {
      const ir::Function& function = model.functions[i];
      index_.emplace(std::tuple(std::string_view(function.domain), std::string_view(function.name),
                                std::string_view(function.overload)),
                     i);
    }
  }

  Status run() {
    if (model_.functions.empty()) return ok_status();
    calls_.resize(model_.functions.size());
    own_.resize(model_.functions.size());
    for (size_t i = 0; i < model_.functions.size(); ++i)
      collect(model_.functions[i].body, 0, own_[i], calls_[i]);
    ASSIGN_OR_RETURN(std::vector<size_t> order, callees_first());
    std::vector<Extent> extents(model_.functions.size());
    for (size_t function : order) extents[function] = expand(own_[function], calls_[function], extents);

    Extent own;
    std::vector<Call> calls;
    collect(model_.graph, 0, own, calls);
    return check_limits(expand(own, calls, extents));
  }

 private:
  void collect(const ir::Graph& graph, int depth, Extent& own, std::vector<Call>& calls) const {
    std::vector<Call> found;
    own.depth = std::max(own.depth, depth);
    for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
      if (!graph.has_node(id)) continue;
      const ir::Node& node = graph.node(id);
      auto function = index_.find(std::tuple(std::string_view(node.domain), std::string_view(node.op_type),
                                             std::string_view(node.overload)));
      ++own.nodes;
      if (function != index_.end()) found.push_back({function->second, 1, depth});
      for (const ir::Attribute& attribute : node.attributes) {
        for (const ir::GraphBox& nested : attribute.graphs) collect(*nested, depth + 1, own, calls);
      }
    }
    std::sort(found.begin(), found.end(),
              [](const Call& a, const Call& b) { return a.function < b.function; });
    for (const Call& call : found) {
      if (!calls.empty() && calls.back().function == call.function && calls.back().depth == call.depth) {
        ++calls.back().count;
      } else {
        calls.push_back(call);
      }
    }
  }

  Extent expand(Extent own, const std::vector<Call>& calls, const std::vector<Extent>& extents) const {
    for (const Call& call : calls) {
      int64_t added = 0;
      bool overflow = __builtin_mul_overflow(call.count, extents[call.function].nodes, &added) ||
                      __builtin_add_overflow(own.nodes, added, &own.nodes);
      if (overflow) own.nodes = INT64_MAX;
      own.depth = std::max(own.depth, call.depth + extents[call.function].depth);
    }
    return own;
  }

  /// Depth-first with an explicit stack: a model may have a call chain of any length.
  Result<std::vector<size_t>> callees_first() const {
    enum class Mark : char { kNew, kOpen, kDone };
    std::vector<Mark> marks(calls_.size(), Mark::kNew);
    std::vector<size_t> order;
    struct Visit {
      size_t function, next_call;
    };
    for (size_t root = 0; root < calls_.size(); ++root) {
      if (marks[root] != Mark::kNew) continue;
      std::vector<Visit> stack = {{root, 0}};
      marks[root] = Mark::kOpen;
      while (!stack.empty()) {
        Visit& visit = stack.back();
        if (visit.next_call == calls_[visit.function].size()) {
          marks[visit.function] = Mark::kDone;
          order.push_back(visit.function);
          stack.pop_back();
          continue;
        }
        size_t callee = calls_[visit.function][visit.next_call++].function;
        if (marks[callee] == Mark::kOpen) {
          return invalid_model("function ", label(callee),
                               " calls itself, directly or through other functions (the last is ",
                               label(visit.function), "); ONNX does not allow recursion");
        }
        if (marks[callee] == Mark::kNew) {
          marks[callee] = Mark::kOpen;
          stack.push_back({callee, 0});
        }
      }
    }
    return order;
  }

  Status check_limits(const Extent& extent) const {
    if (extent.nodes > limits_.nodes) {
      return limit_exceeded(
          "with all functions inlined, the model has ", extent.nodes == INT64_MAX ? "over " : "",
          extent.nodes, " nodes, more than limits.nodes (", limits_.nodes, "); raise it for a trusted model");
    }
    if (extent.depth > limits_.graph_depth) {
      return limit_exceeded("with all functions inlined, the model has graphs nested ", extent.depth,
                            " deep, more than limits.graph_depth (", limits_.graph_depth, ")");
    }
    return ok_status();
  }

  std::string label(size_t index) const {
    const ir::Function& function = model_.functions[index];
    return quote(std::string(shown_domain(function.domain)) + "." + function.name);
  }

  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  const ir::Model& model_;
  const Limits& limits_;
  std::map<Key, size_t> index_;
  std::vector<Extent> own_;
  std::vector<std::vector<Call>> calls_;
};

}  // namespace

Status check_functions(const ir::Model& model, const Limits& limits) {
  return FunctionChecker(model, limits).run();
}

}  // namespace tenon::onnx
