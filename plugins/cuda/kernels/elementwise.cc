// Element-wise operators: those of tenon/ep/device/elementwise.hpp; and Sum, Mean, Max and Min of more inputs than one launch
// reads, or of models before opset 8.
#include "tenon/ep/device/ops/elementwise.hpp"

#include "kernels/common/expression.h"

namespace tenon::cuda {
namespace {

const ops::ElementwiseKernels<Elements> kElementwise;

/// Of the first inputs by one launch, then of the result so far and further ones.
class Variadic {
 public:
  static Support supports(const NodeView& n) {
    const bool any = n.op() == "Max" || n.op() == "Min";
    Check check(n);
    for (int i = 0; i < n.input_count(); ++i) check.needs_input(i);
    return any ? check.inputs(0, kRealTypes + kIntTypes) : check.inputs(0, kRealTypes);
  }

  explicit Variadic(const NodeView& n) {
    const uint32_t dtype = n.input(0).dtype();
    for (int first = 0; first < n.input_count();) {
      Part part{first, std::min(n.input_count() - first, kMostOperands - (first > 0 ? 1 : 0)), {}};
      const bool is_first = first == 0;
      const auto operands = static_cast<uint32_t>(part.count + (is_first ? 0 : 1));
      first += part.count;
      std::vector<Step> steps{{Operation::kCopy}};
      const auto last = [&] { return kFirstResult + static_cast<uint32_t>(steps.size()) - 1; };
      for (uint32_t k = 1; k < operands; ++k) steps.push_back({operation_of(n), last(), k});
      if (n.op() == "Mean" && first == n.input_count())
        steps.push_back({Operation::kDivide, last(), 0, 0, static_cast<float>(n.input_count())});
      for (Step& step : steps) step.compute = step.result = dtype;
      const std::vector<uint32_t> types(operands, dtype);
      part.expression = Expression(n, types, steps, dtype, !is_first);
      parts_.push_back(std::move(part));
    }
  }

  std::vector<ChainWalk> prepare(PrepareContext& p) const {
    Dims dims;
    for (int i = 0; i < p.input_count(); ++i) dims = broadcast_dims(dims, p.input(i).dims());
    p.set_output(0, dims);
    std::vector<ChainWalk> out;
    for (const Part& part : parts_) {
      std::vector<Dims> strides;
      if (part.first > 0) strides.push_back(dense_strides(dims));
      for (int i = part.first; i < part.first + part.count; ++i)
        strides.push_back(broadcast_strides(p.input(i).dims(), dims));
      out.push_back(make_walk<kMostOperands>(dims, strides));
    }
    return out;
  }

  void record(Recorder& ctx, const std::vector<ChainWalk>& walks) const {
    for (size_t k = 0; k < parts_.size(); ++k) {
      const Part& part = parts_[k];
      std::vector<TensorView> operands;
      if (part.first > 0) operands.emplace_back(ctx.output(0));
      for (int i = part.first; i < part.first + part.count; ++i) operands.push_back(ctx.input(i));
      part.expression.record(ctx, walks[k], operands, ctx.output(0));
    }
  }

 private:
  /// One launch.
  struct Part {
    int first, count;  // of the inputs
    Expression expression;
  };

  static Operation operation_of(const NodeView& n) {
    return n.op() == "Max" ? Operation::kMax : n.op() == "Min" ? Operation::kMin : Operation::kAdd;
  }

  std::vector<Part> parts_;
};

TENON_KERNEL(Variadic, .op_type = "Sum", .since = 6, .priority = -1, .contract = "first: ~; others...: ~")
TENON_KERNEL(Variadic, .op_type = "Mean", .since = 6, .priority = -1, .contract = "first: ~; others...: ~")
TENON_KERNEL(Variadic, .op_type = "Max", .since = 6, .priority = -1, .contract = "first: ~; others...: ~")
TENON_KERNEL(Variadic, .op_type = "Min", .since = 6, .priority = -1, .contract = "first: ~; others...: ~")

}  // namespace
}  // namespace tenon::cuda
