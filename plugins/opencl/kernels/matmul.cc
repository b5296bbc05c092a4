#include "kernels/common/gemm.h"

namespace tenon::opencl {
namespace {

struct MatMul {
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kRealTypes + kIntTypes).input(1, kRealTypes + kIntTypes);
  }
  explicit MatMul(const NodeView& n) {
    const auto last = [](const ValueView& v, int back) {
      return v.has_rank() && v.rank() >= back ? v.dim(v.rank() - back)
             : v.has_rank()                   ? int64_t{1}
                                              : int64_t{-1};
    };
    const ValueView b = n.input(1);
    gemm_ = GemmKernels(n, n.input(0).dtype(), last(n.input(0), 2),
                        b.has_rank() && b.rank() == 1 ? 1 : last(b, 1));
  }

  GemmArgs prepare(PrepareContext& p) const {
    const DimsView given_a = p.input(0).dims(), given_b = p.input(1).dims();
    require(!given_a.empty() && !given_b.empty(), TENON_INVALID_ARGUMENT, "a scalar is not a matrix");
    Dims a(given_a.begin(), given_a.end()), b(given_b.begin(), given_b.end());
    if (a.size() == 1) a.insert(a.begin(), 1);
    if (b.size() == 1) b.push_back(1);
    const int64_t rows = a[a.size() - 2], depth = a.back(), columns = b.back();
    require(depth == b[b.size() - 2], TENON_INVALID_ARGUMENT, "the shapes ", given_a, " and ", given_b,
            " do not fit");
    Dims batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
    const Dims batch = broadcast_dims(batch_a, batch_b);
    Dims dims = batch;
    if (given_a.size() > 1) dims.push_back(rows);
    if (given_b.size() > 1) dims.push_back(columns);
    p.set_output(0, dims);

    GemmArgs out;
    GemmShape& s = out.shape;
    Dims stride_a = broadcast_strides(batch_a, batch), stride_b = broadcast_strides(batch_b, batch);
    Dims stride_y = dense_strides(batch);
    for (int64_t& x : stride_a) x *= rows * depth;
    for (int64_t& x : stride_b) x *= depth * columns;
    for (int64_t& x : stride_y) x *= rows * columns;
    int64_t all_rows = rows;
    Dims batches = batch;
    // If one matrix on the right serves all on the left, they are one product with many rows.
    if (element_count(batch_b) == 1 && element_count(batch_a) == element_count(batch)) {
      all_rows *= element_count(batch);
      batches.assign(batch.size(), 1);
    }
    s.batches = make_walk(batches, {stride_a, stride_b, stride_y, Dims(batch.size(), 0)}, true);
    s.rows = narrow(all_rows);
    s.columns = narrow(columns);
    s.depth = narrow(depth);
    s.a_row = s.depth;
    s.b_depth = s.y_row = s.columns;
    return out;
  }
  void record(Recorder& ctx, const GemmArgs& args) const {
    gemm_.record(ctx, args, in(ctx.input(0)), in(ctx.input(1)), BufferArg{nullptr}, out(ctx.output(0)));
  }

  GemmKernels gemm_;
};
TENON_KERNEL(MatMul, .op_type = "MatMul", .since = 1, .contract = "A: rank 1..; B: rank 1..")

}  // namespace
}  // namespace tenon::opencl
