// Matrix products: MatMul and Gemm, in batches.
//
// Beside the backend of launch.hpp, B has typename B::Gemm, whose record(ctx, args, a, b, bias, y) lists the product; typename B::Copies,
// the CopyKernels; and B::clamp_of(node), the Clamp of the node. packed_constant(ctx, constant, layout,
// bytes, record) makes memory computed once from a constant.
//
// A backend that compiles a node with its Epilogue gives the kernel inputs kBiasInput and kAddendInput. B::Gemm adds the latter itself.
//
// B::Gemm may want memory while it multiplies. It has workspace_bytes(args, adds) then, which tells how many bytes: an upper bound,
// known from the shape; `adds` tells of an input kAddendInput. They are at GemmArgs::workspace.
//
// B::Gemm may read b stored by columns as it is. It has kReadsTurned = true then, and a constructor with one more argument: whether b is.
#ifndef TENON_EP_DEVICE_OPS_GEMM_HPP_
#define TENON_EP_DEVICE_OPS_GEMM_HPP_

#include "tenon/ep/device/epilogue.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

/// Sizes and strides in elements. Columns of b and y have stride 1.
struct GemmShape {
  int32_t rows = 0, columns = 0, depth = 0;
  int32_t a_row = 0, a_depth = 1;
  int32_t b_depth = 0;  // of a b that is read by columns: between its columns
  int32_t y_row = 0;
  int32_t bias_row = 0, bias_column = 0;
  Walk batches{};  // operands: a, b, y, bias; only outer dimensions
};

struct GemmArgs {
  GemmShape shape;
  float alpha = 1, beta = 0;      // beta is 0 without a bias
  float lowest = 0, highest = 0;  // y is clamped to this range if they differ
  // Of the node's workspace: what the product may use, in bytes. Products of one node take turns with it.
  uint64_t workspace = 0, workspace_bytes = 0;
};

/// Asks for the workspace of a node with a product: `used` bytes for what comes before it, and what it wants itself.
template <class Gemm>
void place_workspace(PrepareContext& p, const Gemm& gemm, uint64_t used, GemmArgs* product) {
  constexpr uint32_t kAlignment = 256;
  uint64_t bytes = used;
  if constexpr (requires { gemm.workspace_bytes(*product, true); }) {
    product->workspace_bytes = gemm.workspace_bytes(*product, p.has_input(kAddendInput));
    product->workspace = (used + kAlignment - 1) / kAlignment * kAlignment;
    if (product->workspace_bytes != 0) bytes = product->workspace + product->workspace_bytes;
  }
  if (bytes != 0) p.workspace(bytes, bytes == used ? 128 : kAlignment);
}

struct GemmState {
  GemmArgs product;
  StridedCopy transpose;  // for b stored by columns
};

template <class B>
class Gemm {
  static constexpr bool kReadsTurned = requires { requires B::Gemm::kReadsTurned; };

 public:
  static Support supports(const NodeView& n) {
    const bool scales = n.attr_f("alpha", 1) != 1 || (n.has_input(2) && n.attr_f("beta", 1) != 1);
    return Check(n)
        .inputs(0, kDeviceRealTypes + kIntTypes)
        .that(!scales || kDeviceRealTypes.contains(n.input(0).dtype()), TENON_REJECT_ATTRIBUTE,
              "alpha and beta must be 1 for integers");
  }
  explicit Gemm(const NodeView& n)
      : alpha_(n.attr_f("alpha", 1)),
        beta_(n.attr_f("beta", 1)),
        a_turned_(n.attr_i("transA", 0) != 0),
        b_turned_(n.attr_i("transB", 0) != 0),
        clamp_(B::clamp_of(n)) {
    const uint32_t dtype = n.input(0).dtype();
    const auto dim = [](const ValueView& v, int axis) {
      return v.has_rank() && v.rank() == 2 ? v.dim(axis) : int64_t{-1};
    };
    const int64_t rows = dim(n.input(0), a_turned_ ? 1 : 0), columns = dim(n.input(1), b_turned_ ? 0 : 1);
    if constexpr (kReadsTurned) {
      gemm_ = typename B::Gemm(n, dtype, rows, columns, b_turned_);
    } else {
      gemm_ = typename B::Gemm(n, dtype, rows, columns);
      if (b_turned_) copy_ = typename B::Copies(n, dtype);
    }
  }

