// Replaces Cast(Cast(x)) by one Cast when the inner one is lossless.
#include "core/transform/edit.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

using ir::ElementType;

/// The range of a type. Integers: [-2^low, 2^high), low -1 for unsigned. Floats: digits of the fraction, and
/// exponent.
struct Range {
  bool integer;
  int low, high;             // of integers: bits below and above zero
  int digits, max_exponent;  // of floats
};

bool range_of(ElementType type, Range* out) {
  switch (type) {
    case ElementType::kBool:
      *out = {true, -1, 1, 0, 0};
      return true;
    case ElementType::kUInt8:
      *out = {true, -1, 8, 0, 0};
      return true;
    case ElementType::kUInt16:
      *out = {true, -1, 16, 0, 0};
      return true;
    case ElementType::kUInt32:
      *out = {true, -1, 32, 0, 0};
      return true;
    case ElementType::kUInt64:
      *out = {true, -1, 64, 0, 0};
      return true;
    case ElementType::kInt8:
      *out = {true, 7, 7, 0, 0};
      return true;
    case ElementType::kInt16:
      *out = {true, 15, 15, 0, 0};
      return true;
    case ElementType::kInt32:
      *out = {true, 31, 31, 0, 0};
      return true;
    case ElementType::kInt64:
      *out = {true, 63, 63, 0, 0};
      return true;
    case ElementType::kFloat16:
      *out = {false, 0, 0, 11, 16};
      return true;
    case ElementType::kBFloat16:
      *out = {false, 0, 0, 8, 128};
      return true;
    case ElementType::kFloat32:
      *out = {false, 0, 0, 24, 128};
      return true;
    case ElementType::kFloat64:
      *out = {false, 0, 0, 53, 1024};
      return true;
    default:
      return false;
  }
}

/// Whether `to` can hold every value of `from`. bool embeds into other types, but no other type into bool.
bool embeds(ElementType from, ElementType to) {
  if (from == to) return true;
  Range a, b;
  if (to == ElementType::kBool || !range_of(from, &a) || !range_of(to, &b)) return false;
  if (!a.integer) return !b.integer && a.digits <= b.digits && a.max_exponent <= b.max_exponent;
  if (b.integer) return a.low <= b.low && a.high <= b.high;
  const int bits = std::max(a.low, a.high);
  return bits <= b.digits && bits < b.max_exponent;
}

ElementType target_of(const ir::Node& cast) { return static_cast<ElementType>(cast.int_or("to", 0)); }

}  // namespace

Result<bool> remove_cast(Surroundings&, ir::Graph& graph, ir::NodeId id) {
  const ir::Node& outer = graph.node(id);
  if (!outer.is("Cast") || outer.since_version < 6) return false;
  const ir::NodeId inner_id = producer_of(graph, outer, 0, "Cast");
  if (inner_id == ir::kNone || graph.node(inner_id).since_version < 6) return false;
  const ir::Node& inner = graph.node(inner_id);
  const ir::Type* source = input_type(graph, inner, 0);
  if (source == nullptr || !source->is_tensor() || !embeds(source->element, target_of(inner))) return false;
  graph.set_input(id, 0, inner.inputs[0]);
  remove_if_unused(graph, inner_id);
  return true;
}

}  // namespace tenon::transform
