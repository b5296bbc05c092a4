// Building blocks of transforms. Internal to core/transform.
#pragma once

#include <optional>

#include "core/transform/transform.h"

namespace tenon::transform {

// ---- Looking ----

/// The producer of input `index` when it is this operator of ai.onnx, otherwise kNone.
ir::NodeId producer_of(const ir::Graph& graph, const ir::Node& node, size_t index, std::string_view op_type);
/// The constant at input `index`; null when missing or not constant.
ir::TensorPtr constant_input(const ir::Graph& graph, const ir::Node& node, size_t index);
bool has_input(const ir::Node& node, size_t index);
/// The type of input `index`; null when missing.
const ir::Type* input_type(const ir::Graph& graph, const ir::Node& node, size_t index);
/// Rank of input `index`; -1 when not known.
int input_rank(const ir::Graph& graph, const ir::Node& node, size_t index);
/// Whether one input of one node is the only use.
bool used_once(const ir::Graph& graph, ir::ValueId value);
/// Whether no output except the first is used.
bool only_first_output_used(const ir::Graph& graph, const ir::Node& node);
/// An attribute in old opsets, a constant input in new ones; nothing when missing or not constant.
std::optional<std::vector<int64_t>> ints_of(const ir::Graph& graph, const ir::Node& node,
                                            std::string_view attribute, size_t input);
/// The permutation of a Transpose. Empty when it is unknown (no attribute and no rank) or invalid.
std::vector<int64_t> permutation(const ir::Graph& graph, const ir::Node& node);

/// Larger constants count as equal only when they share their bytes: comparing weights takes longer than it saves.
inline constexpr size_t kMostCompared = 4096;
bool same_tensor(const ir::Tensor& a, const ir::Tensor& b);
/// Whether two nodes compute the same from the same inputs. Nodes with nested graphs never do.
bool same_operator(const ir::Node& a, const ir::Node& b);

// ---- Changing ----

/// Makes all uses of `from` uses of `to`. False, with nothing changed, when that would make a constant or an input
/// an output of the graph, or two outputs one value.
bool forward(ir::Graph& graph, ir::ValueId from, ir::ValueId to);
/// Removes the node and its unused outputs.
void remove_node_and_outputs(ir::Graph& graph, ir::NodeId node);
/// Removes the node if its outputs are unused, then everything that only it used. Returns the number removed.
size_t remove_if_unused(ir::Graph& graph, ir::NodeId node);

/// Adds nodes of ai.onnx in a given opset, with their versions and output types. `status` gives the first failure.
class Emitter {
 public:
  /// New names begin with `prefix`.
  Emitter(ir::Graph& graph, int64_t opset, std::string prefix);

  int64_t opset() const { return opset_; }
  ir::Graph& graph() { return graph_; }
  const Status& status() const { return status_; }
  /// Unknown for kNone. After a failure all values are kNone.
  const ir::Type& type(ir::ValueId value) const;
  /// The next node writes its only output to `value`, which must not have a producer.
  void into(ir::ValueId value) { into_ = value; }

  ir::ValueId op(std::string_view type, std::vector<ir::ValueId> inputs,
                 std::vector<ir::Attribute> attributes = {});
  std::vector<ir::ValueId> ops(std::string_view type, std::vector<ir::ValueId> inputs, size_t outputs,
                               std::vector<ir::Attribute> attributes = {});
  ir::ValueId constant(ir::TensorPtr value);
  ir::ValueId ints(const std::vector<int64_t>& values);
  /// A scalar of a floating type.
  ir::ValueId scalar(ir::ElementType type, double value);

  // Operators whose axes became an input in a later opset.
  ir::ValueId unsqueeze(ir::ValueId x, const std::vector<int64_t>& axes);
  ir::ValueId squeeze(ir::ValueId x, const std::vector<int64_t>& axes);
  ir::ValueId reduce(std::string_view type, ir::ValueId x, const std::vector<int64_t>& axes,
                     bool keep = true);
  ir::ValueId slice(ir::ValueId x, int64_t axis, int64_t begin, int64_t end);
  std::vector<ir::ValueId> split(ir::ValueId x, int64_t axis, const std::vector<int64_t>& sizes);
  ir::ValueId transpose(ir::ValueId x, std::vector<int64_t> permutation);
  ir::ValueId reshape(ir::ValueId x, const std::vector<int64_t>& dims);
  ir::ValueId cast(ir::ValueId x, ir::ElementType type);

 private:
  ir::Graph& graph_;
  int64_t opset_;
  std::string prefix_;
  Status status_;
  ir::ValueId into_ = ir::kNone;
};

// ---- Numbers of constants ----

/// The elements of a float16, bfloat16, float32 or float64 tensor; nothing for other types.
std::optional<std::vector<double>> to_doubles(const ir::Tensor& tensor);
/// Rounds to nearest even. Null when `type` is not one that to_doubles supports; it may be unknown.
ir::TensorPtr from_doubles(ir::ElementType type, std::vector<int64_t> dims,
                           const std::vector<double>& values);

}  // namespace tenon::transform
