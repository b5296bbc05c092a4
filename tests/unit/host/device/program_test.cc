#include "host/device/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "host/device/capability.h"
#include "host/device/node_runner.h"
#include "tests/unit/host/device/fake_provider.h"

namespace tenon::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

ir::TensorPtr floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return *ir::Tensor::make(ir::ElementType::kFloat32, std::move(dims), std::move(bytes));
}
std::vector<float> floats_of(const tenon_tensor& t) {
  const auto* data = static_cast<const float*>(t.data);
  return {data, data + t.byte_size / sizeof(float)};
}

/// y = Relu(Add(x, k)); s = Shape(y); z = Neg(Mul(y, y)); shape inputs for r = Reshape(z, s2).
class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto type = ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape({ir::Dim("N"), ir::Dim(2)}));
    x = input("x", type);
    const auto k = graph.add_constant("k", floats({2}, {1, -1}));
    add = node("add", "Add", {x, k}, type);
    relu = node("relu", "Relu", {out(add)}, type);
    shape =
        node("shape", "Shape", {out(relu)}, ir::Type::tensor(ir::ElementType::kInt64, ir::Shape::of({2})));
    mul = node("mul", "Mul", {out(relu), out(relu)}, type);
    neg = node("neg", "Neg", {out(mul)}, type);
    graph.add_output(out(neg));
    graph.add_output(out(shape));
    source.graph = &graph;
    source.opset_imports = &opsets;
    source.constants = &constants;
  }

  ir::ValueId input(const std::string& name, const ir::Type& type) {
    const ir::ValueId id = graph.add_value(name, type);
    graph.add_input(id);
    return id;
  }
  ir::NodeId node(const std::string& name, const std::string& op, std::vector<ir::ValueId> in,
                  const ir::Type& type) {
    ir::Node n;
    n.name = name;
    n.op_type = op;
    n.since_version = 13;
    n.inputs = std::move(in);
    n.outputs = {graph.add_value(name + "_out", type)};
    return graph.add_node(std::move(n));
  }
  ir::ValueId out(ir::NodeId id) const { return graph.node(id).outputs[0]; }

  Result<std::shared_ptr<Program>> compile(const std::shared_ptr<Instance>& instance,
                                           const partition::Part& part) const {
    ASSIGN_OR_RETURN(GraphView view,
                     GraphView::of_claim(source, {part.claim.nodes, part.inputs, part.outputs}));
    return Program::compile(instance, view, part.claim.tag, "nodes 'add' ... 'neg'");
  }
  /// The one part that the instance offers, with the Shape node left to nobody.
  Result<partition::Part> ask(Instance& instance) const {
    partition::Partitioner partitioner(graph, [](const ir::Node& n) { return n.op_type == "Shape"; });
    ASSIGN_OR_RETURN(const GraphView view,
                     GraphView::whole(source, [&](ir::NodeId id) { return partitioner.taken(0, id); }));
    ASSIGN_OR_RETURN(Offer offer, ask_capability(instance, view));
    RETURN_IF_ERROR(partitioner.offer(0, std::move(offer.claims), std::move(offer.rejections)));
    ASSIGN_OR_RETURN(partition::Partition done, partitioner.finish([](auto) { return "accelerator"; }));
    return done.parts[0];
  }

  ir::Graph graph;
  std::map<std::string, int64_t> opsets = {{"", 21}};
  ConstantPool constants;
  GraphSource source;
  ir::ValueId x = 0;
  ir::NodeId add = 0, relu = 0, shape = 0, mul = 0, neg = 0;
  const std::vector<ir::Type> two_outputs = {
      ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape::of({3, 2})),
      ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape::of({3, 2})),
  };
};

TEST_F(ProgramTest, CapabilityOffersTheLargestGroup) {
  const auto instance = *test::make_accelerator();
  const GraphView view = *GraphView::whole(source, {});
  const auto offer = ask_capability(*instance, view);
  ASSERT_TRUE(offer.ok()) << offer.error().to_string();
  ASSERT_EQ(offer->claims.size(), 1u);
  EXPECT_THAT(offer->claims[0].nodes, UnorderedElementsAre(add, relu, mul, neg));
  EXPECT_EQ(offer->claims[0].input_domain, 1u);
  ASSERT_EQ(offer->rejections.size(), 1u);
  EXPECT_EQ(offer->rejections[0].node, shape);
  EXPECT_EQ(offer->rejections[0].code, partition::RejectCode::kOperator);
  EXPECT_THAT(offer->rejections[0].text, HasSubstr("Shape"));
}

TEST_F(ProgramTest, OptionsReachTheProvider) {
  const auto instance = *test::make_accelerator("npu:0", "ops = 'Add,Neg'\nmax_nodes = 1");
  const auto offer = ask_capability(*instance, *GraphView::whole(source, {}));
  ASSERT_EQ(offer->claims.size(), 2u);
  EXPECT_EQ(offer->rejections.size(), 3u);
}

