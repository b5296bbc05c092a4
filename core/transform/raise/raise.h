// Raising: one standard operator takes the place of the nodes that an exporter wrote for it. Internal to
// core/transform.
//
// A raised node keeps the nodes that it replaced (ir::Node::parts), so a model loses nothing where no provider knows the
// operator: put_back() restores them. Like lowerings, rules use a late opset of ai.onnx, whatever the model imports,
// because nodes carry their own versions. A rule may change how results are rounded, and nothing else: element types
// stay, and values that others read stay.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "core/transform/edit.h"

namespace tenon::transform {

/// What takes the place of a set of nodes.
struct Raised {
  std::string_view transform;      // the name of the transform
  std::vector<ir::NodeId> nodes;   // in any order; repeated ones count once
  ir::ValueId output = ir::kNone;  // the only value of `nodes` that others may read
  std::string_view op_type;
  std::vector<ir::ValueId> inputs;
  std::vector<ir::Attribute> attributes;
  /// Further nodes, whose values others may read. The parts have copies of them, and those that others read stay.
  std::vector<ir::NodeId> shared = {};
  std::string_view domain = "";
  int since_version = 0;  // 0: that of a late opset
  /// Shapes, as Reshape takes them, in which the operator reads inputs. All of `nodes` that read such an input must be
  /// Reshapes for which takes_any_dims() (views.h) holds.
  std::map<size_t, std::vector<int64_t>> input_views = {};
  /// The shape in which the operator gives `output`. Whoever reads that must take it in any dimensions (may_skip_view()).
  std::optional<std::vector<int64_t>> output_view = {};
};

/// Replaces the nodes. False, with the nodes unchanged, when another value of `nodes` is read elsewhere or is an output,
/// when they read something else than `inputs` and constants, or when the operator would give another type. Constants of
/// `inputs` that nothing reads are then removed.
bool raise(Surroundings& around, ir::Graph& graph, const Raised& raised);

/// Collects the nodes of a pattern while it is followed from a value to what it is made of.
class Follow {
 public:
  explicit Follow(const ir::Graph& graph) : graph_(graph) {}

  const std::vector<ir::NodeId>& nodes() const { return nodes_; }
  const ir::Graph& graph() const { return graph_; }

  /// The node of ai.onnx with this operator that makes `value`; null when there is none.
  const ir::Node* made_by(ir::ValueId value, std::string_view op_type);
  /// The other operand where `value` is `op_type` of two values of which one is the number; otherwise kNone. With
  /// `in_order` the number is the second operand.
  ir::ValueId with_number(ir::ValueId value, std::string_view op_type, double number, bool in_order = false);
  /// Forgets the nodes that were added after the first `count`.
  void forget(size_t count) { nodes_.resize(count); }

 private:
  const ir::Graph& graph_;
  std::vector<ir::NodeId> nodes_;
};

/// The number that a constant of one element holds; nothing for others. A constant whose rank exceeds that of `beside`
/// would add dimensions to a result, and counts as none. Integers count, because exponents may be.
std::optional<double> number_of(const ir::Graph& graph, ir::ValueId value, ir::ValueId beside);
/// Whether `number` is `wanted` but for rounding: a few units in the last place of the element type.
bool is_number(ir::ElementType type, double number, double wanted);
/// The element type of a floating tensor; nothing for others.
std::optional<ir::ElementType> float_type(const ir::Graph& graph, ir::ValueId value);

}  // namespace tenon::transform
