#include <gmock/gmock.h>

#include "tests/unit/core/build_graph.h"

namespace tenon::ops {
namespace {

using ir::Attribute;
using tenon::testing::f32;
using tenon::testing::GraphBuilder;
using tenon::testing::type_of;
using ::testing::HasSubstr;

/// A body that gives each of its inputs, and then `more` of the last one again.
ir::Graph body(const std::vector<ir::Type>& inputs, size_t outputs) {
  GraphBuilder b;
  std::vector<ir::ValueId> values;
  for (size_t i = 0; i < inputs.size(); ++i) values.push_back(b.input("in" + std::to_string(i), inputs[i]));
  for (size_t i = 0; i < outputs; ++i) b.output(b.op("Identity", {values[std::min(i, values.size() - 1)]}));
  return b.graph();
}

const ir::Type kBool = type_of(ir::ElementType::kBool, {}), kTurn = type_of(ir::ElementType::kInt64, {});

std::string loop_error(const ir::Graph& the_body) {
  GraphBuilder b;
  const auto trips = b.input("trips", kTurn), go = b.input("go", kBool), x = b.input("x", f32({2}));
  b.output(b.op("Loop", {trips, go, x}, {Attribute::of_graph("body", the_body)}));
  return b.resolve().to_string();
}

TEST(Bodies, OfALoopFitTheNode) {
  // The body must pass its condition on first, so a turn number in its place is for inference to refuse.
  EXPECT_EQ(loop_error(body({kTurn, kBool, f32({2})}, 2)), "OK");
  EXPECT_THAT(loop_error(body({kTurn, kBool}, 2)),
              HasSubstr("the body has 2 inputs, but the node gives it 3"));
  EXPECT_THAT(loop_error(body({kTurn, kBool, f32({2})}, 1)),
              HasSubstr("gives 1 values and the node needs at least 2"));
  EXPECT_THAT(loop_error(body({kTurn, kBool, f32({2})}, 4)),
              HasSubstr("gives 3 values for outputs, but the node has"));
}

std::string scan_error(std::vector<Attribute> attributes, size_t inputs, size_t outputs) {
  GraphBuilder b;
  const auto x = b.input("x", f32({3, 2}));
  attributes.push_back(Attribute::of_graph("body", body(std::vector<ir::Type>(inputs, f32({2})), outputs)));
  b.output(b.op("Scan", {x}, std::move(attributes)));
  return b.resolve().to_string();
}

TEST(Bodies, OfAScanFitTheNode) {
  const Attribute one = Attribute::of_int("num_scan_inputs", 1);
  EXPECT_EQ(scan_error({one}, 1, 1), "OK");
  EXPECT_THAT(scan_error({Attribute::of_int("num_scan_inputs", -1)}, 1, 1),
              HasSubstr("num_scan_inputs is -1"));
  EXPECT_THAT(scan_error({Attribute::of_int("num_scan_inputs", int64_t{1} << 40)}, 1, 1),
              HasSubstr("of 1 inputs"));
  EXPECT_THAT(scan_error({one}, 2, 1), HasSubstr("the body has 2 inputs"));
  EXPECT_THAT(scan_error({one, Attribute::of_ints("scan_input_directions", {0, 1})}, 1, 1),
              HasSubstr("'scan_input_directions' has 2 entries for 1 values"));
}

TEST(Bodies, OfAnIfHaveNoInputs) {
  GraphBuilder b;
  const auto c = b.input("c", kBool);
  b.output(b.op("If", {c},
                {Attribute::of_graph("then_branch", body({f32({2})}, 1)),
                 Attribute::of_graph("else_branch", body({f32({2})}, 1))}));
  EXPECT_THAT(b.resolve().to_string(), HasSubstr("a branch of an If must not have any"));
}

}  // namespace
}  // namespace tenon::ops