TEST_F(ProgramTest, RunsOnBothDevices) {
  for (const std::string device : {"npu:0", "npu:1"}) {
    const auto instance = *test::make_accelerator(device);
    EXPECT_EQ(instance->id(), "accelerator/" + device);
    const partition::Part part = *ask(*instance);
    const auto program = compile(instance, part);
    ASSERT_TRUE(program.ok()) << program.error().to_string();
    const MemoryDomain* domain = instance->device().find_domain(1);
    const MemoryDomain* domains[] = {domain, domain, domain};
    const ValueRef in = *value_of(floats({3, 2}, {0, 0, 1, 2, -5, 3}));
    const auto outputs = run_program(*program, std::span(&in, 1), two_outputs, domains);
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    EXPECT_THAT(floats_of((*outputs)[0]->tensor), ElementsAre(1, 0, 2, 1, 0, 2));
    EXPECT_THAT(floats_of((*outputs)[1]->tensor), ElementsAre(-1, -0.f, -4, -1, -0.f, -4));
  }
}

TEST_F(ProgramTest, TheHostsInferenceMayLeaveShapesOpen) {
  const auto instance = *test::make_accelerator();
  const auto program = *compile(instance, *ask(*instance));
  const ValueRef in = *value_of(floats({1, 2}, {4, 4}));
  const MemoryDomain* domain = instance->device().find_domain(1);
  const MemoryDomain* domains[] = {domain, domain, domain};
  const std::vector<ir::Type> open = {ir::Type::tensor(ir::ElementType::kFloat32),
                                      ir::Type::tensor(ir::ElementType::kFloat32)};
  const auto outputs = run_program(program, std::span(&in, 1), open, domains);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  EXPECT_THAT((*outputs)[0]->dims(), ElementsAre(1, 2));
  const Status wrong = run_program(program, std::span(&in, 1), two_outputs, domains).error();
  EXPECT_EQ(wrong.code(), StatusCode::kInternal);
  EXPECT_THAT(wrong.to_string(), HasSubstr("the shape"));
}

TEST_F(ProgramTest, FaultsNameProviderAndPart) {
  for (const std::string fault : {"compile", "prepare", "run"}) {
    const auto instance = *test::make_accelerator("npu:0", "fault = '" + fault + "'");
    const auto program = compile(instance, *ask(*instance));
    Status status = program.error();
    if (program.ok()) {
      const ValueRef in = *value_of(floats({3, 2}, {0, 0, 1, 2, -5, 3}));
      const MemoryDomain* domain = instance->device().find_domain(1);
      const MemoryDomain* domains[] = {domain, domain, domain};
      status = run_program(*program, std::span(&in, 1), two_outputs, domains).error();
    }
    EXPECT_THAT(status.to_string(), HasSubstr("the injected fault '" + fault + "'"));
    EXPECT_THAT(std::string(status.where()), HasSubstr("accelerator 1.0.0: nodes 'add' ... 'neg'"));
  }
  EXPECT_THAT(test::make_accelerator("npu:0", "fault = 'instance'").error().to_string(),
              HasSubstr("creating 'accelerator/npu:0'"));
  const auto instance = *test::make_accelerator("npu:0", "fault = 'capability'");
  EXPECT_FALSE(ask(*instance).ok());
}

TEST_F(ProgramTest, ALateErrorIsNotOfTheProgramThatReportsIt) {
  const auto instance = *test::make_accelerator();
  const auto program = *compile(instance, *ask(*instance));
  tenon_error error = make_error();
  EXPECT_EQ(program->status(TENON_INTERNAL, error).where(), "accelerator 1.0.0: nodes 'add' ... 'neg'");
  error.flags = TENON_ERROR_ASYNC;
  EXPECT_EQ(program->status(TENON_INTERNAL, error).where(),
            "accelerator 1.0.0: work that was enqueued earlier");
}

TEST_F(ProgramTest, ALostDeviceStaysLost) {
  const auto instance = *test::make_accelerator("npu:0", "fault = 'lost'\nfault_after = 1");
  const auto program = *compile(instance, *ask(*instance));
  const ValueRef in = *value_of(floats({3, 2}, {0, 0, 1, 2, -5, 3}));
  const MemoryDomain* domain = instance->device().find_domain(1);
  const MemoryDomain* domains[] = {domain, domain, domain};
  EXPECT_TRUE(run_program(program, std::span(&in, 1), two_outputs, domains).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run_program(program, std::span(&in, 1), two_outputs, domains).error().kind(),
              ErrorKind::kDeviceLost);
  }
}

TEST_F(ProgramTest, SerialiseModesGiveTheLock) {
  const auto first = *test::make_accelerator("npu:0"), second = *test::make_accelerator("npu:1");
  EXPECT_EQ((*compile(first, *ask(*first)))->run_mutex(), nullptr);  // per binding, and it binds
  EXPECT_EQ((*compile(second, *ask(*second)))->run_mutex(), &second->device().run_mutex());
}

TEST(NodeRunner, RunsOneNodeOnConstants) {
  const NodeRunner runner(*test::make_accelerator(), {{"", 21}});
  ir::Node node;
  node.name = "m";
  node.op_type = "MatMul";
  node.since_version = 13;
  node.inputs = {0, 1};
  node.outputs = {2};
  const auto made = runner.run(node, {floats({1, 2}, {1, 2}), floats({2, 2}, {1, 2, 3, 4})});
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  EXPECT_TRUE((*made)[0]->same_as(*floats({1, 2}, {7, 10})));

  node.op_type = "Gather";
  const auto declined = runner.run(node, {floats({1, 2}, {1, 2}), ir::Tensor::of_ints({0})});
  EXPECT_EQ(declined.error().kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(declined.error().to_string(), HasSubstr("operator Gather is not implemented"));
}

}  // namespace
}  // namespace tenon::runtime
