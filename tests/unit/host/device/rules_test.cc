// The rules of ep-sdk/RULES.md that the host checks beyond loading, each by a provider that breaks it. The
// test's name is the rule's number; what is checked at loading stands in
// tests/unit/host/provider/rules_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/device/capability.h"
#include "host/device/node_runner.h"
#include "tests/unit/host/device/fake_provider.h"

namespace tenon::runtime {
namespace {

using ::testing::HasSubstr;

const ir::Type kType = ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape::of({2}));

class Rules : public ::testing::Test {
 protected:
  Result<std::shared_ptr<Instance>> breaker(int rule, const std::string& device = "well") {
    const auto registry = test::make_registry({"rule_breaker"});
    ASSIGN_OR_RETURN(const auto loaded, registry->load("rule_breaker"));
    ASSIGN_OR_RETURN(auto opened, Device::open(loaded, device));
    return Instance::create(std::move(opened), {{"rule", config::Value(int64_t{rule}, {})}}, {});
  }

  ir::NodeId node(const std::string& name, ir::ValueId input, const ir::Type& type = kType) {
    ir::Node n;
    n.name = name;
    n.op_type = "Relu";
    n.inputs = {input};
    n.outputs = {graph.add_value(name + "_out", type)};
    return graph.add_node(std::move(n));
  }
  ir::ValueId input(const std::string& name) {
    const ir::ValueId id = graph.add_value(name, kType);
    graph.add_input(id);
    return id;
  }
  ir::ValueId out(ir::NodeId id) const { return graph.node(id).outputs[0]; }
  /// a -> b -> c
  void make_chain() {
    a = node("a", input("x"));
    b = node("b", out(a));
    c = node("c", out(b));
  }

  GraphSource source() {
    GraphSource out;
    out.graph = &graph;
    out.opset_imports = &opsets;
    out.constants = &constants;
    return out;
  }
  /// Asks the breaker, with node `given` (if any) already given away.
  void offer(int rule, ir::NodeId given = ir::kNone) {
    partitioner = std::make_unique<partition::Partitioner>(graph, nullptr);
    if (given != ir::kNone) {
      partition::Claim claim;
      claim.nodes = {given};
      ASSERT_TRUE(partitioner->offer(7, {claim}, {}).ok());
    }
    const auto instance = breaker(rule);
    ASSERT_TRUE(instance.ok()) << instance.error().to_string();
    const auto taken = [&](ir::NodeId id) { return partitioner->taken(0, id); };
    auto answer = ask_capability(**instance, *GraphView::whole(source(), taken));
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    ASSERT_TRUE(partitioner->offer(0, std::move(answer->claims), std::move(answer->rejections)).ok());
  }
  std::string declined(ir::NodeId id) const {
    const auto& declines = partitioner->declines(id);
    return declines.empty() ? "" : declines[0].text;
  }

  /// Compiles and runs one node.
  Status run(int rule, const ir::Type& known = kType, const std::string& device = "well") {
    if (graph.node_count() == 0) a = node("a", input("x"));
    ASSIGN_OR_RETURN(const auto instance, breaker(rule, device));
    const std::vector<ir::NodeId> nodes = {a};
    const std::vector<ir::ValueId> inputs = {graph.inputs()[0]}, outputs = {out(a)};
    ASSIGN_OR_RETURN(GraphView view, GraphView::of_claim(source(), {nodes, inputs, outputs}));
    ASSIGN_OR_RETURN(const auto program, Program::compile(instance, view, 0, "node 'a' (Relu)"));
    const std::vector<int64_t> dims = {2};
    const ValueRef value = *make_tensor(TENON_FLOAT32, dims);
    return run_program(program, std::span(&value, 1), std::span(&known, 1)).status();
  }

