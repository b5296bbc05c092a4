#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;

const std::string kName = "transpose_sinking";

Attribute perm(std::vector<int64_t> axes) { return Attribute::of_ints("perm", std::move(axes)); }

TEST(TransposeSinking, TwoBecomeOne) {
  GraphBuilder b;
  auto x = b.input("x", f32({2, 3, 4}));
  x = b.op("Transpose", {x}, {perm({2, 0, 1})});
  x = b.op("Transpose", {x}, {perm({0, 2, 1})});
  b.output(b.op("Relu", {x}));
  const auto result = transformed(b, kName, {some({2, 3, 4})});
  EXPECT_EQ(result.count("Transpose"), 1u);
}

TEST(TransposeSinking, InversesCancelWithIdentityRemoval) {
  GraphBuilder b;
  auto x = b.input("x", f32({2, 3, 4}));
  x = b.op("Transpose", {x}, {perm({2, 0, 1})});
  x = b.op("Transpose", {x}, {perm({1, 2, 0})});
  b.output(b.op("Relu", {x}));
  EXPECT_EQ(transformed(b, "", {some({2, 3, 4})}).nodes(), 1u);
}

TEST(TransposeSinking, AcrossElementwiseNodes) {
  GraphBuilder b;
  auto x = b.input("x", f32({1, 3, 4, 5})), y = b.input("y", f32({1, 3, 4, 5}));
  x = b.op("Relu", {b.op("Transpose", {x}, {perm({0, 2, 3, 1})})});
  y = b.op("Transpose", {y}, {perm({0, 2, 3, 1})});
  const auto sum = b.op("Add", {x, b.op("Mul", {y, b.constant(floats({}, {2}))})});
  b.output(b.op("Neg", {b.op("Transpose", {sum}, {perm({0, 3, 1, 2})})}));
  const auto result = transformed(b, kName, {some({1, 3, 4, 5}, 1), some({1, 3, 4, 5}, 2)});
  EXPECT_EQ(result.count("Transpose"), 0u);
  EXPECT_EQ(result.nodes(), 4u);
}

TEST(TransposeSinking, NotAcrossWhatKnowsItsAxesOrOtherUsers) {
  GraphBuilder axes, users, wrong;
  auto x = axes.op("Transpose", {axes.input("x", f32({2, 3}))});
  axes.output(axes.op("Transpose", {axes.op("Softmax", {x}, {Attribute::of_int("axis", 1)})}));
  EXPECT_EQ(transformed(axes, kName, {some({2, 3})}).changes, 0u);
  x = users.op("Relu", {users.op("Transpose", {users.input("x", f32({2, 3}))})});
  users.output(users.op("Transpose", {x}));
  users.output(users.op("Neg", {x}));
  EXPECT_EQ(transformed(users, kName, {some({2, 3})}).changes, 0u);
  x = wrong.op("Relu", {wrong.op("Transpose", {wrong.input("x", f32({2, 3, 4}))}, {perm({1, 2, 0})})});
  wrong.output(wrong.op("Transpose", {x}, {perm({1, 2, 0})}));
  EXPECT_EQ(transformed(wrong, kName, {some({2, 3, 4})}).changes, 0u);
}

TEST(TransposeSinking, NotWhenAnOperandBroadcasts) {
  GraphBuilder b;
  const auto x = b.op("Transpose", {b.input("x", f32({2, 3}))});
  const auto y = b.op("Transpose", {b.input("y", f32({2, 3}))});
  const auto vector = b.constant(some_floats({2}));
  b.output(b.op("Transpose", {b.op("Add", {b.op("Mul", {x, vector}), y})}));
  EXPECT_EQ(transformed(b, kName, {some({2, 3}), some({2, 3}, 2)}).changes, 0u);
}

}  // namespace
}  // namespace tenon::testing
