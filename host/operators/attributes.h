// The attributes of a node, as an application's operator sees them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "host/device/shared_copies.h"
#include "tenon/ep.h"

namespace tenon::operators {

/// Keeps the attributes, and describes them as ep.h does. Immutable, so thread-safe. Does not move, because the
/// descriptions point into it.
class Attributes {
 public:
  /// Without attributes that are graphs. Data of tensors is 64-byte aligned. Throws std::bad_alloc.
  explicit Attributes(std::vector<ir::Attribute> attributes);
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const std::vector<tenon_attribute>& all() const { return described_; }
  /// Null when the node lacks the attribute.
  const tenon_attribute* find(std::string_view name) const;

 private:
  struct Lists {
    std::vector<tenon_str> strings;
    std::vector<tenon_tensor> tensors;
    std::vector<std::shared_ptr<const runtime::Copy>> copies;  // of their data
  };

  std::vector<ir::Attribute> attributes_;
  std::vector<Lists> lists_;
  std::vector<tenon_attribute> described_;
};

/// A copy of what a view of a graph gives, which lives only during a call.
Result<ir::Attribute> copy_attribute(const tenon_attribute& from);

}  // namespace tenon::operators
