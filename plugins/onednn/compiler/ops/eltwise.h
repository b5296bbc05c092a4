// An operator that is one of the library's functions of each element.
#pragma once

#include "compiler/builder.h"

namespace tenon::onednn {

class EltwiseOperation : public Operation {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloat32); }
  explicit EltwiseOperation(const Pointwise& function) : function_(function) {}
  void build(Builder& b, const Node& node) const override;
  std::optional<Pointwise> pointwise() const override { return function_; }

 private:
  Pointwise function_;
};

}  // namespace tenon::onednn
