#include "host/selection/select.h"
#include "host/selection/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/host/device/fake_provider.h"

namespace tenon::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

config::Config config_of(const std::string& toml) {
  config::Config config;
  const Status status = config.apply_toml(toml, "test.toml");
  EXPECT_TRUE(status.ok()) << status.to_string();
  return config;
}

std::vector<std::string> ids_of(const Selection& selection) {
  std::vector<std::string> out;
  for (const auto& instance : selection.instances) out.push_back(instance->id());
  return out;
}

class SelectTest : public ::testing::Test {
 protected:
  std::unique_ptr<provider::ProviderRegistry> registry = test::make_registry({"accelerator"});
};

TEST_F(SelectTest, InTheOrderGiven) {
  const auto config = config_of("[select]\norder = ['accelerator/npu:1', 'accelerator']");
  const auto selection = select_instances(config, *registry);
  ASSERT_TRUE(selection.ok()) << selection.error().to_string();
  EXPECT_THAT(ids_of(*selection), ElementsAre("accelerator/npu:1", "accelerator/npu:0"));
  EXPECT_THAT(selection->entries, ElementsAre("accelerator/npu:1", "accelerator"));
  EXPECT_THAT(selection->find("accelerator"), ElementsAre(0, 1));
  EXPECT_THAT(selection->find("accelerator/npu:0"), ElementsAre(1));
  EXPECT_THAT(selection->find("accelerator/fake-1"), ElementsAre(0));
  EXPECT_TRUE(selection->find("other").empty());
  EXPECT_EQ(selection->completing(), nullptr);
}

TEST_F(SelectTest, TheDevicesOfAProvidersSection) {
  const auto config = config_of(
      "[select]\norder = ['accelerator']\n[provider.accelerator]\ndevices = ['npu:1', 'npu:0']\n"
      "[provider.accelerator.options]\nmax_nodes = 3");
  EXPECT_THAT(ids_of(*select_instances(config, *registry)),
              ElementsAre("accelerator/npu:1", "accelerator/npu:0"));
}

TEST_F(SelectTest, MemoryThatRunsOutIsNoReasonToSkipAProvider) {
  const auto both = test::make_registry({"accelerator", "defects/negotiate_bad_alloc.tenon.json"});
  const auto selection = select_instances(
      config_of("[select]\norder = ['negotiate_bad_alloc', 'accelerator']\nfallback = 'next'"), *both);
  ASSERT_FALSE(selection.ok());
  EXPECT_EQ(selection.error().kind(), ErrorKind::kOutOfMemory);
  EXPECT_THAT(selection.error().to_string(), HasSubstr("provider 'negotiate_bad_alloc'"));
}

TEST_F(SelectTest, WhatIsMissingIsAnErrorOrSkipped) {
  const std::string order = "[select]\norder = ['nosuch', 'accelerator']\n";
  const auto strict = select_instances(config_of(order), *registry);
  EXPECT_EQ(strict.error().kind(), ErrorKind::kProviderMissing);
  EXPECT_THAT(strict.error().to_string(), HasSubstr("nosuch"));
  const auto lenient = select_instances(config_of(order + "fallback = 'next'"), *registry);
  ASSERT_TRUE(lenient.ok());
  EXPECT_EQ(lenient->instances.size(), 1u);
  ASSERT_EQ(lenient->passed_over.size(), 1u);
  EXPECT_EQ(lenient->passed_over[0].provider, "nosuch");
  EXPECT_THAT(lenient->passed_over[0].text(), HasSubstr("is not installed"));
  const auto nobody =
      select_instances(config_of("[select]\norder = ['nosuch']\nfallback = 'next'"), *registry);
  EXPECT_EQ(nobody.error().kind(), ErrorKind::kProviderMissing);
  EXPECT_THAT(nobody.error().to_string(), HasSubstr("nosuch"));
  EXPECT_FALSE(select_instances(config_of("[select]\norder = ['accelerator/gpu:0']"), *registry).ok());
}

TEST_F(SelectTest, OptionsAreChecked) {
  const auto config =
      config_of("[select]\norder = ['accelerator']\n[provider.accelerator.options]\nmax_node = 3");
  EXPECT_THAT(select_instances(config, *registry).error().to_string(), HasSubstr("max_nodes"));
}

TEST_F(SelectTest, ADeviceThatIsNotThereIsSaidWithItsPlace) {
  const auto selection = select_instances(
      config_of("[select]\norder = ['accelerator']\n[provider.accelerator]\ndevices = ['gpu:0']"), *registry);
  ASSERT_FALSE(selection.ok());
  EXPECT_EQ(selection.error().kind(), ErrorKind::kConfig);
  EXPECT_THAT(
      selection.error().to_string(),
      HasSubstr("test.toml:4: 'provider.accelerator.devices' names 'gpu:0', but provider 'accelerator "
                "1.0.0' has no such device; its devices: npu:0"));
}

