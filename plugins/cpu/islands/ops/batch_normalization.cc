// BatchNormalization with constant statistics: a factor and an offset per channel. Core merges it into a convolution before it, so this
// is for networks that normalise what they concatenate or add, such as DenseNets.
#include <cmath>

#include "islands/tasks.h"

namespace tenon::cpu::islands {
namespace {

class BatchNormalization : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    ranked(check, n, 0, 2)
        .that(n.attr_i("training_mode", 0) == 0 && n.output_count() == 1, TENON_REJECT_ATTRIBUTE, "it trains")
        .that(n.attr_i("spatial", 1) != 0, TENON_REJECT_ATTRIBUTE, "each activation has its own mean");
    for (int i = 1; i < 5; ++i)
      check.input(i, kFloat32)
          .that(n.input(i).is_constant(), TENON_REJECT_OTHER, "input ", i, " is not constant");
    return check;
  }
  explicit BatchNormalization(const NodeView& n) : epsilon_(n.attr_f("epsilon", 1e-5f)) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& x = b.dims(node.inputs[0]);
    const int64_t channels = b.dims(node.inputs[1])[0];
    require(x[1] == channels, TENON_INVALID_ARGUMENT, "scale has ", channels, " elements for ", x[1],
            " channels");
    return x;
  }

  void pack(Program& program, const Node& node) override {
    std::span<const float> given[4];  // scale, B, mean, var
    for (size_t i = 0; i < 4; ++i) given[i] = program.constant(node.inputs[i + 1]).span<float>();
    const auto channels = static_cast<int64_t>(given[0].size());
    factors_ = std::make_unique<Packed>(channels);
    offsets_ = std::make_unique<Packed>(channels);
    for (size_t c = 0; c < given[0].size(); ++c) {
      const double deviation = std::sqrt(static_cast<double>(given[3][c]) + static_cast<double>(epsilon_));
      const double factor = static_cast<double>(given[0][c]) / deviation;
      factors_->data()[c] = static_cast<float>(factor);
      offsets_->data()[c] =
          static_cast<float>(static_cast<double>(given[1][c]) - static_cast<double>(given[2][c]) * factor);
    }
  }
  bool packs(const Program&, const Node& node, uint32_t value) const override {
    return value != node.inputs[0] && factors_ != nullptr;
  }

  void build(Builder& b, const Node& node) const override {
    require(factors_ != nullptr, TENON_INTERNAL, "the statistics were not packed");
    const Form form = b.dims(node.inputs[0]).size() < 3 ? Form::kPlain : Form::kLast;
    const Tensor x = b.tensor(node.inputs[0], form);
    const Steps steps = b.follow(node.outputs[0], form);
    const Tensor y = b.create(steps.value, form);
    Step multiply, add;
    multiply.kind = Step::Kind::kMul, multiply.other = factors_->data();
    add.kind = Step::Kind::kAdd, add.other = offsets_->data();
    const int64_t rows = y.rows(), columns = y.columns();
    const int64_t cost = columns * (2 + static_cast<int64_t>(steps.steps.size()));
    b.add(steps.reads({x, y}), [=](const Run& run) {
      std::array<Step, isa::kMostSteps + 2> room;
      room[0] = multiply, room[1] = add;
      const isa::Chain rest = steps.at(run, std::span(room).last<isa::kMostSteps>());
      each_piece(run, rows, cost, [&](int64_t begin, int64_t end) {
        isa_compute().chain({room.data(), rest.count + 2}, run.at(x) + begin * x.ld, x.ld,
                            run.at(y) + begin * y.ld, y.ld, begin, end - begin, 0, columns);
      });
    });
  }

 private:
  float epsilon_;
  std::unique_ptr<Packed> factors_, offsets_;
};
CPU_ISLAND_OPERATOR(BatchNormalization, .op_type = "BatchNormalization", .since = 7)

}  // namespace
}  // namespace tenon::cpu::islands
