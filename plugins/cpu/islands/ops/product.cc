// Gemm and MatMul with constant weights.
#include "islands/product.h"

namespace tenon::cpu::islands {
namespace {

class Gemm : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    return ranked(check, n, 0, 2, 2)
        .that(n.input(1).is_constant() && n.input(1).rank() == 2, TENON_REJECT_OTHER,
              "B is not a constant matrix")
        .that(n.attr_i("transA", 0) == 0, TENON_REJECT_ATTRIBUTE, "A is transposed")
        .that(!n.has_input(2) || is_row(n), TENON_REJECT_OTHER, "C is not a constant row");
  }
  explicit Gemm(const NodeView& n)
      : transposed_(n.attr_i("transB", 0) != 0), alpha_(n.attr_f("alpha", 1)), beta_(n.attr_f("beta", 1)) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &w = b.dims(node.inputs[1]);
    const int64_t length = w[transposed_ ? 1 : 0], columns = w[transposed_ ? 0 : 1];
    require(x[1] == length, TENON_INVALID_ARGUMENT, "the rows of A have ", x[1],
            " elements, but the columns of B have ", length);
    return {x[0], columns};
  }
  void pack(Program& program, const Node& node) override {
    const ep::TensorView w = program.constant(node.inputs[1]);
    k_ = w.dim(transposed_ ? 1 : 0), n_ = w.dim(transposed_ ? 0 : 1);
    std::shared_ptr<Packed> scaled;
    const float* b = w.data<float>();
    if (alpha_ != 1.0f) {
      scaled = std::make_shared<Packed>(k_ * n_);
      for (int64_t i = 0; i < k_ * n_; ++i) scaled->data()[i] = alpha_ * b[i];
      b = scaled->data();
    }
    auto packed = std::make_shared<Packed>(isa_compute().packed_size(k_, n_));
    isa_compute().pack({b, k_, n_, transposed_ ? 1 : n_, transposed_ ? k_ : 1}, packed->data());
    weights_ = shared(std::move(packed));
    if (node.inputs.size() <= 2 || node.inputs[2] == kNone) return;
    const ep::TensorView c = program.constant(node.inputs[2]);
    std::vector<float> row(static_cast<size_t>(n_));
    for (int64_t j = 0; j < n_; ++j)
      row[static_cast<size_t>(j)] = beta_ * c.data<float>()[c.size() == 1 ? 0 : j];
    bias_ = padded(row.data(), n_, padded_columns(n_));
  }
  bool packs(const Program&, const Node& node, uint32_t value) const override {
    return value != node.inputs[0] && weights_ != nullptr;
  }
  void build(Builder& b, const Node& node) const override {
    Factors f;
    f.x = b.dense(node.inputs[0], Form::kPlain);
    f.rows = f.x.dims[0], f.k = k_, f.n = n_;
    f.weights = weights_, f.bias = bias_;
    add_product(b, f, node.outputs[0], Form::kPlain);
  }

 private:
  /// C has one element, or one per column.
  static bool is_row(const NodeView& n) {
    if (!n.input(2).is_constant()) return false;
    const DimsView c = n.input(2).dims(), w = n.input(1).dims();
    if (w.size() != 2) return false;
    const int64_t count = ep::element_count(c), columns = w[n.attr_i("transB", 0) != 0 ? 0 : 1];
    return count == 1 || (!c.empty() && count == c.back() && count == columns);
  }
  bool transposed_;
  float alpha_, beta_;
  int64_t k_ = 0, n_ = 0;
  std::shared_ptr<const Packed> weights_, bias_;
};
CPU_ISLAND_OPERATOR(Gemm, .op_type = "Gemm", .since = 7, .gains = true)

