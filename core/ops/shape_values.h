// Values of shape arithmetic: small integer tensors whose elements are numbers, symbols or unknown. Does not use
// protobuf.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"

namespace tenon::ops {

/// One integer. A symbol is never negative: it names a dimension or an expression of dimensions ("N*4").
struct Element {
  bool known = false;
  int64_t value = 0;
  std::string symbol;  // of an unknown element; may be empty

  Element() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): elements read as numbers
  Element(int64_t v) : known(true), value(v) {}
  explicit Element(std::string s) : symbol(std::move(s)) {}
  static Element of(const ir::Dim& dim) { return dim.known() ? Element(dim.value) : Element(dim.symbol); }
  ir::Dim dim() const { return known ? (value >= 0 ? ir::Dim(value) : ir::Dim()) : ir::Dim(symbol); }
  bool operator==(const Element& other) const {
    return known == other.known && value == other.value && symbol == other.symbol;
  }
  /// Certainly equal: the same number or the same non-empty symbol.
  bool same(const Element& other) const { return *this == other && (known || !symbol.empty()); }
};

/// A tensor of rank 0 or 1.
struct Elements {
  bool scalar = false;
  std::vector<Element> items;

  bool all_known() const;
  /// The tensor, of type int64 or int32, when all elements are known; otherwise null.
  ir::TensorPtr to_tensor(ir::ElementType type) const;
  /// For an integer tensor of rank 0 or 1 with at most kMaxElements elements.
  static std::optional<Elements> from_tensor(const ir::Tensor& tensor);
};
inline constexpr size_t kMaxElements = 1024;

struct ShapeInput {
  const ir::Type* type = nullptr;  // null: missing or not known
  const Elements* elements = nullptr;
};

/// For a node in a function body: the attributes of the enclosing calls, by the attribute name of the function.
using AttributeValues = std::map<std::string_view, const ir::Attribute*>;

/// The attribute that applies: the node's own, or the one of the call that it refers to. Null when absent.
const ir::Attribute* effective_attribute(const ir::Node& node, std::string_view name,
                                         const AttributeValues* values);

/// Whether propagate_elements supports the operator.
bool propagates_elements(const ir::Node& node);

/// The value of output 0 of a node of shape arithmetic; nothing when it is unknown, or when the node breaks the
/// rules of its operator. Does not report errors.
std::optional<Elements> propagate_elements(const ir::Node& node, const std::vector<ShapeInput>& inputs,
                                           const ir::Type& output_type,
                                           const AttributeValues* attributes = nullptr);

}  // namespace tenon::ops
