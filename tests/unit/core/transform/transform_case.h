// Runs one transform over a small graph and checks that the graph means what it did.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "core/transform/transform.h"
#include "tests/unit/core/build_graph.h"
#include "tests/unit/core/transform/reference.h"

namespace tenon::testing {

inline ir::TensorPtr some_floats(std::vector<int64_t> dims, uint32_t seed = 7) {
  return tensor_of(some(std::move(dims), seed), ir::ElementType::kFloat32);
}

struct TransformResult {
  ir::Model model;
  size_t changes = 0;

  size_t count(std::string_view op_type) const {
    size_t found = 0;
    for (ir::NodeId id = 0; id < model.graph.node_limit(); ++id) {
      found += model.graph.has_node(id) && model.graph.node(id).op_type == op_type ? 1 : 0;
    }
    return found;
  }
  size_t nodes() const { return model.graph.node_count(); }
};

inline void expect_close(const std::vector<Array>& got, const std::vector<Array>& wanted,
                         double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].dims, wanted[i].dims) << "output " << i;
    ASSERT_EQ(got[i].values.size(), wanted[i].values.size()) << "output " << i;
    for (size_t j = 0; j < got[i].values.size(); ++j) {
      ASSERT_NEAR(got[i].values[j], wanted[i].values[j],
                  tolerance * std::max(1.0, std::fabs(wanted[i].values[j])))
          << "output " << i << " element " << j;
    }
  }
}

/// Switches all transforms but the named one off, and none for "".
inline transform::Options only(const std::string& name) {
  transform::Options options;
  for (const transform::Transform& each : transform::transforms())
    options.enabled[each.name] = name.empty() || each.name == name;
  return options;
}

/// Runs the named transform alone (all of them for ""), then checks structure, names and types of the border,
/// the values for `inputs`, and that a second run changes nothing.
inline TransformResult transformed(GraphBuilder& builder, const std::string& name,
                                   const std::vector<Array>& inputs) {
  TransformResult result;
  result.model.graph = builder.done();
  result.model.opset_imports = builder.imports();
  const ir::Graph before = result.model.graph;
  transform::Options options = only(name);
  options.evaluator = evaluate_constants;
  const Result<transform::Report> report = transform::run_pipeline(result.model.graph, result.model, options);
  EXPECT_TRUE(report.ok()) << report.status().to_string();
  if (!report.ok()) return result;
  for (const transform::Applied& applied : report->applied) result.changes += applied.changes;

  const ir::Graph& after = result.model.graph;
  const Status sound = ir::verify(after);
  EXPECT_TRUE(sound.ok()) << sound.to_string() << ir::to_text(after);
  EXPECT_EQ(after.inputs().size(), before.inputs().size());
  for (size_t i = 0; i < before.outputs().size(); ++i) {
    EXPECT_EQ(after.value(after.outputs()[i]).name, before.value(before.outputs()[i]).name);
    // Dimensions may be known better than before.
    const ir::Type &now = after.value(after.outputs()[i]).type,
                   &then = before.value(before.outputs()[i]).type;
    EXPECT_EQ(now.element, then.element);
    EXPECT_EQ(now.shape.rank(), then.shape.rank());
  }
  const auto wanted = evaluate(before, inputs), got = evaluate(after, inputs);
  EXPECT_TRUE(wanted.ok()) << wanted.status().to_string();
  EXPECT_TRUE(got.ok()) << got.status().to_string() << ir::to_text(after);
  if (wanted.ok() && got.ok()) expect_close(*got, *wanted);

  const Result<transform::Report> again = transform::run_pipeline(result.model.graph, result.model, options);
  EXPECT_TRUE(again.ok()) << again.status().to_string();
  if (again.ok()) {
    for (const transform::Applied& applied : again->applied) EXPECT_EQ(applied.changes, 0u) << applied.name;
  }
  return result;
}

}  // namespace tenon::testing
