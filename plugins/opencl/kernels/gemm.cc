#include "kernels/common/gemm.h"
#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr auto kTypes = kRealTypes + kIntTypes;

struct State {
  GemmArgs product;
  StridedCopy transpose;  // for b stored by columns
};

class Gemm {
 public:
  static Support supports(const NodeView& n) {
    const bool scales = n.attr_f("alpha", 1) != 1 || (n.has_input(2) && n.attr_f("beta", 1) != 1);
    return Check(n).inputs(0, kTypes).that(!scales || kRealTypes.contains(n.input(0).dtype()),
                                           TENON_REJECT_ATTRIBUTE, "alpha and beta must be 1 for integers");
  }
  explicit Gemm(const NodeView& n)
      : alpha_(n.attr_f("alpha", 1)),
        beta_(n.attr_f("beta", 1)),
        a_turned_(n.attr_i("transA", 0) != 0),
        b_turned_(n.attr_i("transB", 0) != 0),
        cut_(cut_of(n)) {
    const uint32_t dtype = n.input(0).dtype();
    const auto dim = [](const ValueView& v, int axis) {
      return v.has_rank() && v.rank() == 2 ? v.dim(axis) : int64_t{-1};
    };
    gemm_ = GemmKernels(n, dtype, dim(n.input(0), a_turned_ ? 1 : 0), dim(n.input(1), b_turned_ ? 0 : 1));
    if (b_turned_) copy_ = CopyKernels(n, dtype);
  }

  State prepare(PrepareContext& p) const {
    const DimsView a = p.input(0).dims(), b = p.input(1).dims();
    require(a.size() == 2 && b.size() == 2, TENON_INVALID_ARGUMENT, "the shapes ", a, " and ", b,
            " are not matrices");
    const int64_t rows = a[a_turned_ ? 1 : 0], depth = a[a_turned_ ? 0 : 1], columns = b[b_turned_ ? 0 : 1];
    require(depth == b[b_turned_ ? 1 : 0], TENON_INVALID_ARGUMENT, "the shapes ", a, " and ", b,
            " do not fit");
    const Dims dims{rows, columns};
    p.set_output(0, dims);
    State out;
    GemmShape& s = out.product.shape;
    s.batches = make_walk({}, {}, true);
    s.rows = narrow(rows);
    s.columns = narrow(columns);
    s.depth = narrow(depth);
    s.a_row = a_turned_ ? 1 : s.depth;
    s.a_depth = a_turned_ ? s.rows : 1;
    s.b_depth = s.y_row = s.columns;
    out.product.alpha = alpha_;
    out.product.lowest = cut_.low;
    out.product.highest = cut_.high;
    if (p.has_input(2)) {
      const Dims strides = broadcast_strides(p.input(2).dims(), dims);
      s.bias_row = narrow(strides[0]);
      s.bias_column = narrow(strides[1]);
      out.product.beta = beta_;
    }
    if (b_turned_) {
      out.transpose = gather_copy(Dims{depth, columns}, Dims{1, depth});
      p.workspace(static_cast<uint64_t>(p.input(1).byte_size()) + 1, 128);
    }
    return out;
  }

  void record(Recorder& ctx, const State& state) const {
    const TensorView b = ctx.input(1);
    if (!b_turned_) return multiply(ctx, state.product, in(b));
    if (ctx.is_constant(1)) {
      const BufferArg packed = packed_constant(
          ctx, b, "transposed", static_cast<uint64_t>(b.byte_size()),
          [&](Recorder& once, BufferArg to) { copy_.record(once, state.transpose, in(b), to); });
      return multiply(ctx, state.product, packed);
    }
    const WorkspaceArg turned{0, dtype_bits(b.dtype()) / 8};
    copy_.record(ctx, state.transpose, in(b), turned);
    multiply(ctx, state.product, turned);
  }

 private:
  template <class B>
  void multiply(Recorder& ctx, const GemmArgs& args, const B& b) const {
    gemm_.record(ctx, args, in(ctx.input(0)), b, in(ctx.input(2)), out(ctx.output(0)));
  }

  float alpha_, beta_;
  bool a_turned_, b_turned_;
  Range cut_;
  GemmKernels gemm_;
  CopyKernels copy_;
};
TENON_KERNEL(Gemm, .op_type = "Gemm", .since = 7, .contract = "A: rank 2; B: rank 2; C?: rank 0..2")

}  // namespace
}  // namespace tenon::opencl