/// A constant matrix with its axes exchanged, as factor of one product: a network's table of words may serve as its last
/// weights.
class Transpose : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    const Dims perm = n.attr_ints("perm");
    return check
        .that(n.input(0).is_constant() && n.input(0).rank() == 2 && n.input(0).dtype() == TENON_FLOAT32,
              TENON_REJECT_OTHER, "the input is not a constant matrix of float32")
        .that(perm.empty() || perm == Dims{1, 0}, TENON_REJECT_ATTRIBUTE, "the axes are not exchanged")
        .that(is_for_one(n.graph(), n.output(0).index()), TENON_REJECT_OTHER, "the result has several uses");
  }
  explicit Transpose(const NodeView&) {}
  bool packs(const Program& program, const Node& node, uint32_t) const override {
    return program.is_packed(node.outputs[0]);
  }

  /// Whether one node reads the value, and nothing else. So an island of that node can have this one.
  static bool is_for_one(const ep::GraphView& graph, uint32_t value) {
    const tenon_value_info info = graph.value(value);
    return info.consumer_count == 1 && (info.flags & TENON_VALUE_OUTPUT) == 0;
  }
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& x = b.dims(node.inputs[0]);
    return {x[1], x[0]};
  }
  void build(Builder& b, const Node& node) const override {
    if (b.is_packed(node.outputs[0])) return;
    const Tensor x = b.tensor(node.inputs[0]), y = b.create(node.outputs[0], Form::kPlain);
    constexpr int64_t kRows = 64;
    const int64_t height = x.dims[0], width = x.dims[1];
    b.add({x, y}, [=](const Run& run) {
      each_piece(run, (height + kRows - 1) / kRows, kRows * width, [&](int64_t begin, int64_t end) {
        const int64_t first = begin * kRows, count = std::min(height, end * kRows) - first;
        transpose(run.at(x) + first * width, width, count, width, run.at(y) + first, height);
      });
    });
  }
};
CPU_ISLAND_OPERATOR(Transpose, .op_type = "Transpose")

class MatMul : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.that((n.input(1).is_constant() && n.input(1).rank() == 2) || is_turned(n), TENON_REJECT_OTHER,
               "B is not a constant matrix");
    return ranked(check, n, 0, 2);
  }
  explicit MatMul(const NodeView&) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    Dims out = b.dims(node.inputs[0]);
    const Dims& w = b.dims(node.inputs[1]);
    require(out.back() == w[0], TENON_INVALID_ARGUMENT, "the rows of A have ", out.back(),
            " elements, but the columns of B have ", w[0]);
    out.back() = w[1];
    return out;
  }
  void pack(Program& program, const Node& node) override {
    const bool turned = !program.is_constant(node.inputs[1]);
    const uint32_t producer = program.values()[node.inputs[1]].producer;
    require(!turned || producer != kNone, TENON_UNIMPLEMENTED, "B is not made in the same island");
    const ep::TensorView w = program.constant(turned ? program.nodes()[producer].inputs[0] : node.inputs[1]);
    k_ = w.dim(turned ? 1 : 0), n_ = w.dim(turned ? 0 : 1);
    auto packed = std::make_shared<Packed>(isa_compute().packed_size(k_, n_));
    isa_compute().pack({w.data<float>(), k_, n_, turned ? 1 : n_, turned ? k_ : 1}, packed->data());
    weights_ = shared(std::move(packed));
  }
  bool packs(const Program&, const Node& node, uint32_t value) const override {
    return value != node.inputs[0] && weights_ != nullptr;
  }
  void build(Builder& b, const Node& node) const override {
    Factors f;
    f.x = b.dense(node.inputs[0], Form::kPlain);
    f.k = k_, f.n = n_;
    f.rows = ep::element_count(DimsView(f.x.dims).first(f.x.dims.size() - 1));
    f.weights = weights_;
    add_product(b, f, node.outputs[0], Form::kPlain);
  }

 private:
  /// Whether B is a constant matrix behind a Transpose that is part of the same island.
  static bool is_turned(const NodeView& n) {
    const ep::GraphView& graph = n.graph();
    const tenon_value_info b = graph.value(n.input(1).index());
    if (b.producer == TENON_NO_INDEX || n.input(0).index() == n.input(1).index()) return false;
    ep::ConstantStore store;
    const NodeView made(graph, b.producer, store, n.instance());
    return made.op() == "Transpose" && made.domain().empty() && static_cast<bool>(Transpose::supports(made));
  }
  int64_t k_ = 0, n_ = 0;
  std::shared_ptr<const Packed> weights_;
};
CPU_ISLAND_OPERATOR(MatMul, .op_type = "MatMul", .gains = true)

}  // namespace
}  // namespace tenon::cpu::islands
