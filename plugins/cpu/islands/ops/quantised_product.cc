// Products of quantised tensors with constant weights: QLinearConv, QLinearMatMul and com.microsoft's QGemm.
#include "islands/quantised.h"
#include "islands/window.h"

namespace tenon::cpu::islands {
namespace {

/// Sums of products of bytes fit into 32 bits up to this length.
constexpr int64_t kMostTerms = std::numeric_limits<int32_t>::max() / (255 * 255);

/// The weights at input `w` and the scale and zero point after them.
Check& check_weights(Check& check, const NodeView& n, int w) {
  check.input(w, kByteTypes);
  for (int i = w; i < w + 3; ++i) {
    if (i == w + 2 && !n.has_input(i)) continue;
    check.that(n.input(i).is_constant() && ep::element_count(n.input(i).dims()) != 0, TENON_REJECT_OTHER,
               "input ", i, " is not constant, or empty");
  }
  return check.input(w + 1, kFloat32);
}

std::optional<ep::TensorView> optional_constant(Program& program, const Node& node, size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kNone) return std::nullopt;
  return program.constant(node.inputs[input]);
}

/// x_scale * w_scale[column] / y_scale in float32, as ONNX multiplies scales.
std::vector<double> factors_f32(float x_scale, std::span<const float> w_scale, float y_scale,
                                int64_t columns) {
  std::vector<double> out;
  for (int64_t j = 0; j < columns; ++j) {
    const float w = w_scale[w_scale.size() == 1 ? 0 : static_cast<size_t>(j)];
    out.push_back(double{x_scale * w / y_scale});
  }
  return out;
}

// Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B?
class QLinearConv : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    ranked(check, n, 0, 3, 4).input(0, kByteTypes).output(0, kByteTypes);
    if (check.ok()) check_scaling(check_scaling(check, n, 1), n, 6);
    if (check.ok()) check_weights(check, n, 3);
    return check.that(!n.has_input(8) || n.input(8).is_constant(), TENON_REJECT_OTHER,
                      "the bias is not constant");
  }
  explicit QLinearConv(const NodeView& n)
      : window_(n),
        groups_(n.attr_i("group", 1)),
        x_(scaling_of(n, 1, n.input(0).dtype())),
        y_(scaling_of(n, 6, n.output(0).dtype())) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &w = b.dims(node.inputs[3]);
    require(x.size() == w.size(), TENON_INVALID_ARGUMENT, "x has ", x.size(), " axes, and w has ", w.size());
    require(groups_ > 0 && w[0] % groups_ == 0, TENON_INVALID_ARGUMENT, w[0], " output channels in ", groups_,
            " groups");
    return window_output(x[0], w[0], window_.resolve(DimsView(x).subspan(2), DimsView(w).subspan(2)));
  }
  void pack(Program& program, const Node& node) override {
    const ep::TensorView w = program.constant(node.inputs[3]);
    if (groups_ <= 0 || w.dim(0) % groups_ != 0) return;  // shape() tells it
    ByteLayout l;
    l.groups = groups_, l.n = w.dim(0) / groups_, l.k = w.dim(1);
    l.taps = ep::element_count(w.dims().subspan(2));
    l.tap = 1, l.row = l.taps, l.column = l.taps * l.k, l.group = l.column * l.n;
    const uint8_t* bytes = w.data<uint8_t>();
    std::vector<uint8_t> turned;
    if (joins_ = joins_lines(w.dims()); joins_) {
      turned.resize(static_cast<size_t>(w.size()));
      for (int64_t f = 0; f < l.n; ++f)
        isa_integer().transpose(bytes + f * l.column, l.taps, l.k, l.taps, 0, turned.data() + f * l.column,
                                l.k);
      bytes = turned.data();
      l.k *= w.dims().back(), l.taps /= w.dims().back();
      l.tap = l.k, l.row = 1;
    }
    const std::optional<ep::TensorView> bias = optional_constant(program, node, 8);
    weights_ = std::make_shared<ByteWeights>(
        l, bytes, w.dtype(), static_cast<int32_t>(x_.zero), optional_constant(program, node, 5),
        bias ? bias->data<int32_t>() : nullptr,
        factors_f32(x_.scale, program.constant(node.inputs[4]).span<float>(), y_.scale, w.dim(0)));
  }
  bool packs(const Program&, const Node& node, uint32_t value) const override {
    return value != node.inputs[0] && weights_ != nullptr;
  }
  void build(Builder& b, const Node& node) const override {
    require(weights_ != nullptr, TENON_INTERNAL, "the weights were not packed");
    const Window window = Window::of(window_, b.dims(node.inputs[0]), b.dims(node.inputs[3]));
    const Tensor x = b.tensor(node.inputs[0], Form::kLast);
    const int64_t images = x.dims[0];
    if (joins_) return build_joined(b, node, window, x);
    add_byte_product(b, x, images * window.positions(), places_of(b, window, images), weights_,
                     {ByteResult::Kind::kBytes, y_.zero}, node.outputs[0], Form::kLast);
  }

 private:
  /// Whether the taps of a kernel's line are taken as one. Few channels would fill the quads of bytes badly otherwise.
  bool joins_lines(DimsView w) const {
    const bool adjacent = window_.dilations.empty() || window_.dilations.back() == 1;
    return groups_ == 1 && w[1] < 2 * isa::kQuad && w[1] % isa::kQuad != 0 && w.back() > 1 && adjacent;
  }
  /// The lines of a kernel lie in a copy of the image with its padding.
  void build_joined(Builder& b, const Node& node, const Window& window, const Tensor& x) const {
    Window w = window;
    w.rows.in = (w.rows.out - 1) * w.rows.stride + w.rows.reach();
    w.columns.in = (w.columns.out - 1) * w.columns.stride + w.columns.kernel;
    w.rows.pad_begin = w.columns.pad_begin = 0, w.columns.kernel = 1;
    const int64_t images = x.dims[0];
    const Tensor copy =
        b.temporary({images, x.dims[1], w.rows.in, w.columns.in}, Form::kLast, Element::kByte);
    add_with_padding(b, x, window, copy);
    add_byte_product(b, copy, images * w.positions(), places_of(b, w, images), weights_,
                     {ByteResult::Kind::kBytes, y_.zero}, node.outputs[0], Form::kLast);
  }
  void add_with_padding(Builder& b, const Tensor& x, const Window& window, const Tensor& y) const {
    const int64_t channels = x.dims[1], lines = x.dims[0] * y.dims[2], height = y.dims[2], width = y.dims[3];
    // What no window reaches is left out.
    const int64_t inside = std::min(window.columns.in, width - window.columns.pad_begin);
    b.add({x, y}, [=, zero = static_cast<uint8_t>(x_.zero)](const Run& run) {
      each_piece(run, lines, width * channels / 16, [&](int64_t begin, int64_t end) {
        for (int64_t line = begin; line < end; ++line) {
          uint8_t* const to = run.bytes_at(y) + line * width * channels;
          std::fill_n(to, width * channels, zero);
          const int64_t row = line % height - window.rows.pad_begin;
          if (row < 0 || row >= window.rows.in) continue;
          const uint8_t* from =
              run.bytes_at(x) + (line / height * window.rows.in + row) * window.columns.in * x.ld;
          uint8_t* pixel = to + window.columns.pad_begin * channels;
          if (x.ld == channels) {
            std::copy_n(from, inside * channels, pixel);
            continue;
          }
          for (int64_t i = 0; i < inside; ++i, from += x.ld, pixel += channels)
            std::copy_n(from, channels, pixel);
        }
      });
    });
  }

  WindowAttributes window_;
  int64_t groups_;
  bool joins_ = false;
  Scaling x_, y_;
  std::shared_ptr<const ByteWeights> weights_;
};
CPU_ISLAND_OPERATOR(QLinearConv, .op_type = "QLinearConv", .bytes = true, .gains = true)

