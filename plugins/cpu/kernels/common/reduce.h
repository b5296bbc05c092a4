// The engine of the Reduce operators. A kernel is a list of types and an accumulator:
//
//   template <class C>                    // C is the type of the arithmetic
//   struct SumOf {
//     double total = 0;                   // the state before the first element
//     void add(C x) { total += x; }
//     C result(int64_t n) const { ... }   // after n elements; n may be 0
//   };
//   struct ReduceSumOp { static constexpr auto kTypes = ...; template <class C> using Of = SumOf<C>; };
// An accumulator for which the instruction sets have loops over float32 names them, and joins their totals:
//
//     static constexpr auto kFold = &isa::Reductions::sum;
//     void join(double part) { total += part; }
//     double part() const { return total; }
//
//   TENON_REDUCE_KERNELS(ReduceSum, ReduceSumOp, 13)   // the axes are an input from version 13 on
#pragma once

#include "kernels/common/shape.h"

namespace tenon::cpu {

inline constexpr auto kReduceTypes = kFloatTypes + TypeList<int32_t, int64_t, uint32_t, uint64_t>();
inline constexpr auto kReduceOrderTypes = kReduceTypes + TypeList<int8_t, uint8_t, bool>();

/// Offsets of the outputs and of the reduced elements of each output, both as strided dims. Made in prepare.
struct ReduceState {
  Dims kept_dims, kept_strides, reduced_dims, reduced_strides;
  int64_t outputs = 1, reduced = 1;

  int64_t kept_offset(int64_t output) const;
  /// Of row `row` of the reduced elements; a row is their last dim.
  int64_t reduced_offset(int64_t row) const {
    int64_t offset = 0;
    for (size_t d = reduced_dims.size() - 1; d-- > 0; row /= reduced_dims[d])
      offset += row % reduced_dims[d] * reduced_strides[d];
    return offset;
  }
};

ReduceState prepare_reduce(DimsView dims, std::span<const int> axes);

/// Reads the attributes and finds the axes.
class ReduceBase {
 public:
  using Loop = void (*)(const Context& ctx, const ReduceState& state);
  using State = ReduceState;
  ReduceBase(const NodeView& node, bool axes_are_input);
  State prepare(PrepareContext& p) const;

 private:
  std::vector<int> axes_of(int rank, bool given, const Dims& input) const;
  bool axes_are_input_, keepdims_, noop_;
  Dims axes_;
};

template <class T, class Accumulator>
void reduce_loop(const Context& ctx, const ReduceState& state) {
  using C = Compute<T>;
  const T* in = ctx.input(0).data<T>();
  T* out = ctx.output(0).template data<T>();
  const int64_t grain = std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, state.reduced));
  const int64_t inner = state.reduced_dims.back(), stride = state.reduced_strides.back();
  const int64_t rows = inner > 0 ? state.reduced / inner : 0;
  ctx.parallel_for(state.outputs, grain, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* first = in + state.kept_offset(o);
      Accumulator total;
      for (int64_t r = 0; r < rows; ++r) {
        const T* line = first + state.reduced_offset(r);
        for (int64_t i = 0; i < inner; ++i) total.add(static_cast<C>(line[i * stride]));
      }
      out[o] = static_cast<T>(total.result(state.reduced));
    }
  });
}

/// As reduce_loop(), by the loops of the instruction set (kernels/common/reduce_fold.h).
template <class T, class Accumulator>
void fold_loop(const Context& ctx, const ReduceState& state);

template <class Accumulator>
concept HasFold = requires {
  Accumulator::kFold;
};
template <class T, class Accumulator>
ReduceBase::Loop loop_for() {
  if constexpr (std::is_same_v<Compute<T>, float> && HasFold<Accumulator>) {
    return &fold_loop<T, Accumulator>;
  } else {
    return &reduce_loop<T, Accumulator>;
  }
}

template <class Op, bool kAxesAreInput>
class ReduceKernel : public ReduceBase {
 public:
  static Support supports(const NodeView& n) { return Check(n).needs_input(0).input(0, Op::kTypes); }
  explicit ReduceKernel(const NodeView& n) : ReduceBase(n, kAxesAreInput) {
    loop_ = select<Loop>(Op::kTypes, n.input(0).dtype(),
                         []<class T>() { return loop_for<T, typename Op::template Of<Compute<T>>>(); });
  }
  static std::vector<int> shape_inputs(const NodeView&) {
    return kAxesAreInput ? std::vector<int>{1} : std::vector<int>();
  }
  void run(const Context& ctx, const State& state) const { loop_(ctx, state); }

 private:
  Loop loop_;
};

#define TENON_REDUCE_KERNELS(NAME, OP, AXES_INPUT_SINCE)                                     \
  using NAME##Attribute = ReduceKernel<OP, false>;                                           \
  using NAME##Input = ReduceKernel<OP, true>;                                                \
  TENON_KERNEL(NAME##Attribute, .op_type = #NAME, .since = 1, .until = AXES_INPUT_SINCE - 1, \
               .contract = "data: any")                                                      \
  TENON_KERNEL(NAME##Input, .op_type = #NAME, .since = AXES_INPUT_SINCE,                     \
               .contract = "data: any; axes?: rank 0..1 @index")

}  // namespace tenon::cpu
