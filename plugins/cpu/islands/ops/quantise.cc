// QuantizeLinear and DequantizeLinear with one scale. Elementwise nodes between them run in the task that reads and writes
// the bytes, and quantised products take the bytes themselves.
#include "islands/quantised.h"

namespace tenon::cpu::islands {
namespace {

class QuantizeLinear : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    ranked(check, n, 0, 0).input(0, kFloat32).output(0, kByteTypes);
    return check_scaling(check, n, 1);
  }
  explicit QuantizeLinear(const NodeView& n) : scaling_(scaling_of(n, 1, n.output(0).dtype())) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override { return b.dims(node.inputs[0]); }
  std::optional<Scaling> quantises() const override { return scaling_; }
  void build(Builder& b, const Node& node) const override {
    const Tensor x = b.readable(node.inputs[0], b.form_of({node.inputs[0]}));
    Tensor y = b.create(node.outputs[0], x.form);
    y.scaling = scaling_;
    add_steps(b, x, y, Steps{});
  }

 private:
  Scaling scaling_;
};
CPU_ISLAND_OPERATOR(QuantizeLinear, .op_type = "QuantizeLinear", .bytes = true)

class DequantizeLinear : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    ranked(check, n, 0, 0).input(0, kByteTypes).output(0, kFloat32);
    return check_scaling(check, n, 1);
  }
  explicit DequantizeLinear(const NodeView& n) : scaling_(scaling_of(n, 1, n.input(0).dtype())) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override { return b.dims(node.inputs[0]); }
  std::optional<Scaling> dequantises() const override { return scaling_; }
  void build(Builder& b, const Node& node) const override {
    Tensor bytes = b.tensor(node.inputs[0]);
    bytes.scaling = scaling_;
    b.define_dequantised(node.outputs[0], bytes);
  }

 private:
  Scaling scaling_;
};
CPU_ISLAND_OPERATOR(DequantizeLinear, .op_type = "DequantizeLinear", .bytes = true)

}  // namespace
}  // namespace tenon::cpu::islands
