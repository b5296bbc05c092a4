// Softmax and LogSoftmax.
#include <cmath>
#include <limits>

#include "compiler/builder.h"
#include "openmp/parallel.h"

namespace tenon::onednn {
namespace {

/// Before version 13, it works over all axes from `axis` on as one.
class SoftmaxOperation : public Operation {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloat32).rank(0, 1, 12); }
  SoftmaxOperation(const NodeView& n, bool logarithm)
      : axis_(n.attr_i("axis", n.since_version() < 13 ? 1 : -1)),
        flat_(n.since_version() < 13),
        log_(logarithm) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& x = b.dims(node.inputs[0]);
    axis_of(axis_, x.size());
    return x;
  }
  void build(Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.inputs[0]);
    const size_t axis = axis_of(axis_, dims.size());
    Tensor x;
    const bool tame = b.is_tame(node.inputs[0]);
    if (!tame) x = b.plain(node.inputs[0]);
    int over = static_cast<int>(axis);
    if (flat_ || axis == dims.size() - 1) {  // rows
      const int64_t count = ep::element_count(DimsView(dims).first(axis));
      x = b.reshaped(b.plain(node.inputs[0]),
                     Dims{count, ep::element_count(dims) / std::max<int64_t>(count, 1)});
      over = 1;
    }
    const auto make = [&](const Layout& layout) { return make_softmax(b.engine(), layout, over, log_); };
    const bool is_plain = static_cast<bool>(x.layout);
    const Primitive primitive = is_plain ? make(x.layout) : b.suit(b.tensor(node.inputs[0]), make, &x);
    const Tensor y = b.create(node.outputs[0], is_plain ? Layout::plain(Type::kFloat32, dims) : x.layout);
    b.call(primitive, {{kSource, x}, {kDestination, y}});
    if (!tame) keep_nan(b, y, x.layout.dims(), over);
  }
  double bound(const Builder& b, const Node& node) const override {
    const double n = static_cast<double>(ep::element_count(b.dims(node.inputs[0])));
    return log_ ? 2 * b.bound(node.inputs[0]) + std::log(n + 1) : 1;
  }

 private:
  /// If a result in a row is NaN, makes the whole row NaN: NaN and infinity affect all results of a row.
  static void keep_nan(Builder& b, const Tensor& y, const Dims& dims, int over) {
    int64_t outer = 1, inner = 1;
    const auto axis = static_cast<size_t>(over);
    for (size_t i = 0; i < axis; ++i) outer *= dims[i];
    for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
    const int64_t n = dims[axis];
    b.local({y}, [outer, n, inner](std::span<void* const> addresses) {
      auto* rows = static_cast<float*>(addresses[0]);
      parallel(outer, std::max<int64_t>(16384 / (n * inner), 1), [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) {
          float* block = rows + o * n * inner;
          if (!has_nan(block, n * inner)) continue;
          for (int64_t i = 0; i < inner; ++i) spread_nan(block + i, n, inner);
        }
      });
    });
  }
  static bool has_nan(const float* x, int64_t n) {
    int found = 0;
    for (int64_t i = 0; i < n; ++i) found |= x[i] != x[i] ? 1 : 0;
    return found != 0;
  }
  static void spread_nan(float* x, int64_t n, int64_t stride) {
    bool found = false;
    for (int64_t i = 0; i < n; ++i) found = found || x[i * stride] != x[i * stride];
    for (int64_t i = 0; found && i < n; ++i) x[i * stride] = std::numeric_limits<float>::quiet_NaN();
  }

  int64_t axis_;
  bool flat_, log_;
};

struct Softmax : SoftmaxOperation {
  explicit Softmax(const NodeView& n) : SoftmaxOperation(n, false) {}
};
struct LogSoftmax : SoftmaxOperation {
  explicit LogSoftmax(const NodeView& n) : SoftmaxOperation(n, true) {}
};
ONEDNN_OPERATOR(Softmax, .op_type = "Softmax", .contract = "input: rank 1..", .work = Work::kRows)
ONEDNN_OPERATOR(LogSoftmax, .op_type = "LogSoftmax", .contract = "input: rank 1..", .work = Work::kRows)

}  // namespace
}  // namespace tenon::onednn
