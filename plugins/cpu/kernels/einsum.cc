#include "tenon/ep/einsum.hpp"

#include "kernels/common/cast.h"
#include "kernels/common/checked.h"
#include "kernels/common/convert.h"
#include "kernels/common/gemm.h"
#include "kernels/common/scratch.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

/// One step of a contraction. Operands are numbered: first the inputs, then the results of the steps.
struct EinsumStep {
  size_t left = 0, right = 0;
  bool is_product = false;
  // A product: `count` times [m, k] by [k, n].
  int64_t count = 0, m = 0, n = 0, k = 0;
  // Otherwise elements of `left`; each is the sum over a walk that begins there.
  StridedWalk out, sum;

  int64_t size() const { return is_product ? element_count(std::array{count, m, n}) : out.size(); }
};

/// The steps in order, and the number of the output operand.
struct EinsumSteps {
  std::vector<EinsumStep> list;
  size_t result = 0;
};

// An operand: its labels and dims, dense in that order.
struct Operand {
  std::string labels;
  Dims dims;
  size_t number;
};

class Contraction {
 public:
  explicit Contraction(const ParsedEinsum& parsed) : parsed_(parsed) {}

  EinsumSteps steps(const std::vector<Operand>& operands) {
    made_ = operands.size();
    Operand left = reduced(operands[0], needed_after(operands, 0));
    for (size_t i = 1; i < operands.size(); ++i) {
      const std::string needed = needed_after(operands, i);
      left = product(left, reduced(operands[i], needed + left.labels), needed);
    }
    left = permuted(reduced(left, parsed_.output), parsed_.output);
    return {std::move(steps_), left.number};
  }

 private:
  size_t add(EinsumStep step) {
    steps_.push_back(std::move(step));
    return made_++;
  }

  // The labels of the output and of the operands after `at`.
  std::string needed_after(const std::vector<Operand>& operands, size_t at) const {
    std::string out = parsed_.output;
    for (size_t i = at + 1; i < operands.size(); ++i) out += operands[i].labels;
    return out;
  }

  static bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

  // Makes labels unique and sums over those not needed. A repeated label selects the diagonal; its dims of 1
  // broadcast.
  Operand reduced(const Operand& from, const std::string& needed) {
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

  Operand permuted(const Operand& from, const std::string& labels) {
    return labels == from.labels ? from : gathered(from, labels, labels);
  }

  // Sums over the labels of `all` that are not in `labels`. A label that `from` lacks counts as a dim of one.
  Operand gathered(const Operand& from, const std::string& labels, const std::string& all) {
    const Dims strides = strides_of(from.dims);
    Dims out_dims, out_steps, sum_dims, sum_steps;
    const auto append = [&](char label, Dims& dims, Dims& steps) {
      int64_t size = 1, step = 0;
      for (size_t i = 0; i < from.labels.size(); ++i) {
        if (from.labels[i] != label) continue;
        if (size == 1) size = from.dims[i];
        step += from.dims[i] == 1 ? 0 : strides[i];
      }
      dims.push_back(size), steps.push_back(step);
    };
    for (const char c : labels) append(c, out_dims, out_steps);
    for (const char c : all) {
      if (!has(labels, c)) append(c, sum_dims, sum_steps);
    }
    EinsumStep step;
    step.left = from.number;
    step.out = StridedWalk(out_dims, out_steps);
    step.sum = StridedWalk(sum_dims, sum_steps);
    return {labels, out_dims, add(std::move(step))};
  }

  // Common labels that are needed later are batches; the other common labels are summed over.
  Operand product(const Operand& a, const Operand& b, const std::string& needed) {
    std::string batch, rows, columns, inner;
    for (const char c : a.labels) (!has(b.labels, c) ? rows : has(needed, c) ? batch : inner) += c;
    for (const char c : b.labels) {
      if (!has(a.labels, c)) columns += c;
    }
    // A dim of one element is stretched to the other's size, which may be 0.
    const auto size = [&](char c) { return extent(a, c) == 1 ? extent(b, c) : extent(a, c); };
    const Operand left = stretched(permuted(a, batch + rows + inner), batch + inner, size);
    const Operand right = stretched(permuted(b, batch + inner + columns), batch + inner, size);
    Operand out{batch + rows + columns, {}, 0};
    for (const char c : out.labels) out.dims.push_back(size(c));
    EinsumStep step;
    step.left = left.number, step.right = right.number, step.is_product = true;
    step.count = volume(batch, size), step.m = volume(rows, size);
    step.n = volume(columns, size), step.k = volume(inner, size);
    out.number = add(std::move(step));
    return out;
  }

  static int64_t extent(const Operand& o, char label) {
    const size_t at = o.labels.find(label);
    return at == std::string::npos ? 1 : o.dims[at];
  }
  template <class F>
  static int64_t volume(const std::string& labels, F&& size) {
    int64_t n = 1;
    for (const char c : labels) n = checked_mul(n, size(c), "an intermediate result");
    return n;
  }

  // Repeats dims of one element, which broadcasting (of an ellipsis) allows.
  template <class F>
  Operand stretched(const Operand& from, const std::string& common, F&& size) {
    Dims dims = from.dims, strides = strides_of(from.dims);
    bool changed = false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != 1 || !has(common, from.labels[i]) || size(from.labels[i]) == 1) continue;
      dims[i] = size(from.labels[i]);
      strides[i] = 0;
      changed = true;
    }
    if (!changed) return from;
    EinsumStep step;
    step.left = from.number;
    step.out = StridedWalk(dims, strides);
    step.sum = StridedWalk({}, {});
    return {from.labels, dims, add(std::move(step))};
  }

  const ParsedEinsum& parsed_;
  std::vector<EinsumStep> steps_;
  size_t made_ = 0;
};

