// What exporters really write becomes one operator each.
#include "core/onnx/onnx.h"
#include "tests/support/paths.h"
#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

struct Cut {
  std::string file, op_type;
  std::vector<int64_t> input;
};

TEST(RaiseExported, BecomesOneOperator) {
  const Cut cuts[] = {
      {"swish_torch_1", "Swish", {1, 16, 4, 4}},
      {"swish_torch_2", "Swish", {1, 32, 4, 4}},
      {"swish_llama", "Swish", {1, 4, 8}},
      {"gelu_gpt2", "Gelu", {1, 4, 8}},
      {"gelu_tinybert", "Gelu", {1, 3, 8}},
      {"gelu_distilbert", "Gelu", {1, 3, 8}},
      {"gelu_ort_toy", "Gelu", {1, 3, 8}},
      {"layer_norm_tinybert", "LayerNormalization", {1, 3, 50}},
      {"layer_norm_distilbert", "LayerNormalization", {1, 3, 2}},
      {"layer_norm_ort_toy", "LayerNormalization", {1, 3, 32}},
      {"layer_norm_vespa", "LayerNormalization", {1, 3, 8}},
      {"rms_llama", "RMSNormalization", {1, 3, 768}},
  };
  for (const Cut& cut : cuts) {
    SCOPED_TRACE(cut.file);
    auto model = onnx::load(test::source_dir() + "/tests/data/exported/" + cut.file + ".onnx", {});
    ASSERT_TRUE(model.ok()) << model.status().to_string();
    const ir::Graph before = model->graph;
    transform::Options options;
    options.evaluator = evaluate_constants;
    const auto report = transform::run_pipeline(model->graph, *model, options);
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    ASSERT_EQ(model->graph.node_count(), 1u) << ir::to_text(model->graph);
    ir::NodeId id = 0;
    while (!model->graph.has_node(id)) ++id;
    EXPECT_EQ(model->graph.node(id).op_type, cut.op_type);
    const auto wanted = evaluate(before, {some(cut.input)}), got = evaluate(model->graph, {some(cut.input)});
    ASSERT_TRUE(wanted.ok() && got.ok()) << wanted.status().to_string() << got.status().to_string();
    expect_close(*got, *wanted, 1e-5);
  }
}

}  // namespace
}  // namespace tenon::testing
