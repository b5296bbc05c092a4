// The engines of elementwise operators. A kernel is a functor with a list of types:
//
//   struct AbsOp {
//     static constexpr auto kTypes = kNumericTypes;
//     template <class T> T operator()(T x) const { ... }            // T is float for float16 and bfloat16
//   };
//   using Abs = UnaryKernel<AbsOp>;
//   TENON_KERNEL(Abs, .op_type = "Abs")
//
// Optional parts of a functor:
//   explicit Op(const NodeView&)               reads attributes
//   static Support check(const NodeView&)      conditions beyond the types of the inputs
//   static constexpr auto kVector = &isa::Table::exp;    the float32 loop of the instruction set; unary kernels
//                                              use it for float16 and bfloat16 too
//   bool use_vector() const                    unary: whether kVector fits this node's attributes
//   auto vector() const                        unary: in place of kVector, chosen by the node's attributes
//   static constexpr bool kCostly = true;      each element calls libm, so threads get smaller pieces
//   static constexpr bool kPredicate = true;   the result is bool
//
// The loop is chosen once per node by element type. Everything else is in elementwise.cc, compiled once.
#pragma once

#include "device.h"
#include "kernels/common/broadcast.h"
#include "kernels/common/convert.h"

namespace tenon::cpu {

// The optional parts of a functor.
template <class Op>
concept HasCheck = requires(const NodeView& n) {
  Op::check(n);
};
template <class Op>
concept HasVector = requires {
  Op::kVector;
};
template <class Op>
concept HasUseVector = requires(const Op& op) {
  op.use_vector();
};
template <class Op>
concept PicksVector = requires(const Op& op) {
  op.vector();
};
template <class Op>
concept IsCostly = requires {
  Op::kCostly;
};
template <class Op>
concept IsPredicate = requires {
  Op::kPredicate;
};
template <class Op, class T>
using ResultOf = std::conditional_t<IsPredicate<Op>, bool, T>;

/// Passes the node to the functor if its constructor takes one.
template <class Op>
Op make_op(const NodeView& n) {
  if constexpr (std::is_constructible_v<Op, const NodeView&>) {
    return Op(n);
  } else {
    (void)n;
    return Op{};
  }
}

// ---- Unary ----

/// y[i] = op(x[i]) for i in [0, n).
using UnaryLoop = void (*)(const void* op, const void* x, void* y, int64_t n);

template <class T, class R, class Op>
void unary_loop(const void* op, const void* x, void* y, int64_t n) {
  const Op& f = *static_cast<const Op*>(op);
  const T* in = static_cast<const T*>(x);
  R* out = static_cast<R*>(y);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(static_cast<Compute<T>>(in[i])));
}

template <class T>
void run_vector(isa::Unary loop, const void* x, void* y, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    loop(static_cast<const float*>(x), static_cast<float*>(y), n);
  } else {
    constexpr int64_t kChunk = 256;
    float chunk[kChunk];
    for (int64_t done = 0; done < n; done += kChunk) {
      const int64_t size = std::min(kChunk, n - done);
      to_float(static_cast<const T*>(x) + done, chunk, size);
      loop(chunk, chunk, size);
      from_float(chunk, static_cast<T*>(y) + done, size);
    }
  }
}

template <class T, isa::Unary isa::Table::*kMember>
void unary_vector_loop(const void*, const void* x, void* y, int64_t n) {
  run_vector<T>(isa_table().*kMember, x, y, n);
}

template <class T, class Op>
void picked_vector_loop(const void* op, const void* x, void* y, int64_t n) {
  run_vector<T>(isa_table().*(static_cast<const Op*>(op)->vector()), x, y, n);
}

template <class Op, class T>
UnaryLoop unary_loop_of(bool use_vector) {
  if constexpr (std::is_same_v<Compute<T>, float> && PicksVector<Op>) return &picked_vector_loop<T, Op>;
  if constexpr (std::is_same_v<Compute<T>, float> && HasVector<Op>) {
    if (use_vector) return &unary_vector_loop<T, Op::kVector>;
  }
  (void)use_vector;
  return &unary_loop<T, ResultOf<Op, T>, Op>;
}

/// Shape and Run of all unary kernels.
class UnaryBase {
 public:
  void prepare(PrepareContext& p) const;

 protected:
  void run_loop(const Context& ctx, const void* op) const;

  UnaryLoop loop_ = nullptr;
  int64_t grain_ = kGrainCheap;
  int64_t in_bytes_ = 0, out_bytes_ = 0;  // per element
};

template <class Op>
class UnaryKernel : public UnaryBase {
 public:
  static Support supports(const NodeView& n) {
    if constexpr (HasCheck<Op>) {
      if (Support support = Op::check(n); !support) return support;
    }
    return Check(n).needs_input(0).input(0, Op::kTypes);
  }

