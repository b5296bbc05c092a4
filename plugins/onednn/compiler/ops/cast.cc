// Converts int32, int64 and bool to float32, mostly masks and counts from outside.
#include <type_traits>

#include "compiler/builder.h"
#include "openmp/parallel.h"

namespace tenon::onednn {
namespace {

constexpr int64_t kGrain = 16384;
constexpr TypeList<int32_t, int64_t, bool> kOtherTypes;

template <class T>
void convert(const void* from, void* to, int64_t begin, int64_t end) {
  // A bool can be any byte.
  const auto* x = static_cast<const std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>*>(from);
  auto* y = static_cast<float*>(to);
  for (int64_t i = begin; i < end; ++i)
    y[i] = std::is_same_v<T, bool> ? (x[i] != 0 ? 1.0f : 0.0f) : static_cast<float>(x[i]);
}

/// A cast to the same type, frequent in function bodies, costs nothing.
class Cast : public Operation {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kFloat32 + kOtherTypes).output(0, kFloat32).rank(0, 0, 12);
  }
  explicit Cast(const NodeView& n) {
    if (n.input(0).dtype() == TENON_FLOAT32) return;
    convert_ = ep::select<Convert>(kOtherTypes, n.input(0).dtype(),
                                   []<class T>() -> Convert { return &convert<T>; });
  }
  Dims shape(const Builder& b, const Node& node, size_t) const override { return b.dims(node.inputs[0]); }
  void build(Builder& b, const Node& node) const override {
    if (convert_ == nullptr) return b.define(node.outputs[0], b.kept(node.inputs[0]));
    const Tensor x = b.plain(node.inputs[0]);
    const Tensor y = b.create(node.outputs[0], Layout::plain(Type::kFloat32, b.dims(node.outputs[0])));
    b.local({x, y}, [n = y.layout.elements(), convert = convert_](std::span<void* const> addresses) {
      parallel(n, kGrain,
               [&](int64_t begin, int64_t end) { convert(addresses[0], addresses[1], begin, end); });
    });
  }
  double bound(const Builder& b, const Node& node) const override {
    return convert_ == nullptr ? b.bound(node.inputs[0]) : 0x1p63;
  }

 private:
  using Convert = void (*)(const void*, void*, int64_t, int64_t);
  Convert convert_ = nullptr;
};
ONEDNN_OPERATOR(Cast, .op_type = "Cast", .since = 6, .contract = "input: any")
ONEDNN_OPERATOR(Cast, .op_type = "CastLike", .contract = "input: any; target_type: any")

}  // namespace
}  // namespace tenon::onednn
