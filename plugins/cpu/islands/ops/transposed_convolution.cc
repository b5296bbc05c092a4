// ConvTranspose whose kernel is as large as its strides, as networks enlarge images: each pixel of the input gives pixels of its own,
// a block, in the output. A line of the input and a line of the kernel are then one product, whose rows lie side by side in the output.
#include "islands/product.h"
#include "kernels/common/checked.h"

namespace tenon::cpu::islands {
namespace {

class ConvTranspose : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    ranked(check, n, 0, 3, 4)
        .that(n.input(1).is_constant() && n.input(1).has_rank() && ep::element_count(n.input(1).dims()) != 0,
              TENON_REJECT_OTHER, "the weights are not constant, or empty")
        .that(!n.has_input(2) || n.input(2).is_constant(), TENON_REJECT_OTHER, "the bias is not constant");
    if (!check.ok()) return check;
    const DimsView w = n.input(1).dims();
    const Dims kernel(w.begin() + std::min<ptrdiff_t>(2, std::ssize(w)), w.end());
    const std::string auto_pad = n.attr_s("auto_pad", "NOTSET");
    return check
        .that(n.attr_i("group", 1) == 1 && all(n, "dilations", 1) && all(n, "pads", 0) &&
                  all(n, "output_padding", 0) && n.attr_ints("output_shape").empty() &&
                  (auto_pad == "NOTSET" || auto_pad == "VALID"),
              TENON_REJECT_ATTRIBUTE, "it has groups, dilations, pads or another shape of the output")
        .that(n.attr_ints("strides") == kernel ||
                  (n.attr_ints("strides").empty() && kernel == Dims(kernel.size(), 1)),
              TENON_REJECT_ATTRIBUTE, "the strides are not those of the kernel");
  }
  explicit ConvTranspose(const NodeView&) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &w = b.dims(node.inputs[1]);
    require(x.size() == w.size(), TENON_INVALID_ARGUMENT, "X has ", x.size(), " axes, and W has ", w.size());
    require(x[1] == w[0], TENON_INVALID_ARGUMENT, "X has ", x[1], " channels, and W is for ", w[0]);
    Dims out{x[0], w[1]};
    for (size_t i = 2; i < x.size(); ++i) out.push_back(checked_mul(x[i], w[i], "an axis of the output"));
    return out;
  }

  void pack(Program& program, const Node& node) override {
    const ep::TensorView w = program.constant(node.inputs[1]);
    channels_ = w.dim(0), filters_ = w.dim(1), columns_ = w.dim(w.rank() - 1);
    rows_ = w.rank() == 4 ? w.dim(2) : 1;
    const int64_t n = columns_ * filters_, size = isa_compute().packed_size(channels_, n);
    auto packed = std::make_shared<Packed>(rows_ * size);
    float* const line = program.scratch(channels_ * n);
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < channels_; ++c)
        transpose(w.data<float>() + (c * filters_ * rows_ + r) * columns_, rows_ * columns_, filters_,
                  columns_, line + c * n, filters_);
      isa_compute().pack({line, channels_, n, n, 1}, packed->data() + r * size);
    }
    weights_ = shared(std::move(packed));
    if (node.inputs.size() <= 2 || node.inputs[2] == kNone) return;
    const float* const bias = program.constant(node.inputs[2]).data<float>();
    std::vector<float> repeated;
    for (int64_t i = 0; i < columns_; ++i) repeated.insert(repeated.end(), bias, bias + filters_);
    bias_ = padded(repeated.data(), n, padded_columns(n));
  }
  bool packs(const Program&, const Node& node, uint32_t value) const override {
    return value != node.inputs[0] && weights_ != nullptr;
  }

  void build(Builder& b, const Node& node) const override {
    require(weights_ != nullptr, TENON_INTERNAL, "the weights were not packed");
    const Tensor x = b.tensor(node.inputs[0], Form::kLast), y = b.create(node.outputs[0], Form::kLast);
    isa::Product p;
    p.lda = x.ld, p.k = channels_, p.n = p.ldc = columns_ * filters_;
    const int64_t width = x.dims.back(), lines = x.dims[0] * (x.dims.size() == 4 ? x.dims[2] : 1);
    const int64_t size = isa_compute().packed_size(p.k, p.n), panels = isa_compute().panels(p.n);
    const int64_t cost = rows_ * width * p.k * p.n / 16;
    b.add({x, y}, [=, rows = rows_, weights = weights_, bias = bias_](const Run& run) {
      each_piece(run, lines, cost, [&](int64_t begin, int64_t end) {
        isa::Product now = p;
        now.bias = bias == nullptr ? nullptr : bias->data();
        // A panel of weights stays in a cache while all lines pass.
        for (int64_t r = 0; r < rows; ++r) {
          now.b = weights->data() + r * size;
          for (int64_t panel = 0; panel < panels; ++panel) {
            run.ctx.check_cancelled();
            for (int64_t line = begin; line < end; ++line) {
              now.a = run.at(x) + line * width * x.ld;
              now.c = run.at(y) + (line * rows + r) * width * p.ldc;
              isa_compute().product(now, 0, width, panel, panel + 1);
            }
          }
        }
      });
    });
  }

 private:
  static bool all(const NodeView& n, const char* attribute, int64_t value) {
    const Dims ints = n.attr_ints(attribute);
    return std::all_of(ints.begin(), ints.end(), [&](int64_t i) { return i == value; });
  }

  int64_t channels_ = 0, filters_ = 0, rows_ = 1, columns_ = 1;  // of the kernel
  std::shared_ptr<const Packed> weights_;                        // per line of the kernel
  std::shared_ptr<const Packed> bias_;
};
CPU_ISLAND_OPERATOR(ConvTranspose, .op_type = "ConvTranspose", .gains = true)

}  // namespace
}  // namespace tenon::cpu::islands
