#include "kernels/common/einsum.h"
#include "kernels/common/cast.h"
#include "kernels/common/convert.h"
#include "kernels/common/gemm.h"

namespace tenon::cpu {
namespace {

// An operand on its way: its labels and its data, dense in their order.
template <class T>
struct Operand {
  std::string labels;
  Dims dims;
  const T* data;
};

template <class T>
class Contraction {
 public:
  Contraction(const Context& ctx, const EinsumPlan& plan) : ctx_(ctx), plan_(plan) {}

  /// Takes the operands from left to right; what is left has the output's labels.
  void run(std::vector<Operand<T>> operands, T* out) {
    Operand<T> left = reduced(operands[0], needed_after(operands, 0));
    for (size_t i = 1; i < operands.size(); ++i) {
      const std::string needed = needed_after(operands, i);
      left = product(left, reduced(operands[i], needed + left.labels), needed);
    }
    left = permuted(reduced(left, plan_.output), plan_.output);
    std::copy_n(left.data, element_count(left.dims), out);
  }

 private:
  // The labels of the output and of the operands after `at`.
  std::string needed_after(const std::vector<Operand<T>>& operands, size_t at) const {
    std::string out = plan_.output;
    for (size_t i = at + 1; i < operands.size(); ++i) out += operands[i].labels;
    return out;
  }

  static bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

  // One entry per label: repeated labels become the diagonal, dims of one element that others stretch stay
  // one.
  Operand<T> reduced(const Operand<T>& from, const std::string& needed) const {
    std::string unique, kept;
    for (const char c : from.labels) {
      if (!has(unique, c)) unique += c;
    }
    for (const char c : unique) {
      if (has(needed, c)) kept += c;
    }
    if (kept == from.labels) return from;
    return gathered(from, kept, unique);
  }

  Operand<T> permuted(const Operand<T>& from, const std::string& labels) const {
    return labels == from.labels ? from : gathered(from, labels, labels);
  }

  // Sums over the labels of `all` that are not in `labels`. A label that `from` lacks is a dim of one.
  Operand<T> gathered(const Operand<T>& from, const std::string& labels, const std::string& all) const {
    const Dims strides = strides_of(from.dims);
    Dims out_dims, out_steps, sum_dims, sum_steps;
    const auto add = [&](char label, Dims& dims, Dims& steps) {
      int64_t size = 1, step = 0;
      for (size_t i = 0; i < from.labels.size(); ++i) {
        if (from.labels[i] != label) continue;
        size = std::max(size, from.dims[i]);
        if (from.dims[i] == 0) size = 0;
        step += from.dims[i] == 1 ? 0 : strides[i];
      }
      dims.push_back(size), steps.push_back(step);
    };
    for (const char c : labels) add(c, out_dims, out_steps);
    for (const char c : all) {
      if (!has(labels, c)) add(c, sum_dims, sum_steps);
    }
    const std::vector<int64_t> out_at = offsets(out_dims, out_steps), sum_at = offsets(sum_dims, sum_steps);
    T* data = ctx_.scratch<T>(std::max<int64_t>(1, static_cast<int64_t>(out_at.size())));
    const auto n = static_cast<int64_t>(out_at.size()), terms = static_cast<int64_t>(sum_at.size());
    ctx_.parallel_for(n, std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, terms)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) {
                          T sum = T(0);
                          for (const int64_t term : sum_at)
                            sum = plus(sum, from.data[out_at[static_cast<size_t>(i)] + term]);
                          data[i] = sum;
                        }
                      });
    return {labels, out_dims, data};
  }

  static std::vector<int64_t> offsets(const Dims& dims, const Dims& steps) {
    std::vector<int64_t> out;
    out.reserve(static_cast<size_t>(element_count(dims)));
    for (Odometer at(dims); !at.done(); at.next()) {
      int64_t offset = 0;
      for (size_t d = 0; d < dims.size(); ++d) offset += at.index()[d] * steps[d];
      out.push_back(offset);
    }
    return out;
  }

  static T plus(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    return a + b;
  }

  // Labels of both operands that are needed later are batches, the other common ones are summed over.
  Operand<T> product(const Operand<T>& a, const Operand<T>& b, const std::string& needed) const {
    std::string batch, rows, columns, inner;
    for (const char c : a.labels) (!has(b.labels, c) ? rows : has(needed, c) ? batch : inner) += c;
    for (const char c : b.labels) {
      if (!has(a.labels, c)) columns += c;
    }
    const auto size = [&](char c) { return std::max(extent(a, c), extent(b, c)); };
    const Operand<T> left = stretched(permuted(a, batch + rows + inner), batch + inner, size);
    const Operand<T> right = stretched(permuted(b, batch + inner + columns), batch + inner, size);
    Operand<T> out{batch + rows + columns, {}, nullptr};
    for (const char c : out.labels) out.dims.push_back(size(c));
    const int64_t count = volume(batch, size), m = volume(rows, size), n = volume(columns, size),
                  k = volume(inner, size);
    T* data = ctx_.scratch<T>(std::max<int64_t>(1, count * m * n));
    multiply(count, m, n, k, left.data, right.data, data);
    out.data = data;
    return out;
  }

  static int64_t extent(const Operand<T>& o, char label) {
    const size_t at = o.labels.find(label);
    return at == std::string::npos ? 0 : o.dims[at];
  }
  template <class F>
  static int64_t volume(const std::string& labels, F&& size) {
    int64_t n = 1;
    for (const char c : labels) n *= size(c);
    return n;
  }

  // Repeats dims of one element, which broadcasting (of an ellipsis) allows.
  template <class F>
  Operand<T> stretched(const Operand<T>& from, const std::string& common, F&& size) const {
    Dims dims = from.dims, steps = strides_of(from.dims);
    bool changed = false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != 1 || !has(common, from.labels[i]) || size(from.labels[i]) == 1) continue;
      dims[i] = size(from.labels[i]);
      steps[i] = 0;
      changed = true;
    }
    if (!changed) return from;
    const std::vector<int64_t> at = offsets(dims, steps);
    T* data = ctx_.scratch<T>(std::max<int64_t>(1, static_cast<int64_t>(at.size())));
    for (size_t i = 0; i < at.size(); ++i) data[i] = from.data[at[i]];
    return {from.labels, dims, data};
  }

  void multiply(int64_t count, int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* y) const {
    if constexpr (std::is_floating_point_v<T>) {
      gemm_batch<T>(ctx_, count, [&](int64_t i) {
        return isa::Gemm<T>{m, n,    k, a + i * m * k, k, false, b + i * k * n, n, false, y + i * m * n,
                            n, false};
      });
    } else {
      for (int64_t i = 0; i < count * m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          uint64_t sum = 0;
          for (int64_t t = 0; t < k; ++t) {
            sum += static_cast<uint64_t>(a[i * k + t]) * static_cast<uint64_t>(b[(i / m * k + t) * n + j]);
          }
          y[i * n + j] = static_cast<T>(sum);
        }
      }
    }
  }

  const Context& ctx_;
  const EinsumPlan& plan_;
};

