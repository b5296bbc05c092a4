// Gemm of bytes. The host lowers the forms that are refused here.
#include "kernels/common/broadcast.h"
#include "kernels/common/integer_product.h"
#include "kernels/common/quantize.h"

namespace tenon::cpu {
namespace {

/// Where the elements of C are, which is broadcast to the product.
struct Addend {
  int64_t row_step = 0, column_step = 0;
};

struct QGemmState {
  MatMulShape product;
  Addend c;
};

// Inputs: A, a_scale, a_zero_point, B, b_scale, b_zero_point, C? (int32, in units of alpha * a_scale * b_scale), y_scale?,
// y_zero_point?. The result is quantised where y_scale and y_zero_point are given, and float otherwise.
class QGemm {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kByteTypes)
        .input(1, TypeList<float>())
        .input(3, kByteTypes)
        .input(4, TypeList<float>())
        .input(6, TypeList<int32_t>())
        .input(7, TypeList<float>())
        .output(0, kByteTypes + TypeList<float>())
        .that(n.has_input(2) && n.input(2).dtype() == n.input(0).dtype(), TENON_REJECT_TYPE,
              "the zero point of A has another type than A")
        .that(n.has_input(5) && n.input(5).dtype() == n.input(3).dtype(), TENON_REJECT_TYPE,
              "the zero point of B has another type than B")
        .that(n.has_input(7) == n.has_input(8), TENON_REJECT_OTHER,
              "y_scale and y_zero_point belong together")
        .that(n.output(0).dtype() == (n.has_input(8) ? n.input(8).dtype() : uint32_t{TENON_FLOAT32}),
              TENON_REJECT_TYPE, "the output has another type than y_zero_point");
  }
  explicit QGemm(const NodeView& n)
      : alpha_(n.attr_f("alpha", 1.0f)),
        a_transposed_(n.attr_i("transA", 0) != 0),
        b_transposed_(n.attr_i("transB", 0) != 0),
        weights_(n, 3, b_transposed_) {}

  using State = QGemmState;
  State prepare(PrepareContext& p) const {
    const DimsView a = p.input(0).dims(), b = p.input(3).dims();
    State s;
    s.product.m = a[a_transposed_ ? 1 : 0];
    s.product.k = a[a_transposed_ ? 0 : 1];
    s.product.n = b[b_transposed_ ? 0 : 1];
    require(b[b_transposed_ ? 1 : 0] == s.product.k, TENON_INVALID_ARGUMENT, "shapes ", a, " and ", b,
            " do not multiply");
    for (const int i : {4, 5}) check_lines(p, i, s.product.n, b);
    s.product.dims = {s.product.m, s.product.n};
    s.product.left = {0}, s.product.right = {0};
    if (p.has_input(6)) s.c = addend(p.input(6).dims(), s.product.dims);
    p.set_output(0, s.product.dims);
    return s;
  }

  void run(const Context& ctx, const State& state) const {
    const MatMulShape& s = state.product;
    const OutputTensor y = ctx.output(0);
    if (y.size() == 0) return;
    tenon_tensor turned = *ctx.input(0).raw();
    if (a_transposed_) turned.data = turn(ctx, s);
    PackedFactors packed;
    const PackedFactors* right = weights_.get();
    if (right == nullptr) {
      packed = pack_factors(ctx, ctx.input(3), s.k, s.n, b_transposed_);
      right = &packed;
    }
    const IntegerProducts products(ctx, s, TensorView(&turned), ctx.input(2), ctx.input(3), ctx.input(5),
                                   right);
    const std::span<float> scales = scales_of(ctx, s.n);
    const int32_t* const c = ctx.has_input(6) ? ctx.input(6).data<int32_t>() : nullptr;
    const Rounding to =
        ctx.has_input(8) ? rounding_of(y.dtype(), as_floats(ctx, ctx.input(8))[0]) : Rounding{};
    products.run([&](const ProductPart& part, const int32_t* sums) {
      int32_t with_c[isa::kTileColumns];
      if (c != nullptr) {
        const int32_t* const from = c + part.row * state.c.row_step + part.column * state.c.column_step;
        for (int64_t j = 0; j < part.count; ++j)
          with_c[j] = wrapping_add(sums[j], from[j * state.c.column_step]);
        sums = with_c;
      }
      const float* const scale = scales.data() + part.column;
      const int64_t at = part.row * s.n + part.column;
      if (ctx.has_input(8))
        isa_integer().requantize_f32(sums, 0, 1, part.constants, part.count, scale, to,
                                     static_cast<uint8_t*>(y.bytes()) + at, 0);
      else
        isa_integer().to_float(sums, part.constants, part.count, scale, nullptr, y.data<float>() + at);
    });
  }

 private:
  static Addend addend(DimsView c, DimsView y) {
    const Dims both = broadcast_dims(y, c);
    require(std::equal(both.begin(), both.end(), y.begin(), y.end()), TENON_INVALID_ARGUMENT,
            "input C has shape ", c, " but the product ", y);
    Addend out;
    if (!c.empty() && c.back() != 1) out.column_step = 1;
    if (c.size() == 2 && c[0] != 1) out.row_step = c[1];
    return out;
  }

  /// The rows of A where it holds columns.
  static void* turn(const Context& ctx, const MatMulShape& s) {
    auto* const to = ctx.scratch<uint8_t>(std::max<int64_t>(1, s.m * s.k));
    const auto* const from = ctx.input(0).data<uint8_t>();
    const int64_t grain = std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, s.k));
    ctx.parallel_for(s.m, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t p = 0; p < s.k; ++p) to[i * s.k + p] = from[p * s.m + i];
      }
    });
    return to;
  }

  /// What the sums of each column are multiplied with.
  std::span<float> scales_of(const Context& ctx, int64_t n) const {
    const float a_scale = ctx.input(1).data<float>()[0] * alpha_;
    const TensorView b_scale = ctx.input(4);
    const float y_scale = ctx.has_input(7) ? ctx.input(7).data<float>()[0] : 1.0f;
    const std::span<float> scales = scratch_list<float>(ctx, n);
    for (size_t j = 0; j < scales.size(); ++j)
      scales[j] = a_scale * b_scale.data<float>()[b_scale.size() == 1 ? 0 : j] / y_scale;
    return scales;
  }

  float alpha_;
  bool a_transposed_, b_transposed_;
  ConstantFactors weights_;
};

TENON_KERNEL(QGemm, .domain = "com.microsoft", .op_type = "QGemm",
             .contract =
                 "A: rank 2; a_scale: one; a_zero_point: one; B: rank 2; b_scale: one | rank 1; "
                 "b_zero_point: one | rank 1; C?: rank 0..2; y_scale?: one; y_zero_point?: one")

}  // namespace
}  // namespace tenon::cpu
