// LSTM, GRU and RNN through islands of the cpu provider, compared with its kernels.
#include <gmock/gmock.h>

#include "tests/islands/island_case.h"

namespace tenon::test {
namespace {

using ir::Attribute;

/// A network of one recurrent node, with a Relu behind its first output.
struct Recurrent {
  std::string op = "LSTM", direction = "forward";
  int64_t time = 3, batch = 2, input = 5, hidden = 7;
  bool bias = true, state = true, symbolic = false;
  bool outputs[3] = {true, true, true};
  std::vector<Attribute> attributes = {};

  int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  std::vector<int64_t> state_dims() const { return {directions(), batch, hidden}; }

  std::string text() const {
    std::string out = op + " " + direction;
    for (const int64_t n : {time, batch, input, hidden}) out += " " + std::to_string(n);
    for (const bool given : outputs) out += given ? " out" : " no";
    return out + (bias ? " bias" : "") + (state ? " state" : "");
  }

  std::string network(std::mt19937& random) const {
    GraphMaker m;
    const int64_t n = gates() * hidden, d = directions();
    const auto weights = [&](const std::string& name, const std::vector<int64_t>& dims) {
      return m.constant(name, dims, noise(random, count(dims), 1 / std::sqrt(static_cast<float>(hidden))));
    };
    const auto dim = [&](const char* name, int64_t n) { return symbolic ? ir::Dim(name) : ir::Dim(n); };
    const ir::Dim rows = dim("states", batch);
    const Id x = m.input("x", GraphMaker::f32({dim("time", time), dim("batch", batch), input}));
    ir::Node node;
    node.op_type = op, node.name = "cell";
    node.inputs = {x, weights("w", {d, n, input}), weights("r", {d, n, hidden})};
    if (bias || state) node.inputs.push_back(bias ? weights("b", {d, 2 * n}) : ir::kNone);
    if (state) {
      node.inputs.push_back(ir::kNone);
      node.inputs.push_back(m.input("h", GraphMaker::f32({d, rows, hidden})));
      if (op == "LSTM") node.inputs.push_back(m.input("c", GraphMaker::f32({d, rows, hidden})));
    }
    node.attributes = attributes;
    node.attributes.push_back(Attribute::of_int("hidden_size", hidden));
    node.attributes.push_back(Attribute::of_string("direction", direction));
    const size_t most = op == "LSTM" ? 3 : 2;
    for (size_t i = 0; i < most; ++i)
      node.outputs.push_back(outputs[i] ? m.graph.add_value("out" + std::to_string(i)) : ir::kNone);
    const std::vector<Id> made = node.outputs;
    m.graph.add_node(std::move(node));
    for (size_t i = 0; i < most; ++i) {
      if (outputs[i]) m.output(i == 0 ? m.node("Relu", {made[0]}) : made[i], "y" + std::to_string(i));
    }
    return m.bytes(14);
  }

  std::vector<session::NamedValue> values(std::mt19937& random) const {
    std::vector<session::NamedValue> out{{"x", image(random, {time, batch, input})}};
    if (state) out.push_back({"h", image(random, state_dims())});
    if (state && op == "LSTM") out.push_back({"c", image(random, state_dims())});
    return out;
  }
};

/// Whether the node and what is behind it are one part: kernels never are.
bool is_island(const std::string& network) {
  return largest_part(*make_session(network, islands_config(true))) > 1;
}

/// Any network, and its inputs.
Recurrent any(std::mt19937& random) {
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Recurrent r;
  r.op = std::array{"LSTM", "GRU", "RNN"}[static_cast<size_t>(draw(0, 2))];
  r.direction = std::array{"forward", "reverse", "bidirectional"}[static_cast<size_t>(draw(0, 2))];
  r.time = draw(0, 7), r.batch = draw(0, 4), r.input = draw(0, 40), r.hidden = draw(1, 90);
  r.bias = draw(0, 2) > 0, r.state = draw(0, 1) > 0, r.symbolic = draw(0, 2) == 0;
  if (draw(0, 5) == 0) r.hidden = draw(250, 530);  // several parts of sums
  for (bool& given : r.outputs) given = draw(0, 3) > 0;
  r.outputs[draw(0, 1)] = true;
  if (r.op == "GRU") r.attributes = {Attribute::of_int("linear_before_reset", draw(0, 4) > 0)};
  return r;
}

TEST(RecurrentIslands, RandomNetworksGiveWhatKernelsGive) {
  int islands = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    std::mt19937 random(seed);
    const Recurrent r = any(random);
    const std::string network = r.network(random);
    const std::vector<session::NamedValue> values = r.values(random);
    const auto without = make_session(network, islands_config(false));
    ASSERT_NE(without, nullptr) << r.text();
    for (const char* threads : {"1", "2", "4"}) {
      const auto with =
          make_session(network, islands_config(true, {std::string("threads.count=") + threads}));
      ASSERT_NE(with, nullptr) << r.text();
      expect_close(run(*with, values), run(*without, values), 1e-5f,
                   "seed " + std::to_string(seed) + ", " + threads + " threads, " + r.text());
    }
    islands += r.outputs[0] && is_island(network) ? 1 : 0;
  }
  EXPECT_GE(islands, 60);
}

TEST(RecurrentIslands, ThreadsDoNotChangeBits) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    std::mt19937 random(3);
    Recurrent r{.op = op, .direction = "bidirectional", .time = 20, .batch = 3, .input = 65, .hidden = 301};
    if (r.op == "GRU") r.attributes = {Attribute::of_int("linear_before_reset", 1)};
    const std::string network = r.network(random);
    const std::vector<session::NamedValue> values = r.values(random);
    for (const char* precision : {"precision.default=exact", "precision.default=bf16"}) {
      const auto one = make_session(network, islands_config(true, {"threads.count=1", precision}));
      const std::vector<ValueRef> wanted = run(*one, values);
      for (const char* threads : {"2", "3", "5"}) {
        const auto more =
            make_session(network, islands_config(true, {std::string("threads.count=") + threads, precision}));
        const std::vector<ValueRef> got = run(*more, values);
        for (size_t i = 0; i < got.size(); ++i)
          EXPECT_EQ(floats(got[i]), floats(wanted[i])) << op << threads << precision;
      }
    }
  }
}