  explicit UnaryKernel(const NodeView& n) : op_(make_op<Op>(n)) {
    dispatch(Op::kTypes, n.input(0).dtype(), [&]<class T>() {
      loop_ = unary_loop_of<Op, T>(use_vector());
      in_bytes_ = sizeof(T);
      out_bytes_ = sizeof(ResultOf<Op, T>);
    });
    if (IsCostly<Op>) grain_ = kGrainCostly;
  }
  void run(const Context& ctx) const { run_loop(ctx, &op_); }

 private:
  bool use_vector() const {
    if constexpr (HasUseVector<Op>) {
      return op_.use_vector();
    } else {
      return true;
    }
  }
  Op op_;
};

// ---- Binary ----

/// y[i] = op(a[i * a_stride], b[i * b_stride]); strides are 0 or 1.
using BinaryLoop = void (*)(const void* op, const void* a, int64_t a_stride, const void* b, int64_t b_stride,
                            void* y, int64_t n);

template <class T, class R, class Op>
void binary_loop(const void* op, const void* a, int64_t a_stride, const void* b, int64_t b_stride, void* y,
                 int64_t n) {
  const Op& f = *static_cast<const Op*>(op);
  using C = Compute<T>;
  const T *u = static_cast<const T*>(a), *v = static_cast<const T*>(b);
  R* out = static_cast<R*>(y);
  if (a_stride == 1 && b_stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(static_cast<C>(u[i]), static_cast<C>(v[i])));
  } else if (b_stride == 0) {
    const C value = static_cast<C>(*v);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(static_cast<C>(u[i * a_stride]), value));
  } else {
    const C value = static_cast<C>(*u);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(value, static_cast<C>(v[i])));
  }
}

template <isa::Binary isa::Table::*kMember>
void binary_vector_loop(const void*, const void* a, int64_t a_stride, const void* b, int64_t b_stride,
                        void* y, int64_t n) {
  (isa_table().*kMember)(static_cast<const float*>(a), a_stride, static_cast<const float*>(b), b_stride,
                         static_cast<float*>(y), n);
}

template <class Op, class T>
BinaryLoop binary_loop_of() {
  if constexpr (std::is_same_v<T, float> && HasVector<Op>) {
    return &binary_vector_loop<Op::kVector>;
  } else {
    return &binary_loop<T, ResultOf<Op, T>, Op>;
  }
}

/// Shape and Run of all binary kernels. Before opset 7 the shapes were equal, or attribute `broadcast`
/// aligned the second operand with the first from dim `axis` on.
class BinaryBase {
 public:
  using State = Broadcast<2>;
  State prepare(PrepareContext& p) const;

 protected:
  explicit BinaryBase(const NodeView& n);
  void run_loop(const Context& ctx, const State& state, const void* op) const;
  /// With operands in other memory, of the same shapes.
  void run_loop(const Context& ctx, const State& state, const void* op, const void* a, const void* b) const;
  /// Aligns the second operand's dims with the first's from `axis` on.
  void align_second(int64_t axis) { has_axis_ = true, axis_ = axis; }

  BinaryLoop loop_ = nullptr;
  int64_t grain_ = kGrainCheap;
  int64_t a_bytes_ = 0, b_bytes_ = 0, out_bytes_ = 0;

 private:
  Dims second_dims(DimsView a, DimsView b) const;

  bool has_axis_ = false;
  int64_t axis_ = 0;
};

template <class Op>
class BinaryKernel : public BinaryBase {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .needs_input(0)
        .needs_input(1)
        .input(0, Op::kTypes)
        .input(1, Op::kTypes)
        .that(n.input(0).dtype() == n.input(1).dtype(), TENON_REJECT_TYPE, "inputs have element types ",
              dtype_name(n.input(0).dtype()), " and ", dtype_name(n.input(1).dtype()));
  }

  explicit BinaryKernel(const NodeView& n) : BinaryBase(n), op_(make_op<Op>(n)) {
    dispatch(Op::kTypes, n.input(0).dtype(), [&]<class T>() {
      loop_ = binary_loop_of<Op, T>();
      a_bytes_ = b_bytes_ = sizeof(T);
      out_bytes_ = sizeof(ResultOf<Op, T>);
    });
    if (IsCostly<Op>) grain_ = kGrainCostly;
  }
  void run(const Context& ctx, const State& state) const { run_loop(ctx, state, &op_); }

 private:
  Op op_;
};

/// Registers a binary operator for all versions. Before version 7 BinaryBase reads attribute `axis`.
#define TENON_BINARY_KERNELS(K, op)                                        \
  TENON_KERNEL(K, .op_type = op, .until = 6, .contract = "A: any; B: any") \
  TENON_KERNEL(K, .op_type = op, .since = 7, .contract = "A: ~; B: ~")

}  // namespace tenon::cpu
