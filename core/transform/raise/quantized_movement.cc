// QuantizeLinear(operator(DequantizeLinear)) with the same scale and zero point on both sides becomes the operator on
// bytes, where the operator only moves or selects elements.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/transform/passes.h"
#include "core/transform/raise/quantized.h"

namespace tenon::transform {

namespace {

using ir::kNone;
using ir::ValueId;

/// The inputs that hold elements of the result.
enum class Data { kFirst, kAll, kBranches };

struct Movement {
  std::string_view op_type;
  int least;  // the first version that takes int8 and uint8
  Data data = Data::kFirst;
};

constexpr std::array kMovements = {
    Movement{"Compress", 9},
    Movement{"Concat", 4, Data::kAll},
    Movement{"DepthToSpace", 1},
    Movement{"Expand", 8},
    Movement{"Flatten", 9},
    Movement{"Gather", 1},
    Movement{"GatherElements", 11},
    Movement{"GatherND", 11},
    Movement{"Max", 12, Data::kAll},
    Movement{"MaxPool", 12},
    Movement{"Min", 12, Data::kAll},
    Movement{"Pad", 11},
    Movement{"ReduceMax", 12},
    Movement{"ReduceMin", 12},
    Movement{"Reshape", 5},
    Movement{"Resize", 11},
    Movement{"ReverseSequence", 10},
    Movement{"Slice", 1},
    Movement{"SpaceToDepth", 1},
    Movement{"Squeeze", 1},
    Movement{"Tile", 6},
    Movement{"Transpose", 1},
    Movement{"Unsqueeze", 1},
    Movement{"Where", 9, Data::kBranches},
};

const Movement* find_movement(const ir::Node& node) {
  const auto* const found = std::find_if(kMovements.begin(), kMovements.end(),
                                         [&](const Movement& each) { return node.is(each.op_type); });
  return found != kMovements.end() && node.since_version >= found->least ? found : nullptr;
}

bool is_data(const Movement& movement, size_t input) {
  return movement.data == Data::kAll || input == (movement.data == Data::kFirst ? 0u : 1u) ||
         (movement.data == Data::kBranches && input == 2);
}

std::string_view text_of(const ir::Node& node, std::string_view attribute, std::string_view fallback) {
  const ir::Attribute* found = node.find(attribute);
  return found == nullptr ? fallback : std::string_view(found->s);
}

/// Whether each element of the result is one of the data, or a constant that Pad adds.
bool only_moves(const ir::Node& node) {
  if (!node.is("Resize")) return true;
  return text_of(node, "mode", "nearest") == "nearest" && node.int_or("antialias", 0) == 0 &&
         text_of(node, "coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize";
}

/// For a Pad with a constant: the byte of that constant, as its new input 2. False when the constant is not known.
bool pad_with_byte(ir::Graph& graph, const ir::Node& node, const Linear& y, std::vector<ValueId>* inputs) {
  if (!node.is("Pad") || text_of(node, "mode", "constant") != "constant") return true;
  double number = 0;
  if (has_input(node, 2)) {
    const auto given = number_of(graph, node.inputs[2], node.inputs[0]);
    if (!given || !std::isfinite(*given)) return false;
    number = *given;
  }
  if (inputs->size() < 3) inputs->resize(3, kNone);
  (*inputs)[2] = quantized_constant(graph, node.name, y, number);
  return true;
}

}  // namespace

Result<bool> raise_quantized_movement(Surroundings& around, ir::Graph& graph, ir::NodeId id) {
  const auto y = find_quantized(graph, id);
  const ir::NodeId moved_id = y ? graph.value(graph.node(id).inputs[0]).producer : kNone;
  if (moved_id == kNone) return false;
  const ir::Node node = graph.node(moved_id);
  const Movement* const movement = find_movement(node);
  if (movement == nullptr || !only_first_output_used(graph, node) || !only_moves(node)) return false;
  // Larger floats would be infinite.
  if (y->scales[0] > 0x1p100) return false;
  Raised raised{"quantized_movement", {id, moved_id}, y->integers,
                node.op_type,         node.inputs,    node.attributes};
  raised.since_version = node.since_version;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!is_data(*movement, i)) continue;
    const auto x = find_dequantized(graph, node.inputs[i]);
    if (!x || !is_same(*x, *y)) return false;
    raised.inputs[i] = x->integers;
    raised.shared.push_back(x->node);
  }
  return pad_with_byte(graph, node, *y, &raised.inputs) && raise(around, graph, raised);
}

}  // namespace tenon::transform
