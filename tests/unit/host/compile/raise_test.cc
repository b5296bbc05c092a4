// Raised operators on providers that know them, that know only their parts, and that know neither.
#include <gmock/gmock.h>

#include <map>

#include "host/session/describe.h"
#include "host/session/load.h"
#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

/// neg -> x * Sigmoid(x) -> neg
std::string model() {
  GraphMaker m;
  const auto x = m.node("Neg", {m.input("x", GraphMaker::f32({4}))}, {}, "first");
  const auto gate = m.node("Sigmoid", {x}, {}, "gate");
  m.output(m.node("Neg", {m.node("Mul", {x, gate}, {}, "product")}, {}, "last"), "y");
  return m.bytes(17);
}

config::Config accelerator(const std::string& ops,
                           const std::vector<std::string>& order = {"accelerator", "cpu"}) {
  config::Config config = config_for({fakes_dir() + "/accelerator", providers_dir()}, order);
  const Status status =
      config.apply_toml("[provider.accelerator.options]\nops = '" + ops + "'\n", "test.toml");
  EXPECT_TRUE(status.ok()) << status.to_string();
  return config;
}

std::vector<std::string> runners(const session::Session& session) {
  std::vector<std::string> out;
  const auto json = explained(session);
  for (const auto& node : json["nodes"])
    out.push_back(node["provider"].get<std::string>() + " " + node["op"].get<std::string>() + " " +
                  node["name"].get<std::string>());
  return out;
}

void expect_numbers(session::Session& session) {
  const auto y = run(session, {{"x", f32({4}, {1, -2, 0.5F, 0})}});
  EXPECT_THAT(floats(y[0]),
              ::testing::Pointwise(::testing::FloatNear(1e-6F),
                                   std::vector<float>{0.26894143F, -1.7615942F, 0.18877034F, 0}));
}

TEST(Raise, AProviderWithTheOperatorRunsOneNode) {
  const auto session = make_session(model());
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(runners(*session), ElementsAre("cpu Neg first", "cpu Swish product", "cpu Neg last"));
  const auto json = explained(*session);
  EXPECT_EQ(json["nodes"][1]["stands_for"].dump(), R"(["gate","product"])");
  EXPECT_TRUE(json["nodes"][0]["stands_for"].empty());
  expect_numbers(*session);
}

TEST(Raise, AProviderWithTheNodesAloneRunsThemAsBefore) {
  for (const auto& order : {std::vector<std::string>{"accelerator", "cpu"}, {"accelerator"}}) {
    const auto session = make_session(model(), accelerator("Neg,Sigmoid,Mul", order));
    ASSERT_NE(session, nullptr);
    EXPECT_THAT(runners(*session), ElementsAre("accelerator Neg first", "accelerator Sigmoid gate",
                                               "accelerator Mul product", "accelerator Neg last"));
    EXPECT_EQ(explained(*session)["parts"].size(), 1u);
    expect_numbers(*session);
  }
}

TEST(Raise, AProviderWithSomeOfTheNodesLeavesTheOperatorToTheNext) {
  const auto session = make_session(model(), accelerator("Neg,Sigmoid"));
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(runners(*session),
              UnorderedElementsAre("accelerator Neg first", "cpu Swish product", "accelerator Neg last"));
  expect_numbers(*session);
}

/// Nobody has seen the pattern before the call is inlined.
TEST(Raise, PatternsInsideFunctionsOfTheModel) {
  GraphMaker inner;
  const auto z = inner.input("z", {});
  inner.graph.add_output(inner.node("Mul", {z, inner.node("Sigmoid", {z}, {}, "gate")}, {}, "product"));
  ir::Function gated;
  gated.domain = "acme";
  gated.name = "Gated";
  gated.opset_imports = {{"", 17}};
  gated.body = inner.graph;
  GraphMaker m;
  m.model.functions.push_back(gated);
  m.model.opset_imports["acme"] = 1;
  const auto x = m.node("Neg", {m.input("x", GraphMaker::f32({4}))}, {}, "first");
  m.output(m.node("Neg", {m.node("acme:Gated", {x}, {}, "call")}, {}, "last"), "y");
  const auto known = make_session(m.bytes(17));
  ASSERT_NE(known, nullptr);
  EXPECT_THAT(runners(*known), ElementsAre("cpu Neg first", "cpu Swish call/product", "cpu Neg last"));
  expect_numbers(*known);
  const auto unknown = make_session(m.bytes(17), accelerator("Neg,Sigmoid,Mul"));
  ASSERT_NE(unknown, nullptr);
  EXPECT_EQ(runners(*unknown).size(), 4u);
  EXPECT_EQ(explained(*unknown)["parts"].size(), 1u);
  expect_numbers(*unknown);
}

/// In a file all nodes have the versions that the model imports.
TEST(Raise, AWrittenModelHasOperatorsOfItsOpset) {
  for (const int64_t opset : {17, 24}) {
    GraphMaker m;
    const auto x = m.input("x", GraphMaker::f32({4}));
    m.output(m.node("Mul", {x, m.node("Sigmoid", {x})}), "y");
    const std::string bytes = m.bytes(opset);
    session::ModelSource source;
    source.data = bytes.data();
    source.size = bytes.size();
    const auto written = session::transformed_model(source, cpu_config(), {});
    ASSERT_TRUE(written.ok()) << written.status().to_string();
    EXPECT_EQ(written->graph.node_count(), opset == 24 ? 1u : 2u);
    const auto saved = onnx::save_bytes(*written);
    ASSERT_TRUE(saved.ok());
    EXPECT_NE(make_session(*saved), nullptr);
  }
}