  ir::Graph graph;
  std::map<std::string, int64_t> opsets = {{"", 21}};
  ConstantPool constants;
  std::unique_ptr<partition::Partitioner> partitioner;
  ir::NodeId a = 0, b = 0, c = 0, d = 0;
  const ir::Type open = ir::Type::tensor(ir::ElementType::kFloat32);
};

TEST_F(Rules, NoneBrokenIsFine) {
  make_chain();
  offer(0);
  EXPECT_TRUE(partitioner->open_nodes().empty());
  EXPECT_TRUE(run(0).ok());
  EXPECT_TRUE(run(0, open).ok());
}

TEST_F(Rules, R17) {
  const Status status = breaker(0, "crooked-domain").error();
  EXPECT_THAT(status.to_string(), HasSubstr("R17"));
  EXPECT_THAT(status.to_string(), HasSubstr("rule_breaker 1.0.0"));
}

TEST_F(Rules, R18) {
  const auto instance = *breaker(0, "crooked-memory");
  EXPECT_THAT(Buffer::allocate(*instance->device().find_domain(1), 64).error().to_string(), HasSubstr("R18"));
}

TEST_F(Rules, R22) {
  make_chain();
  offer(22);
  EXPECT_THAT(declined(a), HasSubstr("R22"));
  EXPECT_EQ(partitioner->open_nodes().size(), 3u);
}

TEST_F(Rules, R23) {
  make_chain();
  offer(23, b);
  EXPECT_THAT(declined(b), HasSubstr("R23"));
  EXPECT_TRUE(partitioner->open_nodes().empty());
}

TEST_F(Rules, R24) {
  make_chain();
  offer(24);
  EXPECT_THAT(declined(b), HasSubstr("R24"));
  EXPECT_TRUE(partitioner->taken(1, a));
}

TEST_F(Rules, R25) {
  make_chain();
  offer(25);
  EXPECT_THAT(declined(a), HasSubstr("R25"));
  EXPECT_THAT(declined(c), HasSubstr("R25"));
}

TEST_F(Rules, R26) {
  a = node("a", input("x"));
  b = node("b", out(a));
  c = node("c", input("y"));
  d = node("d", out(c));
  offer(26);
  EXPECT_TRUE(partitioner->taken(1, a));
  EXPECT_TRUE(partitioner->taken(1, d));
  EXPECT_THAT(declined(b), HasSubstr("R26"));
}

TEST_F(Rules, R27) {
  make_chain();
  offer(27);
  EXPECT_THAT(declined(a), HasSubstr("R27: a claim names memory domain 77"));
  EXPECT_THAT(declined(b), HasSubstr("R27: a claim names value 4711"));
}

TEST_F(Rules, R28) {
  make_chain();
  offer(28);
  EXPECT_EQ(declined(a), "");
  EXPECT_THAT(declined(b), HasSubstr("R28"));
  EXPECT_THAT(declined(c), HasSubstr("R28"));
}

TEST_F(Rules, R32) { EXPECT_THAT(run(32).to_string(), HasSubstr("R32")); }

TEST_F(Rules, R33) {
  EXPECT_THAT(run(33).to_string(),
              HasSubstr("R33: prepare gave output 0 the shape [3] where [2] was inferred"));
  EXPECT_THAT(run(37, open).to_string(), HasSubstr("R33: prepare left the shape of output 0 open"));
}

TEST_F(Rules, R34) { EXPECT_THAT(run(34, open).to_string(), HasSubstr("R34")); }
TEST_F(Rules, R35) { EXPECT_THAT(run(35).to_string(), HasSubstr("R35")); }

TEST_F(Rules, R36) {
  const Status status = run(36);
  EXPECT_THAT(status.to_string(), HasSubstr("R36"));
  EXPECT_THAT(std::string(status.where()), HasSubstr("rule_breaker 1.0.0: node 'a' (Relu)"));
}

TEST_F(Rules, R40) {
  EXPECT_THAT(run(40).to_string(), HasSubstr("R40"));
  EXPECT_THAT(run(41).to_string(), HasSubstr("R40"));
}

}  // namespace
}  // namespace tenon::runtime
