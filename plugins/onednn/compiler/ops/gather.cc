// Takes rows by index, as for word embeddings. The library has no primitive for it.
#include <algorithm>
#include <cstring>

#include "compiler/builder.h"
#include "openmp/parallel.h"

namespace tenon::onednn {
namespace {

constexpr int64_t kGrainBytes = 65536;

/// `outer` times `axis` rows of `row` bytes; `count` rows are taken from each of the `outer` groups.
struct Rows {
  int64_t outer = 1, axis = 1, row = sizeof(float), count = 0;
  std::string place;  // for messages
};

template <class Index>
void take(const Rows& rows, std::span<void* const> addresses) {
  const auto* from = static_cast<const char*>(addresses[0]);
  const auto* indices = static_cast<const Index*>(addresses[1]);
  auto* to = static_cast<char*>(addresses[2]);
  for (int64_t i = 0; i < rows.count; ++i) {
    if (indices[i] < -rows.axis || indices[i] >= rows.axis) {
      throw ep::Error{
          TENON_OUT_OF_RANGE,
          ep::cat("index ", indices[i], " is out of range for an axis of ", rows.axis, " elements"), 0,
          rows.place};
    }
  }
  if (rows.outer * rows.row == 0) return;  // nothing to move
  parallel(rows.outer * rows.count, std::max<int64_t>(1, kGrainBytes / rows.row),
           [&](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) {
               const int64_t index = indices[i % rows.count];
               const int64_t at = i / rows.count * rows.axis + (index < 0 ? index + rows.axis : index);
               std::memcpy(to + i * rows.row, from + at * rows.row, static_cast<size_t>(rows.row));
             }
           });
}

class Gather : public Operation {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kFloat32).rank(0, 1, 12).input(1, ep::kIndexTypes).rank(1, 0, 12);
  }
  explicit Gather(const NodeView& n)
      : axis_(n.attr_i("axis", 0)),
        take_(n.input(1).dtype() == TENON_INT32 ? &take<int32_t> : &take<int64_t>) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &indices = b.dims(node.inputs[1]);
    const auto axis = static_cast<ptrdiff_t>(axis_of(axis_, x.size()));
    Dims out(x.begin(), x.begin() + axis);
    out.insert(out.end(), indices.begin(), indices.end());
    out.insert(out.end(), x.begin() + axis + 1, x.end());
    return out;
  }
  void build(Builder& b, const Node& node) const override {
    const Tensor x = b.plain(node.inputs[0]), indices = b.plain(node.inputs[1]);
    const Dims& dims = b.dims(node.inputs[0]);
    const size_t axis = axis_of(axis_, dims.size());
    Rows rows;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (i < axis) rows.outer *= dims[i];
      if (i > axis) rows.row *= dims[i];
    }
    rows.axis = dims[axis];
    rows.count = ep::element_count(b.dims(node.inputs[1]));
    rows.place = node.place;
    const Tensor y = b.create(node.outputs[0], Layout::plain(Type::kFloat32, b.dims(node.outputs[0])));
    b.local({x, indices, y}, [rows = std::move(rows), take = take_](std::span<void* const> addresses) {
      take(rows, addresses);
    });
  }
  double bound(const Builder& b, const Node& node) const override { return b.bound(node.inputs[0]); }
  bool checks_inputs() const override { return true; }

 private:
  int64_t axis_;
  void (*take_)(const Rows&, std::span<void* const>);
};
ONEDNN_OPERATOR(Gather, .op_type = "Gather", .contract = "data: rank 1..; indices: any @index",
                .work = Work::kRows)

}  // namespace
}  // namespace tenon::onednn
