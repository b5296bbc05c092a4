#include "kernels/common/shape.h"

namespace tenon::cpu {
namespace {

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

bool overlaps(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top),
              width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  const float both = height * width, either = a.area() + b.area() - both;
  return either > 0 && both / either > threshold;
}

// Boxes [N, B, 4], scores [N, C, B]. Output rows are (image, class, box), best first within each class.
class NonMaxSuppression {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, TypeList<float>())
        .input(1, TypeList<float>())
        .input(2, TypeList<int64_t>())
        .input(3, TypeList<float>())
        .input(4, TypeList<float>());
  }
  explicit NonMaxSuppression(const NodeView& n) : center_(n.attr_i("center_point_box", 0) != 0) {}

  void prepare(PrepareContext& p) const { p.set_at_run(0); }

  void run(const Context& ctx) const {
    const DimsView scores = ctx.input(1).dims();
    const Limits limits = read_limits(ctx);
    if (ctx.input(1).size() == 0) {
      ctx.alloc_output(0, Dims{0, 3});
      return;
    }
    std::vector<std::vector<int64_t>> picked(static_cast<size_t>(scores[0] * scores[1]));
    ctx.parallel_for(scores[0] * scores[1], 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        picked[static_cast<size_t>(i)] = pick(ctx, i / scores[1], i, limits);
    });
    int64_t total = 0;
    for (const auto& boxes : picked) total += static_cast<int64_t>(boxes.size());
    auto* out = ctx.alloc_output(0, Dims{total, 3}).data<int64_t>();
    for (size_t i = 0; i < picked.size(); ++i)
      for (const int64_t box : picked[i]) {
        *out++ = static_cast<int64_t>(i) / scores[1];
        *out++ = static_cast<int64_t>(i) % scores[1];
        *out++ = box;
      }
  }

 private:
  struct Limits {
    int64_t most = 0;  // boxes per class
    float overlap = 0, score = 0;
    bool has_score = false;
  };
  static Limits read_limits(const Context& ctx) {
    Limits out;
    if (ctx.has_input(2)) out.most = std::max<int64_t>(0, *ctx.input(2).data<int64_t>());
    if (ctx.has_input(3)) out.overlap = *ctx.input(3).data<float>();
    out.has_score = ctx.has_input(4);
    if (out.has_score) out.score = *ctx.input(4).data<float>();
    require(out.overlap >= 0 && out.overlap <= 1, TENON_INVALID_ARGUMENT, "iou_threshold is ", out.overlap);
    return out;
  }

  Box box_at(const float* box) const {
    if (center_) {
      const float w = box[2] / 2, h = box[3] / 2;
      return {box[1] - h, box[0] - w, box[1] + h, box[0] + w};
    }
    return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]),
            std::max(box[1], box[3])};
  }

  /// Picks the boxes of one image and class; `row` is the row of the scores.
  std::vector<int64_t> pick(const Context& ctx, int64_t image, int64_t row, const Limits& limits) const {
    const int64_t n = ctx.input(0).dim(1);
    const float* boxes = ctx.input(0).data<float>() + image * n * 4;
    const float* scores = ctx.input(1).data<float>() + row * n;
    std::vector<int64_t> order, out;
    for (int64_t i = 0; i < n; ++i)
      if (limits.has_score ? scores[i] > limits.score : scores[i] == scores[i]) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
    std::vector<Box> kept;
    CancelPoint point(ctx);
    for (const int64_t i : order) {
      point.pass(static_cast<int64_t>(kept.size()) + 1);
      if (static_cast<int64_t>(out.size()) >= limits.most) break;
      const Box box = box_at(boxes + i * 4);
      if (std::any_of(kept.begin(), kept.end(),
                      [&](const Box& k) { return overlaps(k, box, limits.overlap); }))
        continue;
      kept.push_back(box);
      out.push_back(i);
    }
    return out;
  }

  bool center_;
};
TENON_KERNEL(NonMaxSuppression, .op_type = "NonMaxSuppression", .since = 10,
             .contract =
                 "boxes: [N, B, 4]; scores: [N, C, B]; max_output_boxes_per_class?: one; iou_threshold?: "
                 "one; score_threshold?: one")

}  // namespace
}  // namespace tenon::cpu
