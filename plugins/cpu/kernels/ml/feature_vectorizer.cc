#include "kernels/ml/ml.h"

namespace tenon::cpu {
namespace {

// Inputs side by side, each cut or filled with zeros to the width that `inputdimensions` gives it.
class FeatureVectorizer {
 public:
  static Support supports(const NodeView& n) { return Check(n).needs_input(0).inputs(0, kMlNumbers); }
  explicit FeatureVectorizer(const NodeView& n) : widths_(n.attr_ints("inputdimensions")) {
    require(widths_.empty() || static_cast<int>(widths_.size()) == n.input_count(), TENON_INVALID_ARGUMENT,
            widths_.size(), " inputdimensions for ", n.input_count(), " inputs");
  }

  void prepare(PrepareContext& p) const {
    const int64_t rows = rows_of(p.input(0).dims()).rows;
    int64_t columns = 0;
    for (int i = 0; i < p.input_count(); ++i) {
      const Rows x = rows_of(p.input(i).dims());
      require(x.rows == rows, TENON_INVALID_ARGUMENT, "input ", i, " has ", x.rows, " rows, input 0 has ",
              rows);
      columns += width(i, x);
    }
    p.set_output(0, Dims{rows, columns});
  }

  void run(const Context& ctx) const {
    const OutputTensor out = ctx.output(0);
    const int64_t columns = out.dim(1);
    int64_t at = 0;
    for (int i = 0; i < ctx.input_count(); ++i) {
      const Rows x = rows_of(ctx.input(i).dims());
      const int64_t wide = width(i, x), given = std::min(wide, x.columns);
      dispatch(kMlNumbers, ctx.input(i).dtype(), [&]<class T>() {
        const T* in = ctx.input(i).data<T>();
        for (int64_t r = 0; r < x.rows; ++r) {
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
    return widths_.empty() ? x.columns : std::max<int64_t>(0, widths_[static_cast<size_t>(i)]);
  }
  std::vector<int64_t> widths_;
};
TENON_KERNEL(FeatureVectorizer, .domain = "ai.onnx.ml", .op_type = "FeatureVectorizer")

}  // namespace
}  // namespace tenon::cpu
