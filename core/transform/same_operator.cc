// Compares nodes and constants.
#include <bit>

#include "core/transform/edit.h"

namespace tenon::transform {

namespace {

bool same_attribute(const ir::Attribute& a, const ir::Attribute& b) {
  // Compare floats by bits: NaN equals itself, 0 differs from -0.
  auto bits = [](float x, float y) { return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y); };
  if (a.name != b.name || a.type != b.type || a.reference != b.reference || a.i != b.i || !bits(a.f, b.f) ||
      a.s != b.s || a.ints != b.ints || a.strings != b.strings || a.types != b.types ||
      a.floats.size() != b.floats.size() || a.tensors.size() != b.tensors.size()) {
    return false;
  }
  if (!a.sparse_tensors.empty() || !b.sparse_tensors.empty()) return false;
  for (size_t i = 0; i < a.floats.size(); ++i) {
    if (!bits(a.floats[i], b.floats[i])) return false;
  }
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    if (!same_tensor(*a.tensors[i], *b.tensors[i])) return false;
  }
  return true;
}

}  // namespace

bool same_tensor(const ir::Tensor& a, const ir::Tensor& b) {
  if (&a == &b) return true;
  if (a.byte_size() <= kMostCompared) return a.same_as(b);
  return a.data() == b.data() && a.type() == b.type() && a.dims() == b.dims();
}

bool same_operator(const ir::Node& a, const ir::Node& b) {
  if (a.op_type != b.op_type || a.domain != b.domain || a.overload != b.overload ||
      a.since_version != b.since_version || a.attributes.size() != b.attributes.size() || a.has_subgraph() ||
      b.has_subgraph()) {
    return false;
  }
  for (const ir::Attribute& attribute : a.attributes) {
    const ir::Attribute* other = b.find(attribute.name);
    if (other == nullptr || !same_attribute(attribute, *other)) return false;
  }
  return true;
}

}  // namespace tenon::transform
