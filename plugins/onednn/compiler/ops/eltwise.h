// An operator that is a chain of the library's element-wise functions.
#pragma once

#include "compiler/builder.h"

namespace tenon::onednn {

class EltwiseOperation : public Operation {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloat32); }
  explicit EltwiseOperation(const Pointwise& function) : functions_{function} {}
  explicit EltwiseOperation(std::vector<Pointwise> functions) : functions_(std::move(functions)) {}
  Dims shape(const Builder& b, const Node& node, size_t output) const override;
  void build(Builder& b, const Node& node) const override;
  double bound(const Builder& b, const Node& node) const override;
  /// Only a chain of one function can be a post-operation.
  std::optional<Pointwise> pointwise() const override {
    return functions_.size() == 1 ? std::optional(functions_[0]) : std::nullopt;
  }

 private:
  std::vector<Pointwise> functions_;
};

}  // namespace tenon::onednn