// Inputs: a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point
class QLinearMatMul : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    ranked(check, n, 0, 2).input(0, kByteTypes).output(0, kByteTypes);
    if (check.ok()) check_scaling(check_scaling(check, n, 1), n, 6);
    if (check.ok()) check_weights(check, n, 3).rank(3, 2, 2);
    return check.that(!check.ok() || n.input(3).dim(0) <= kMostTerms, TENON_REJECT_OTHER,
                      "sums do not fit into 32 bits");
  }
  explicit QLinearMatMul(const NodeView& n)
      : a_(scaling_of(n, 1, n.input(0).dtype())), y_(scaling_of(n, 6, n.output(0).dtype())) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    Dims out = b.dims(node.inputs[0]);
    const Dims& w = b.dims(node.inputs[3]);
    require(out.back() == w[0], TENON_INVALID_ARGUMENT, "the rows of a have ", out.back(),
            " elements, but the columns of b have ", w[0]);
    for (const size_t i : {size_t{4}, size_t{5}}) {
      const int64_t count = ep::element_count(b.dims(node.inputs[i]));
      require(count == 1 || count == w[1], TENON_INVALID_ARGUMENT, "input ", i, " has ", count,
              " elements for ", w[1], " columns");
    }
    out.back() = w[1];
    return out;
  }
  void pack(Program& program, const Node& node) override {
    const ep::TensorView w = program.constant(node.inputs[3]);
    const std::span<const float> w_scale = program.constant(node.inputs[4]).span<float>();
    const ep::TensorView w_zero = program.constant(node.inputs[5]);
    const auto fits = [&](int64_t count) { return count == 1 || count == w.dim(1); };
    if (!fits(static_cast<int64_t>(w_scale.size())) || !fits(w_zero.size())) return;  // shape() tells it
    ByteLayout l;
    l.k = w.dim(0), l.n = w.dim(1), l.row = l.n, l.column = 1;
    std::vector<double> factors;
    for (int64_t j = 0; j < l.n; ++j) {
      const float scale = w_scale[w_scale.size() == 1 ? 0 : static_cast<size_t>(j)];
      factors.push_back(double{a_.scale} * double{scale} / double{y_.scale});
    }
    weights_ = std::make_shared<ByteWeights>(l, w.data<uint8_t>(), w.dtype(), static_cast<int32_t>(a_.zero),
                                             w_zero, nullptr, std::move(factors));
  }
  bool packs(const Program&, const Node& node, uint32_t value) const override {
    return value != node.inputs[0] && weights_ != nullptr;
  }
  void build(Builder& b, const Node& node) const override {
    const Tensor a = b.tensor(node.inputs[0], Form::kPlain);
    add_byte_product(b, a, a.elements() / a.columns(), nullptr, weights_,
                     {ByteResult::Kind::kBytes64, y_.zero}, node.outputs[0], Form::kPlain);
  }

 private:
  Scaling a_, y_;
  std::shared_ptr<const ByteWeights> weights_;
};
CPU_ISLAND_OPERATOR(QLinearMatMul, .op_type = "QLinearMatMul", .bytes = true, .gains = true)

