
#include "tests/support/cpu_time.h"
#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;

using ::testing::HasSubstr;

TEST(Pipeline, NamesAreChecked) {
  ir::Model model;
  transform::Options options;
  options.enabled["no_such_thing"] = true;
  const auto report = transform::run_pipeline(model.graph, model, options);
  EXPECT_EQ(report.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(report.status().to_string(), HasSubstr("no_such_thing"));
}

TEST(Pipeline, EachTransformIsSwitchedOffByName) {
  for (const transform::Transform& one : transform::transforms()) {
    GraphBuilder b;
    b.output(b.op("Relu", {b.op("Identity", {b.input("x", f32({2}))})}));
    ir::Model model;
    model.graph = b.done();
    model.opset_imports = b.imports();
    transform::Options options;
    options.enabled[one.name] = false;
    const auto report = transform::run_pipeline(model.graph, model, options);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->applied.size(), transform::transforms().size() - 1);
    EXPECT_EQ(model.graph.node_count(), one.name == "identity_removal" ? 2u : 1u);
  }
}

TEST(Pipeline, WorksThroughWhatOneTransformOpensForAnother) {
  GraphBuilder b;
  const auto x = b.input("x", f32({1, 2, 4, 4}));
  const auto channels = b.op("Gather", {b.op("Shape", {x}), b.ints({1})});
  const auto condition = b.op("Squeeze", {b.op("Equal", {channels, b.ints({2})}), b.ints({0})});
  GraphBuilder yes, no;
  yes.output(yes.op("Pad", {yes.graph().add_capture(x, "x", {}), yes.ints({0, 0, 1, 1, 0, 0, 1, 1})}));
  no.output(no.op("Exp", {no.graph().add_capture(x, "x", {})}));
  const auto chosen =
      b.op("If", {condition},
           {Attribute::of_graph("then_branch", yes.graph()), Attribute::of_graph("else_branch", no.graph())});
  b.output(b.op("Conv", {chosen, b.constant(some_floats({3, 2, 3, 3}))}));
  const auto result = transformed(b, "", {some({1, 2, 4, 4})});
  EXPECT_EQ(result.nodes(), 1u);
}

TEST(Pipeline, LongChainsTakeNearlyLinearTime) {
  auto seconds = [](int nodes) {
    GraphBuilder b;
    auto x = b.input("x", f32({2}));
    for (int i = 0; i < nodes; ++i) x = b.op(i % 3 == 0 ? "Identity" : i % 3 == 1 ? "Relu" : "Neg", {x});
    b.output(x);
    ir::Model model;
    model.graph = b.done();
    model.opset_imports = b.imports();
    const double start = test::cpu_seconds();
    EXPECT_TRUE(transform::run_pipeline(model.graph, model, {}).ok());
    return test::cpu_seconds() - start;
  };
  const double small = seconds(2'000), large = seconds(20'000);
  // Ten times the nodes; the second covers a clock of coarse steps. Quadratic would be 100 times.
  EXPECT_LT(large, 40 * small + 1.0);
}

}  // namespace
}  // namespace tenon::testing