TEST_F(SelectTest, AnOrderMayNameOnlyDevicesThatMayBeUsed) {
  const std::string section = "\n[provider.accelerator]\ndevices = ['fake-1']";
  EXPECT_THAT(
      ids_of(*select_instances(config_of("[select]\norder = ['accelerator/npu:1']" + section), *registry)),
      ElementsAre("accelerator/npu:1"));
  EXPECT_THAT(select_instances(config_of("[select]\norder = ['accelerator/npu:0']" + section), *registry)
                  .error()
                  .to_string(),
              HasSubstr("test.toml:4: 'provider.accelerator.devices' does not list 'npu:0'"));
  EXPECT_THAT(select_instances(config_of("[select]\norder = ['accelerator']\n[provider.accelerator]\n"
                                         "devices = ['npu', 'npu:0']"),
                               *registry)
                  .error()
                  .to_string(),
              HasSubstr("names npu:0 twice"));
  EXPECT_THAT(
      select_instances(config_of("[select]\norder = ['accelerator']\n[provider.accelerator]\ndevices = []"),
                       *registry)
          .error()
          .to_string(),
      HasSubstr("is empty; remove it, or name one of npu:0"));
}

TEST_F(SelectTest, ATrialFindsAllThatIsWrong) {
  const auto config = config_of(
      "[select]\norder = ['nosuch', 'accelerator', 'absent']\n"
      "[provider.accelerator]\ndevices = ['gpu:0']");
  std::vector<Failure> failures;
  EXPECT_TRUE(try_instances(config, *registry, &failures).instances.empty());
  ASSERT_EQ(failures.size(), 3u);
  EXPECT_EQ(failures[0].reason.to_string(), select_instances(config, *registry).error().to_string());
  EXPECT_THAT(failures[1].reason.to_string(), HasSubstr("'gpu:0'"));
  EXPECT_THAT(failures[2].reason.to_string(), HasSubstr("absent"));
}

/// a (Add) -> b (Relu), with two instances: 0 is npu:0, 1 is npu:1.
class PlacementTest : public SelectTest {
 protected:
  void SetUp() override {
    const auto type = ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape::of({2}));
    const auto x = graph.add_value("x", type);
    graph.add_input(x);
    a = node("/encoder/a", "Add", {x, x});
    b = node("/decoder/b", "Relu", {graph.node(a).outputs[0]});
  }
  ir::NodeId node(const std::string& name, const std::string& op, std::vector<ir::ValueId> in) {
    ir::Node n;
    n.name = name;
    n.op_type = op;
    n.inputs = std::move(in);
    n.outputs = {graph.add_value(name + "_out")};
    return graph.add_node(std::move(n));
  }
  void make(const std::string& rules) {
    const auto config = config_of("[select]\norder = ['accelerator/npu:0', 'accelerator/npu:1']\n" + rules);
    selection = *select_instances(config, *registry);
    placement = Placement(config, selection, "bert-base.onnx");
  }

  ir::Graph graph;
  ir::NodeId a = 0, b = 0;
  Selection selection;
  Placement placement;
};

TEST_F(PlacementTest, TheFirstMatchBarsOthers) {
  make(
      "[[placement]]\nmatch = { op = ['Relu'] }\nprovider = 'accelerator/npu:1'\n"
      "[[placement]]\nmatch = { node = '/.*', model = 'bert*' }\nprovider = 'accelerator/npu:0'\n");
  partition::Partitioner partitioner(graph, {});
  placement.apply(graph, partitioner);
  EXPECT_FALSE(partitioner.taken(0, a));
  EXPECT_TRUE(partitioner.taken(1, a));
  EXPECT_TRUE(partitioner.taken(0, b));
  EXPECT_FALSE(partitioner.taken(1, b));
  EXPECT_THAT(partitioner.declines(b)[0].text, HasSubstr("accelerator/npu:1"));
}

TEST_F(PlacementTest, WithoutRequiredOthersMayHaveWhatIsLeft) {
  make("[[placement]]\nmatch = { op = ['Relu'] }\nprovider = 'accelerator/npu:1'\n");
  partition::Partitioner partitioner(graph, {});
  placement.apply(graph, partitioner);
  ASSERT_TRUE(partitioner.offer(1, {}, {{b, partition::RejectCode::kType, "no"}}).ok());
  EXPECT_TRUE(placement.relax(graph, partitioner));
  EXPECT_FALSE(partitioner.taken(0, b));
  EXPECT_FALSE(placement.relax(graph, partitioner));
}

TEST_F(PlacementTest, RequiredIsAnErrorThatSaysWhy) {
  make("[[placement]]\nmatch = { op = ['Relu'] }\nprovider = 'accelerator/npu:1'\nrequired = true\n");
  partition::Partitioner partitioner(graph, {});
  placement.apply(graph, partitioner);
  ASSERT_TRUE(partitioner.offer(1, {}, {{b, partition::RejectCode::kType, "Relu: not float32"}}).ok());
  EXPECT_FALSE(placement.relax(graph, partitioner));
  const Status status = placement.check_open(graph, partitioner, {});
  EXPECT_EQ(status.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(status.to_string(), HasSubstr("Relu: not float32"));
  EXPECT_THAT(status.to_string(), HasSubstr("/decoder/b"));

  partition::Partition given;
  given.decisions.resize(graph.node_limit());
  given.decisions[a].provider = 0;
  given.decisions[b].provider = 1;
  EXPECT_TRUE(placement.check(graph, given).ok());
  given.decisions[b].provider = 0;
  EXPECT_FALSE(placement.check(graph, given).ok());
}

TEST_F(PlacementTest, ARuleForAProviderNotInTheSession) {
  make("[[placement]]\nmatch = { op = ['Relu'] }\nprovider = 'other'\n");
  partition::Partitioner partitioner(graph, {});
  placement.apply(graph, partitioner);
  EXPECT_FALSE(partitioner.taken(0, b));
  EXPECT_FALSE(partitioner.taken(1, b));
}

}  // namespace
}  // namespace tenon::runtime
