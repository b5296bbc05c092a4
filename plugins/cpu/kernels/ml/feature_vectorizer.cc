#include "kernels/ml/ml.h"

namespace tenon::cpu {
namespace {

// Concatenates the columns of the inputs, each cut or zero-padded to its width in `inputdimensions`.
class FeatureVectorizer {
 public:
  static constexpr int64_t kMostColumns = int64_t{1} << 40;
  static Support supports(const NodeView& n) { return Check(n).inputs(0, kMlNumbers); }
  explicit FeatureVectorizer(const NodeView& n) : widths_(n.attr_ints("inputdimensions")) {
    require(widths_.empty() || static_cast<int>(widths_.size()) == n.input_count(), TENON_INVALID_ARGUMENT,
            widths_.size(), " inputdimensions for ", n.input_count(), " inputs");
    for (const int64_t width : widths_)
      require(width >= 0 && width < kMostColumns, TENON_INVALID_ARGUMENT, "inputdimensions contains ", width,
              ", which is out of range");
  }

  void prepare(PrepareContext& p) const {
    const int64_t rows = rows_of(p.input(0).dims()).rows;
    int64_t columns = 0;
    for (int i = 0; i < p.input_count(); ++i) {
      const Rows x = rows_of(p.input(i).dims());
      require(x.rows == rows, TENON_INVALID_ARGUMENT, "input ", i, " has ", x.rows, " rows, input 0 has ",
              rows);
      columns += width(i, x);
      require(columns < kMostColumns, TENON_RESOURCE_EXHAUSTED, "the inputs have ", columns, " columns");
    }
    p.set_output(0, Dims{rows, columns});
  }

  void run(const Context& ctx) const {
    const OutputTensor out = ctx.output(0);
    if (out.size() == 0) return;
    const int64_t columns = out.dim(1);
    CancelPoint point(ctx);
    int64_t at = 0;
    for (int i = 0; i < ctx.input_count(); ++i) {
      const Rows x = rows_of(ctx.input(i).dims());
      const int64_t wide = width(i, x), given = std::min(wide, x.columns);
      dispatch(kMlNumbers, ctx.input(i).dtype(), [&]<class T>() {
        const T* in = ctx.input(i).data<T>();
        for (int64_t r = 0; r < x.rows; ++r) {
          point.pass(wide + 1);
          float* to = out.data<float>() + r * columns + at;
          for (int64_t c = 0; c < given; ++c) to[c] = static_cast<float>(in[r * x.columns + c]);
          std::fill(to + given, to + wide, 0.0f);
        }
      });
      at += wide;
    }
  }

 private:
  int64_t width(int i, const Rows& x) const {
    return widths_.empty() ? x.columns : widths_[static_cast<size_t>(i)];
  }
  std::vector<int64_t> widths_;
};
TENON_KERNEL(FeatureVectorizer, .domain = "ai.onnx.ml", .op_type = "FeatureVectorizer",
             .contract = "X: rank 1..2; Y...: rank 1..2")

}  // namespace
}  // namespace tenon::cpu