template <class T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  return a + b;
}

// The sum of the elements of a walk that begins at `first`.
template <class T>
T sum_of(const StridedWalk& walk, const T* first) {
  const int64_t columns = walk.dims.back(), stride = walk.strides.back(), rows = walk.size() / columns;
  T sum = T(0);
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = first + walk.row(r);
    for (int64_t i = 0; i < columns; ++i) sum = plus(sum, row[i * stride]);
  }
  return sum;
}

template <class T>
void gather(const Context& ctx, const EinsumStep& s, const T* from, T* to) {
  if (s.size() == 0) return;
  if (s.sum.empty) return void(std::fill_n(to, s.size(), T(0)));
  const int64_t columns = s.out.dims.back(), stride = s.out.strides.back(), terms = s.sum.size();
  ctx.parallel_for(s.size() / columns, std::max<int64_t>(1, kGrainCheap / (columns * terms)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t r = begin; r < end; ++r) {
                       ctx.check_cancelled();
                       const T* row = from + s.out.row(r);
                       for (int64_t i = 0; i < columns; ++i)
                         to[r * columns + i] = terms == 1 ? row[i * stride] : sum_of(s.sum, row + i * stride);
                     }
                   });
}

template <class T>
void multiply(const Context& ctx, const EinsumStep& s, const T* a, const T* b, T* y) {
  const int64_t m = s.m, n = s.n, k = s.k;
  if constexpr (std::is_floating_point_v<T>) {
    gemm_batch<T>(ctx, s.count, [&](int64_t i) {
      return isa::Gemm<T>{m, n, k, a + i * m * k, k, false, b + i * k * n, n, false, y + i * m * n, n, false};
    });
  } else {
    for (int64_t i = 0; i < s.count * m; ++i) {
      ctx.check_cancelled();
      for (int64_t j = 0; j < n; ++j) {
        uint64_t sum = 0;
        for (int64_t t = 0; t < k; ++t)
          sum += static_cast<uint64_t>(a[i * k + t]) * static_cast<uint64_t>(b[(i / m * k + t) * n + j]);
        y[i * n + j] = static_cast<T>(sum);
      }
    }
  }
}

// Small floats are summed in float, integers in 64 bits.
struct Einsum {
  using State = EinsumSteps;
  static constexpr auto kTypes = kNumericTypes;
  static Support supports(const NodeView& n) { return Check(n).needs_input(0).inputs(0, kTypes); }

  explicit Einsum(const NodeView& n) : equation_(n.attr_s("equation")) {}

  State prepare(PrepareContext& p) const {
    std::vector<DimsView> inputs;
    for (int i = 0; i < p.input_count(); ++i) inputs.push_back(p.input(i).dims());
    const ParsedEinsum parsed = parse_einsum(equation_, inputs);
    p.set_output(0, parsed.output_dims);
    if (element_count(parsed.output_dims) == 0) return {};
    std::vector<Operand> operands;
    for (size_t i = 0; i < inputs.size(); ++i)
      operands.push_back({parsed.inputs[i], Dims(inputs[i].begin(), inputs[i].end()), i});
    EinsumSteps steps = Contraction(parsed).steps(operands);
    int64_t made = 0;
    for (const EinsumStep& step : steps.list) made = checked_add(made, step.size(), kIntermediates);
    require_tables(p, made, sizeof(int64_t), kIntermediates);
    return steps;
  }

  void run(const Context& ctx, const State& steps) const {
    const uint32_t dtype = ctx.input(0).dtype();
    if (ctx.output(0).size() == 0) return;
    if (dtype == TENON_FLOAT64) return contract<double>(ctx, steps, dtype, TENON_FLOAT64);
    if (kFloatTypes.contains(dtype)) return contract<float>(ctx, steps, dtype, TENON_FLOAT32);
    contract<int64_t>(ctx, steps, dtype, TENON_INT64);
  }

 private:
  static constexpr const char* kIntermediates = "the intermediate results";

  template <class T>
  static void contract(const Context& ctx, const State& steps, uint32_t dtype, uint32_t wide) {
    const auto inputs = static_cast<size_t>(ctx.input_count());
    const std::span<const T*> operands =
        scratch_list<const T*>(ctx, static_cast<int64_t>(inputs + steps.list.size()));
    for (size_t i = 0; i < inputs; ++i) {
      const TensorView x = ctx.input(static_cast<int>(i));
      operands[i] = x.data<T>();
      if (dtype == wide) continue;
      T* copy = scratch_list<T>(ctx, x.size()).data();
      cast_elements(dtype, x.bytes(), wide, copy, 0, x.size(), {});
      operands[i] = copy;
    }
    for (size_t i = 0; i < steps.list.size(); ++i) {
      const EinsumStep& step = steps.list[i];
      T* made = scratch_list<T>(ctx, step.size()).data();
      if (step.is_product)
        multiply(ctx, step, operands[step.left], operands[step.right], made);
      else
        gather(ctx, step, operands[step.left], made);
      operands[inputs + i] = made;
    }
    const OutputTensor y = ctx.output(0);
    if (dtype == wide)
      std::copy_n(operands[steps.result], y.size(), y.data<T>());
    else
      cast_elements(wide, operands[steps.result], dtype, y.bytes(), 0, y.size(), {});
  }

  std::string equation_;
};
TENON_KERNEL(Einsum, .op_type = "Einsum", .contract = "first: any; others...: any")

}  // namespace
}  // namespace tenon::cpu