TEST(Raise, EachTransformIsSwitchedOffByName) {
  config::Config config = cpu_config();
  ASSERT_TRUE(config.set("transforms.disable", "[\"swish\"]").ok());
  const auto session = make_session(model(), config);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(runners(*session).size(), 4u);
  expect_numbers(*session);
}

/// The placement of the product by its name holds for the operator that takes its place.
TEST(Raise, TheOperatorHasTheNameOfTheLastNode) {
  config::Config config = accelerator("Neg,Sigmoid,Mul");
  const Status status =
      config.apply_toml("[[placement]]\nmatch = { node = 'product' }\nprovider = 'cpu'\n", "test.toml");
  ASSERT_TRUE(status.ok()) << status.to_string();
  const auto session = make_session(model(), config);
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(runners(*session),
              UnorderedElementsAre("accelerator Neg first", "cpu Swish product", "accelerator Neg last"));
}

TEST(Raise, TwoOperatorsOfWhichOneIsPutBack) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2, 4}));
  const auto mean = m.node("ReduceMean", {m.node("Mul", {x, x}), m.ints("axes", {-1})});
  const auto root = m.node("Sqrt", {m.node("Add", {mean, m.constant("e", {}, {1e-6F})})});
  const auto n = m.node("Mul", {m.node("Div", {x, root}), m.constant("scale", {4}, {1, 2, 3, 4})});
  m.output(m.node("Mul", {n, m.node("Sigmoid", {n})}), "y");
  const std::string bytes = m.bytes(18);
  const auto mixed = make_session(bytes, accelerator("Sigmoid,Mul")), cpu = make_session(bytes);
  ASSERT_TRUE(mixed != nullptr && cpu != nullptr);
  std::map<std::string, int> counts;
  const auto json = explained(*mixed);
  for (const auto& node : json["nodes"])
    ++counts[node["provider"].get<std::string>() + " " + node["op"].get<std::string>()];
  EXPECT_EQ(counts, (std::map<std::string, int>{
                        {"cpu RMSNormalization", 1}, {"accelerator Sigmoid", 1}, {"accelerator Mul", 1}}));
  const std::vector<session::NamedValue> inputs = {
      {"x", f32({2, 4}, {1, -2, 3, 0.5F, 0.1F, 0.2F, -0.3F, 4})}};
  EXPECT_THAT(floats(run(*mixed, inputs)[0]),
              ::testing::Pointwise(::testing::FloatNear(1e-5F), floats(run(*cpu, inputs)[0])));
}

/// Attention reads and gives other dimensions than the nodes, so Reshapes stand around it.
TEST(Raise, ReshapesAroundAnOperatorGoWithIt) {
  GraphMaker m;
  const auto turn = [&](GraphMaker::Id x, const std::vector<int64_t>& perm, const std::string& name) {
    return m.node("Transpose", {x}, {ir::Attribute::of_ints("perm", perm)}, name);
  };
  const auto heads = [&](const std::string& name) {
    const auto x = m.input(name, GraphMaker::f32({3, 4}));
    const auto split = m.node("Reshape", {x, m.ints(name + "_shape", {1, 3, 2, 2})}, {}, "split_" + name);
    return turn(split, {0, 2, 1, 3}, "turn_" + name);
  };
  const auto keys = turn(heads("k"), {0, 1, 3, 2}, "keys");
  const auto w = m.node("Softmax", {m.node("MatMul", {heads("q"), keys}, {}, "scores")},
                        {ir::Attribute::of_int("axis", -1)}, "weights");
  const auto back = turn(m.node("MatMul", {w, heads("v")}, {}, "product"), {0, 2, 1, 3}, "back");
  m.output(m.node("Reshape", {back, m.ints("shape", {3, 4})}, {}, "last"), "y");
  const std::string bytes = m.bytes(17);
  const auto session = make_session(bytes),
             plain = make_session(bytes, [] {
               config::Config config = cpu_config();
               EXPECT_TRUE(config.set("transforms.disable", "[\"attention\"]").ok());
               return config;
             }());
  ASSERT_TRUE(session != nullptr && plain != nullptr);
  EXPECT_EQ(runners(*session).size(), 5u);  // with three Reshapes before it and one after
  const auto json = explained(*session);
  for (const auto& node : json["nodes"]) {
    if (node["op"] != "Attention") continue;
    std::vector<std::string> parts;
    for (const auto& part : node["stands_for"]) parts.push_back(part.get<std::string>());
    // The two Transposes of the keys were merged before.
    EXPECT_THAT(parts, UnorderedElementsAre("split_k", "keys", "split_q", "turn_q", "scores", "weights",
                                            "split_v", "turn_v", "product", "back"));
  }
  const std::vector<session::NamedValue> inputs = {
      {"k", f32({3, 4}, {1, -2, 3, 0.5F, 0.1F, 0.2F, -0.3F, 4, 2, 1, 0, -1})},
      {"q", f32({3, 4}, {2, 1, 0.5F, -1, 1, 3, -2, 0, 0.3F, 0.2F, 0.1F, 1})},
      {"v", f32({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}};
  EXPECT_THAT(floats(run(*session, inputs)[0]),
              ::testing::Pointwise(::testing::FloatNear(1e-5F), floats(run(*plain, inputs)[0])));
}

}  // namespace
}  // namespace tenon::test
