#include <algorithm>
#include <numeric>

#include "kernels/common/scratch.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

// NaN counts as the largest. Of equal elements the one with the lower index comes first.
template <class T, bool kLargest>
bool before(const T* data, int64_t stride, int64_t a, int64_t b) {
  const auto x = static_cast<Compute<T>>(data[a * stride]), y = static_cast<Compute<T>>(data[b * stride]);
  const bool x_nan = x != x, y_nan = y != y;
  if (x_nan || y_nan) return x_nan && y_nan ? a < b : x_nan == kLargest;
  if (x != y) return kLargest ? x > y : x < y;
  return a < b;
}

template <class T, bool kLargest>
void top_k(const Context& ctx, const Around& at, int64_t k, bool sorted) {
  const T* in = ctx.input(0).data<T>();
  if (k == 0 || at.outer == 0 || at.inner == 0) return;
  const WorkerLists<int64_t> orders(ctx, at.axis);
  ctx.parallel_for(at.outer * at.inner, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, at.axis)),
                   [&](uint32_t worker, int64_t begin, int64_t end) {
                     const std::span<int64_t> order = orders.of(worker);
                     for (int64_t row = begin; row < end; ++row) {
                       ctx.check_cancelled();
                       const int64_t o = row / at.inner, i = row % at.inner;
                       const T* line = in + o * at.axis * at.inner + i;
                       std::iota(order.begin(), order.end(), int64_t{0});
                       const auto less = [&](int64_t a, int64_t b) {
                         return before<T, kLargest>(line, at.inner, a, b);
                       };
                       if (sorted)
                         std::partial_sort(order.begin(), order.begin() + k, order.end(), less);
                       else if (k < at.axis)
                         std::nth_element(order.begin(), order.begin() + k, order.end(), less);
                       for (int64_t j = 0; j < k; ++j) {
                         const int64_t to = (o * k + j) * at.inner + i;
                         if (ctx.has_output(0))
                           ctx.output(0).data<T>()[to] = line[order[static_cast<size_t>(j)] * at.inner];
                         if (ctx.has_output(1))
                           ctx.output(1).data<int64_t>()[to] = order[static_cast<size_t>(j)];
                       }
                     }
                   });
}

struct TopKState {
  Around at;
  int64_t k;
};

TopKState prepare_top_k(PrepareContext& p, int64_t given_axis, int64_t k) {
  const DimsView in = p.input(0).dims();
  const int axis = normalize_axis(given_axis, static_cast<int>(in.size()));
  const Around at = around(in, axis);
  require(k >= 0 && k <= at.axis, TENON_INVALID_ARGUMENT, "k is ", k, ", the axis has ", at.axis,
          " elements");
  Dims out(in.begin(), in.end());
  out[static_cast<size_t>(axis)] = k;
  p.set_output(0, out);
  p.set_output(1, out);
  return {at, k};
}

void run_top_k(const Context& ctx, const TopKState& s, bool largest, bool sorted) {
  dispatch(kNumericTypes, ctx.input(0).dtype(), [&]<class T>() {
    if (largest)
      top_k<T, true>(ctx, s.at, s.k, sorted);
    else
      top_k<T, false>(ctx, s.at, s.k, sorted);
  });
}

class TopK {
 public:
  static constexpr int shape_inputs[] = {1};
  explicit TopK(const NodeView& node)
      : axis_(node.attr_i("axis", -1)),
        largest_(node.attr_i("largest", 1) != 0),
        sorted_(node.attr_i("sorted", 1) != 0) {}
  static Support supports(const NodeView& node) { return Check(node).input(0, kNumericTypes); }
  using State = TopKState;
  State prepare(PrepareContext& p) const { return prepare_top_k(p, axis_, only_int(p.input(1), "k")); }
  void run(const Context& ctx, const State& s) const { run_top_k(ctx, s, largest_, sorted_); }

 private:
  int64_t axis_;
  bool largest_, sorted_;
};

// TopK-1: k is an attribute.
class TopKAttribute {
 public:
  explicit TopKAttribute(const NodeView& node) : axis_(node.attr_i("axis", -1)), k_(node.attr_i("k")) {}
  static Support supports(const NodeView& node) { return Check(node).input(0, kNumericTypes); }
  using State = TopKState;
  State prepare(PrepareContext& p) const { return prepare_top_k(p, axis_, k_); }
  void run(const Context& ctx, const State& s) const { run_top_k(ctx, s, true, true); }

 private:
  int64_t axis_, k_;
};

TENON_KERNEL(TopKAttribute, .op_type = "TopK", .since = 1, .until = 9, .contract = "X: rank 1..")
TENON_KERNEL(TopK, .op_type = "TopK", .since = 10, .contract = "X: rank 1..; K: one @size")

}  // namespace
}  // namespace tenon::cpu
