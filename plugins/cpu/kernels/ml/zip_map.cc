#include "kernels/ml/ml.h"

namespace tenon::cpu {
namespace {

// One map from label to score for each row.
class ZipMap {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, TypeList<float>()); }
  explicit ZipMap(const NodeView& n) : labels_(n, "classlabels_strings", "classlabels_int64s") {
    require(labels_.size() > 0, TENON_INVALID_ARGUMENT, "there are no class labels");
  }

  void prepare(PrepareContext& p) const {
    const Rows x = rows_of(p.input(0).dims());
    require(x.columns == labels_.size(), TENON_INVALID_ARGUMENT, x.columns, " columns for ", labels_.size(),
            " labels");
  }

  void run(const Context& ctx) const {
    const Rows x = rows_of(ctx.input(0).dims());
    const float* scores = ctx.input(0).data<float>();
    const Dims dims{x.columns};
    const ValueRef keys = make_keys(dims);  // shared by all maps
    std::vector<ValueRef> maps;
    for (int64_t row = 0; row < x.rows; ++row) {
      ctx.check_cancelled();
      void* values = nullptr;
      const ValueRef parts[] = {keys, make_tensor_value(TENON_FLOAT32, dims, &values)};
      std::copy_n(scores + row * x.columns, x.columns, static_cast<float*>(values));
      maps.push_back(make_value(TENON_KIND_MAP, TENON_FLOAT32, parts));
    }
    ctx.set_object(0, make_value(TENON_KIND_SEQUENCE, TENON_FLOAT32, maps));
  }

 private:
  ValueRef make_keys(const Dims& dims) const {
    if (labels_.are_strings()) {
      StringBuilder strings;
      for (const std::string& label : labels_.strings()) strings.add(label);
      return make_string_value(dims, strings);
    }
    void* keys = nullptr;
    ValueRef out = make_tensor_value(TENON_INT64, dims, &keys);
    std::copy(labels_.ints().begin(), labels_.ints().end(), static_cast<int64_t*>(keys));
    return out;
  }

  ClassLabels labels_;
};
TENON_KERNEL(ZipMap, .domain = "ai.onnx.ml", .op_type = "ZipMap", .contract = "X: rank 1..2")

}  // namespace
}  // namespace tenon::cpu