// Inputs: A, a_scale, a_zero_point, B, b_scale, b_zero_point, C?, y_scale?, y_zero_point?
class QGemm : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    ranked(check, n, 0, 2, 2).input(0, kByteTypes);
    if (check.ok()) check_scaling(check, n, 1);
    if (check.ok() && n.has_input(7)) check_scaling(check, n, 7);
    if (check.ok()) check_weights(check, n, 3).rank(3, 2, 2);
    return check.that(n.attr_i("transA", 0) == 0, TENON_REJECT_ATTRIBUTE, "A is transposed")
        .that(!check.ok() || !n.has_input(6) || is_row(n), TENON_REJECT_OTHER, "C is not a constant row");
  }
  explicit QGemm(const NodeView& n)
      : transposed_(n.attr_i("transB", 0) != 0),
        alpha_(n.attr_f("alpha", 1)),
        a_(scaling_of(n, 1, n.input(0).dtype())),
        quantises_(n.has_input(7)),
        y_(quantises_ ? scaling_of(n, 7, n.output(0).dtype()) : Scaling{1, 0}) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &w = b.dims(node.inputs[3]);
    const int64_t length = w[transposed_ ? 1 : 0], columns = w[transposed_ ? 0 : 1];
    require(x[1] == length, TENON_INVALID_ARGUMENT, "the rows of A have ", x[1],
            " elements, but the columns of B have ", length);
    for (const size_t i : {size_t{4}, size_t{5}}) {
      const int64_t count = ep::element_count(b.dims(node.inputs[i]));
      require(count == 1 || count == columns, TENON_INVALID_ARGUMENT, "input ", i, " has ", count,
              " elements for ", columns, " columns");
    }
    return {x[0], columns};
  }
  void pack(Program& program, const Node& node) override {
    const ep::TensorView w = program.constant(node.inputs[3]);
    const std::span<const float> w_scale = program.constant(node.inputs[4]).span<float>();
    const std::optional<ep::TensorView> w_zero = optional_constant(program, node, 5),
                                        c = optional_constant(program, node, 6);
    ByteLayout l;
    l.k = w.dim(transposed_ ? 1 : 0), l.n = w.dim(transposed_ ? 0 : 1);
    l.row = transposed_ ? 1 : l.n, l.column = transposed_ ? l.k : 1;
    const auto fits = [&](int64_t count) { return count == 1 || count == l.n; };
    if (!fits(static_cast<int64_t>(w_scale.size())) || !fits(w_zero ? w_zero->size() : 1))
      return;  // shape() tells
    std::vector<int32_t> row(static_cast<size_t>(l.n));
    for (size_t j = 0; c && j < row.size(); ++j) row[j] = c->data<int32_t>()[c->size() == 1 ? 0 : j];
    weights_ =
        std::make_shared<ByteWeights>(l, w.data<uint8_t>(), w.dtype(), static_cast<int32_t>(a_.zero), w_zero,
                                      row.data(), factors_f32(a_.scale * alpha_, w_scale, y_.scale, l.n));
  }
  bool packs(const Program&, const Node& node, uint32_t value) const override {
    return value != node.inputs[0] && weights_ != nullptr;
  }
  void build(Builder& b, const Node& node) const override {
    const Tensor a = b.tensor(node.inputs[0], Form::kPlain);
    const auto kind = quantises_ ? ByteResult::Kind::kBytes : ByteResult::Kind::kFloats;
    add_byte_product(b, a, a.dims[0], nullptr, weights_, {kind, y_.zero}, node.outputs[0], Form::kPlain);
  }

 private:
  /// C has one element, or one per column.
  static bool is_row(const NodeView& n) {
    if (!n.input(6).is_constant()) return false;
    const DimsView c = n.input(6).dims();
    const int64_t count = ep::element_count(c),
                  columns = n.input(3).dims()[n.attr_i("transB", 0) != 0 ? 0 : 1];
    return count == 1 || (!c.empty() && count == c.back() && count == columns);
  }
  bool transposed_;
  float alpha_;
  Scaling a_;
  bool quantises_;
  Scaling y_;
  std::shared_ptr<const ByteWeights> weights_;
};
CPU_ISLAND_OPERATOR(QGemm, .domain = "com.microsoft", .op_type = "QGemm", .bytes = true, .gains = true)

}  // namespace
}  // namespace tenon::cpu::islands
