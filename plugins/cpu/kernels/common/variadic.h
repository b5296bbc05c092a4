// The engine of operators that fold inputs into one: Sum, Max, Min, Mean. The functor is that of a binary
// kernel. Its optional `template <class T> T finish(T) const` is applied to the result at the end.
#pragma once

#include "kernels/common/elementwise.h"

namespace tenon::cpu {

/// For each input after the first: its broadcast with the partial result, which has the output's shape.
using VariadicState = std::vector<Broadcast<2>>;

template <class Op, class T>
concept HasFinish = requires(const Op& op, Compute<T> x) {
  op.finish(x);
};

template <class T, class Op>
void finish_loop(const void* op, const void* x, void* y, int64_t n) {
  const Op& f = *static_cast<const Op*>(op);
  for (int64_t i = 0; i < n; ++i) {
    static_cast<T*>(y)[i] = static_cast<T>(f.finish(static_cast<Compute<T>>(static_cast<const T*>(x)[i])));
  }
}

template <class Op, class T>
UnaryLoop finish_loop_of() {
  if constexpr (HasFinish<Op, T>) {
    return &finish_loop<T, Op>;
  } else {
    return nullptr;
  }
}

class VariadicBase {
 public:
  using State = VariadicState;
  State prepare(PrepareContext& p) const;

 protected:
  void run_loop(const Context& ctx, const State& state, const void* op) const;

  BinaryLoop loop_ = nullptr;
  UnaryLoop finish_ = nullptr;  // in place; may be NULL
  int64_t bytes_ = 0;           // per element
};

template <class Op>
class VariadicKernel : public VariadicBase {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.needs_input(0).inputs(0, Op::kTypes);
    for (int i = 1; i < n.input_count(); ++i) {
      check.needs_input(i).that(n.input(i).dtype() == n.input(0).dtype(), TENON_REJECT_TYPE,
                                "inputs have element types ", dtype_name(n.input(0).dtype()), " and ",
                                dtype_name(n.input(i).dtype()));
    }
    return check;
  }

  explicit VariadicKernel(const NodeView& n) : op_(make_op<Op>(n)) {
    dispatch(Op::kTypes, n.input(0).dtype(), [&]<class T>() {
      loop_ = binary_loop_of<Op, T>();
      finish_ = finish_loop_of<Op, T>();
      bytes_ = sizeof(T);
    });
  }
  void run(const Context& ctx, const State& state) const { run_loop(ctx, state, &op_); }

 private:
  Op op_;
};

}  // namespace tenon::cpu