TEST(RecurrentIslands, InBFloat16TheyAreNear) {
  int changed = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Recurrent r = any(random);
    const std::string network = r.network(random);
    const bool changes = r.time * r.batch > 1 && r.input > 0 && r.outputs[0] && is_island(network);
    changed += changes ? 1 : 0;
    compare_bfloat16(network, r.values(random), changes, "seed " + std::to_string(seed) + ", " + r.text());
  }
  EXPECT_GE(changed, 15);
}

/// The cell of a Run does not depend on an earlier one.
TEST(RecurrentIslands, RunsStartAnew) {
  std::mt19937 random(5);
  Recurrent r{.state = false};
  const auto session = make_session(r.network(random), islands_config(true));
  const auto values = r.values(random);
  const std::vector<float> first = floats(run(*session, values)[0]);
  run(*session, r.values(random));
  EXPECT_EQ(floats(run(*session, values)[0]), first);
}

TEST(RecurrentIslands, NaNStaysInItsRow) {
  std::mt19937 random(7);
  Recurrent r{.time = 4, .batch = 3};
  const auto with = make_session(r.network(random), islands_config(true));
  auto values = r.values(random);
  std::vector<float> x = floats(values[0].value);
  x[static_cast<size_t>((1 * r.batch + 2) * r.input)] = NAN;  // the second step of the last row
  values[0].value = f32({r.time, r.batch, r.input}, x);
  const std::vector<ValueRef> out = run(*with, values);
  const std::vector<float> last = floats(out[1]);
  for (int64_t b = 0; b < r.batch; ++b) {
    for (int64_t i = 0; i < r.hidden; ++i)
      EXPECT_EQ(std::isnan(last[static_cast<size_t>(b * r.hidden + i)]), b == 2) << b << " " << i;
  }
}

TEST(RecurrentIslands, WhatIsNotTheUsualCellStaysOutside) {
  const auto with = [](std::string op, std::vector<Attribute> attributes) {
    std::mt19937 random(1);
    Recurrent r{.op = std::move(op), .attributes = std::move(attributes)};
    return is_island(r.network(random));
  };
  EXPECT_TRUE(with("LSTM", {}));
  EXPECT_TRUE(with("LSTM", {Attribute::of_strings("activations", {"sigmoid", "Tanh", "TANH"})}));
  EXPECT_FALSE(with("LSTM", {Attribute::of_strings("activations", {"Sigmoid", "Tanh", "Relu"})}));
  EXPECT_FALSE(with("LSTM", {Attribute::of_float("clip", 1.5f)}));
  EXPECT_FALSE(with("LSTM", {Attribute::of_int("input_forget", 1)}));
  EXPECT_TRUE(with("GRU", {Attribute::of_int("linear_before_reset", 1)}));
  EXPECT_FALSE(with("GRU", {}));
  EXPECT_TRUE(with("RNN", {}));
  EXPECT_FALSE(with("RNN", {Attribute::of_strings("activations", {"Relu"})}));
}

TEST(RecurrentIslands, AStateOfAnotherShapeIsNamed) {
  std::mt19937 random(1);
  const Recurrent r{.symbolic = true};
  const auto session = make_session(r.network(random), islands_config(true));
  auto values = r.values(random);
  for (const size_t state : {1, 2}) values[state].value = image(random, {1, r.batch + 1, r.hidden});
  std::vector<ValueRef> outputs(3);
  const Status status = session->run({}, values, {}, outputs);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.to_string(),
              testing::HasSubstr("the initial state has shape {1, 3, 7} and needs {1, 2, 7}"));
}

}  // namespace
}  // namespace tenon::test