// Small floats are summed in float, integers in 64 bits.
struct Einsum {
  using State = EinsumPlan;
  static constexpr auto kTypes = kNumericTypes;
  static Support supports(const NodeView& n) { return Check(n).needs_input(0).inputs(0, kTypes); }

  explicit Einsum(const NodeView& n) : equation_(n.attr_s("equation")) {}

  State prepare(PrepareContext& p) const {
    std::vector<DimsView> inputs;
    for (int i = 0; i < p.input_count(); ++i) inputs.push_back(p.input(i).dims());
    State plan = parse_einsum(equation_, inputs);
    p.set_output(0, plan.output_dims);
    return plan;
  }

  void run(const Context& ctx, const State& plan) const {
    const uint32_t dtype = ctx.input(0).dtype();
    if (ctx.output(0).size() == 0) return;
    if (dtype == TENON_FLOAT64) return contract<double>(ctx, plan, dtype, TENON_FLOAT64);
    if (kFloatTypes.contains(dtype)) return contract<float>(ctx, plan, dtype, TENON_FLOAT32);
    contract<int64_t>(ctx, plan, dtype, TENON_INT64);
  }

 private:
  template <class T>
  static void contract(const Context& ctx, const State& plan, uint32_t dtype, uint32_t wide) {
    std::vector<Operand<T>> operands;
    for (int i = 0; i < ctx.input_count(); ++i) {
      const TensorView x = ctx.input(i);
      const T* data = x.data<T>();
      if (dtype != wide) {
        T* copy = ctx.scratch<T>(std::max<int64_t>(1, x.size()));
        cast_elements(dtype, x.bytes(), wide, copy, 0, x.size(), {});
        data = copy;
      }
      operands.push_back({plan.inputs[static_cast<size_t>(i)], Dims(x.dims().begin(), x.dims().end()), data});
    }
    const OutputTensor y = ctx.output(0);
    T* out = dtype == wide ? y.data<T>() : ctx.scratch<T>(y.size());
    Contraction<T>(ctx, plan).run(std::move(operands), out);
    if (dtype != wide) cast_elements(wide, out, dtype, y.bytes(), 0, y.size(), {});
  }

  std::string equation_;
};
TENON_KERNEL(Einsum, .op_type = "Einsum")

}  // namespace
}  // namespace tenon::cpu