  GemmState prepare(PrepareContext& p) const {
    const DimsView a = p.input(0).dims(), b = p.input(1).dims();
    require(a.size() == 2 && b.size() == 2, TENON_INVALID_ARGUMENT, "the shapes ", a, " and ", b,
            " are not matrices");
    const int64_t rows = a[a_turned_ ? 1 : 0], depth = a[a_turned_ ? 0 : 1], columns = b[b_turned_ ? 0 : 1];
    require(depth == b[b_turned_ ? 1 : 0], TENON_INVALID_ARGUMENT, "the shapes ", a, " and ", b,
            " do not fit");
    const Dims dims{rows, columns};
    p.set_output(0, dims);
    GemmState out;
    GemmShape& s = out.product.shape;
    s.batches = make_walk({}, {}, true);
    s.rows = narrow(rows);
    s.columns = narrow(columns);
    s.depth = narrow(depth);
    s.a_row = a_turned_ ? 1 : s.depth;
    s.a_depth = a_turned_ ? s.rows : 1;
    s.b_depth = s.y_row = s.columns;
    out.product.alpha = alpha_;
    out.product.lowest = clamp_.low;
    out.product.highest = clamp_.high;
    if (p.has_input(2)) {
      const Dims strides = broadcast_strides(p.input(2).dims(), dims);
      s.bias_row = narrow(strides[0]);
      s.bias_column = narrow(strides[1]);
      out.product.beta = beta_;
    }
    uint64_t turned_bytes = 0;
    if (kReadsTurned && b_turned_) {
      s.b_depth = s.depth;
    } else if (b_turned_) {
      out.transpose = gather_copy(Dims{depth, columns}, Dims{1, depth});
      turned_bytes = static_cast<uint64_t>(p.input(1).byte_size()) + 1;
    }
    place_workspace(p, gemm_, turned_bytes, &out.product);
    return out;
  }

  void record(typename B::Recorder& ctx, const GemmState& state) const {
    const TensorView b = ctx.input(1);
    if (kReadsTurned || !b_turned_) return multiply(ctx, state.product, in(b));
    if (ctx.is_constant(1)) {
      const auto packed = packed_constant(ctx, b, "transposed", static_cast<uint64_t>(b.byte_size()),
                                          [&](typename B::Recorder& once, const auto& to) {
                                            copy_.record(once, state.transpose, in(b), to);
                                          });
      return multiply(ctx, state.product, packed);
    }
    const WorkspaceArg turned{0, dtype_bits(b.dtype()) / 8};
    copy_.record(ctx, state.transpose, in(b), turned);
    multiply(ctx, state.product, turned);
  }

 private:
  template <class Right>
  void multiply(typename B::Recorder& ctx, const GemmArgs& args, const Right& b) const {
    gemm_.record(ctx, args, in(ctx.input(0)), b, in(ctx.input(2)), out(ctx.output(0)));
  }

  float alpha_, beta_;
  bool a_turned_, b_turned_;
  Clamp clamp_;
  typename B::Gemm gemm_;
  typename B::Copies copy_;
};

template <class B>
struct MatMul {
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kDeviceRealTypes + kIntTypes).input(1, kDeviceRealTypes + kIntTypes);
  }
  explicit MatMul(const NodeView& n) : clamp_(B::clamp_of(n)) {
    const auto last = [](const ValueView& v, int back) {
      return v.has_rank() && v.rank() >= back ? v.dim(v.rank() - back)
             : v.has_rank()                   ? int64_t{1}
                                              : int64_t{-1};
    };
    const ValueView b = n.input(1);
    gemm_ = typename B::Gemm(n, n.input(0).dtype(), last(n.input(0), 2),
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
    out.lowest = clamp_.low;
    out.highest = clamp_.high;
    if (p.has_input(kBiasInput)) {
      require(p.input(kBiasInput).size() == columns, TENON_INTERNAL, "a bias of ", p.input(kBiasInput).size(),
              " elements for ", columns, " columns");
      out.beta = 1;
      s.bias_column = 1;
    }
    place_workspace(p, gemm_, 0, &out);
    return out;
  }
  void record(typename B::Recorder& ctx, const GemmArgs& args) const {
    gemm_.record(ctx, args, in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(kBiasInput)),
                 out(ctx.output(0)));
  }

  Clamp clamp_;
  typename B::Gemm gemm_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_GEMM_HPP_
