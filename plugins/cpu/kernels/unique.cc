#include <algorithm>
#include <complex>
#include <functional>
#include <numeric>
#include <optional>

#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

// Compares two slices of the axis, element by element: negative, 0 or positive.
using Compare = std::function<int(int64_t, int64_t)>;

template <class T>
int order(T a, T b) {
  const auto x = static_cast<Compute<T>>(a), y = static_cast<Compute<T>>(b);
  if (x < y) return -1;
  if (y < x) return 1;
  const bool x_nan = x != x, y_nan = y != y;
  return x_nan == y_nan ? 0 : x_nan ? 1 : -1;
}
template <class T>
int order(std::complex<T> a, std::complex<T> b) {
  const int by_real = order(a.real(), b.real());
  return by_real != 0 ? by_real : order(a.imag(), b.imag());
}

Compare slice_order(TensorView in, const Around& at) {
  if (at.outer == 0 || at.inner == 0) return [](int64_t, int64_t) { return 0; };
  const auto walk = [at](auto element_order) {
    return [at, element_order](int64_t a, int64_t b) {
      for (int64_t o = 0; o < at.outer; ++o)
        for (int64_t i = 0; i < at.inner; ++i)
          if (const int c = element_order((o * at.axis + a) * at.inner + i, (o * at.axis + b) * at.inner + i))
            return c;
      return 0;
    };
  };
  if (in.dtype() == TENON_STRING)
    return walk([in](int64_t a, int64_t b) { return in.string(a).compare(in.string(b)); });
  Compare out;
  dispatch(kNumericTypes + kBoolType + kComplexTypes, in.dtype(), [&]<class T>() {
    out = walk([in](int64_t a, int64_t b) { return order(in.at<T>(a), in.at<T>(b)); });
  });
  return out;
}

class Unique {
 public:
  explicit Unique(const NodeView& node) : sorted_(node.attr_i("sorted", 1) != 0) {
    if (node.has_attr("axis")) axis_ = node.attr_i("axis");
  }
  void prepare(PrepareContext& ctx) const {
    for (int i = 0; i < 4; ++i) ctx.set_at_run(i);
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    Around at{1, in.size(), 1};
    Dims dims{0};
    size_t axis = 0;
    if (axis_) {
      axis = static_cast<size_t>(normalize_axis(*axis_, in.rank()));
      at = around(in.dims(), static_cast<int64_t>(axis));
      dims.assign(in.dims().begin(), in.dims().end());
    }
    const auto n = static_cast<size_t>(at.axis);
    CancelPoint point(ctx);
    const Compare compare = [&point, order = slice_order(in, at)](int64_t a, int64_t b) {
      point.pass();
      return order(a, b);
    };
    std::vector<int64_t> by_value(n);
    std::iota(by_value.begin(), by_value.end(), int64_t{0});
    std::stable_sort(by_value.begin(), by_value.end(),
                     [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
    // Groups of equal slices: the first occurrence and size of each.
    Dims first, counts, inverse(n);
    for (size_t i = 0; i < n; ++i) {
      if (i == 0 || compare(by_value[i - 1], by_value[i]) != 0) {
        first.push_back(by_value[i]);
        counts.push_back(0);
      }
      ++counts.back();
      inverse[static_cast<size_t>(by_value[i])] = static_cast<int64_t>(first.size()) - 1;
    }
    if (!sorted_) by_occurrence(&first, &counts, &inverse);
    dims[axis] = static_cast<int64_t>(first.size());
    write_values(ctx, in, at, dims, first);
    const Dims* indices[] = {&first, &inverse, &counts};
    for (int i = 0; i < 3; ++i) {
      if (!ctx.has_output(i + 1)) continue;
      const int64_t length[] = {static_cast<int64_t>(indices[i]->size())};
      const OutputTensor out = ctx.alloc_output(i + 1, length);
      std::copy(indices[i]->begin(), indices[i]->end(), out.data<int64_t>());
    }
  }

 private:
  static void by_occurrence(Dims* first, Dims* counts, Dims* inverse) {
    std::vector<size_t> order(first->size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return (*first)[a] < (*first)[b]; });
    Dims new_first, new_counts, place(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      new_first.push_back((*first)[order[i]]);
      new_counts.push_back((*counts)[order[i]]);
      place[order[i]] = static_cast<int64_t>(i);
    }
    for (int64_t& group : *inverse) group = place[static_cast<size_t>(group)];
    *first = std::move(new_first);
    *counts = std::move(new_counts);
  }
  static void write_values(const Context& ctx, TensorView in, const Around& at, const Dims& dims,
                           const Dims& first) {
    if (!ctx.has_output(0)) return;
    const int64_t outer = first.empty() || at.inner == 0 ? 0 : at.outer;
    if (in.dtype() == TENON_STRING) {
      StringBuilder strings;
      for (int64_t o = 0; o < outer; ++o)
        for (const int64_t k : first)
          for (int64_t i = 0; i < at.inner; ++i) strings.add(in.string((o * at.axis + k) * at.inner + i));
      return ctx.set_strings(0, dims, strings);
    }
    ctx.alloc_output(0, dims);
    BlockWriter writer(ctx, 0);
    for (int64_t o = 0; o < outer; ++o)
      for (const int64_t k : first) writer.append(in, (o * at.axis + k) * at.inner, at.inner);
    writer.finish();
  }

  std::optional<int64_t> axis_;
  bool sorted_;
};

TENON_KERNEL(Unique, .op_type = "Unique", .since = 11, .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
