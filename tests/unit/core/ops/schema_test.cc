#include <gmock/gmock.h>

#include "tests/unit/core/build_graph.h"

namespace tenon::ops {
namespace {

using ir::Attribute;
using tenon::testing::f32;
using tenon::testing::GraphBuilder;
using ::testing::HasSubstr;

TEST(Schema, SinceVersion) {
  EXPECT_EQ(schema_since_version("", "Relu", 1), 1);
  EXPECT_EQ(schema_since_version("", "Relu", 13), 13);
  EXPECT_EQ(schema_since_version("ai.onnx", "Relu", 20), 14);
  EXPECT_EQ(schema_since_version("ai.onnx.ml", "ZipMap", 3), 1);
  EXPECT_EQ(schema_since_version("", "LayerNormalization", 16), 1);  // ONNX Runtime's own
  EXPECT_EQ(schema_since_version("", "LayerNormalization", 17), 17);
  EXPECT_EQ(schema_since_version("com.microsoft", "FastGelu", 1), 1);
  EXPECT_EQ(schema_since_version("com.acme", "Relu", 1), 0);
  EXPECT_EQ(schema_since_version("", "NoSuchThing", 20), 0);
}

TEST(Schema, LatestOpset) {
  EXPECT_GE(latest_opset(""), 23);
  EXPECT_EQ(latest_opset(""), latest_opset("ai.onnx"));
  EXPECT_GE(latest_opset("ai.onnx.ml"), 5);
  EXPECT_EQ(latest_opset("com.acme"), 0);
}

TEST(Schema, NearestOp) {
  EXPECT_EQ(nearest_op("", "Convv"), "Conv");
  EXPECT_EQ(nearest_op("", "relu"), "Relu");
  EXPECT_EQ(nearest_op("", "CompletelyDifferentName"), "");
}

TEST(Resolve, SetsVersionsAlsoInBodies) {
  GraphBuilder b(13);
  const auto x = b.input("x", f32({2}));
  const auto c = b.input("c", tenon::testing::type_of(ir::ElementType::kBool, {}));
  GraphBuilder then_body, else_body;
  then_body.output(then_body.op("Relu", {then_body.graph().add_capture(x, "x", f32({2}))}));
  else_body.output(else_body.op("Neg", {else_body.graph().add_capture(x, "x", f32({2}))}));
  b.output(b.op("If", {c},
                {Attribute::of_graph("then_branch", then_body.graph()),
                 Attribute::of_graph("else_branch", else_body.graph())}));
  ASSERT_TRUE(b.resolve().ok());
  const ir::Node& node = b.graph().node(0);
  EXPECT_EQ(node.since_version, 13);
  EXPECT_EQ(node.attributes[0].graphs[0]->node(0).since_version, 13);
  EXPECT_TRUE(is_control_flow(node));
  EXPECT_FALSE(is_nondeterministic(node));
}

TEST(Resolve, OwnOperatorsHaveAttributesToo) {
  const auto text = [](std::vector<Attribute> attributes) {
    GraphBuilder b;
    const auto x = b.input("x", f32({2, 3, 4}));
    b.op("com.microsoft:GroupNorm", {x, b.input("s", f32({4})), b.input("t", f32({4}))},
         std::move(attributes));
    return b.resolve().to_string();
  };
  const Attribute groups = Attribute::of_int("groups", 2), activation = Attribute::of_int("activation", 0);
  EXPECT_EQ(text({groups, activation}), "OK");
  EXPECT_EQ(text({groups, activation, Attribute::of_int("__note", 1)}), "OK");
  EXPECT_THAT(text({groups}),
              HasSubstr("operator com.microsoft.GroupNorm-1 needs its attribute 'activation'"));
  EXPECT_THAT(text({groups, activation, Attribute::of_int("group", 2)}),
              HasSubstr("has no attribute 'group'; did you mean 'groups'?"));
  EXPECT_THAT(text({groups, Attribute::of_float("activation", 1)}),
              HasSubstr("attribute 'activation' of operator com.microsoft.GroupNorm-1 must be of type"));
  EXPECT_THAT(text({groups, activation, activation}), HasSubstr("attribute 'activation' is given twice"));
}

/// A word of the table that cannot be read would be an attribute that nobody may give.
TEST(Resolve, EveryWordOfTheTableOfAttributesIsRead) {
  size_t own = 0;
  for (const OperatorVersion& op : all_operators()) {
    if (op.domain != "com.microsoft") continue;
    own += op.attributes.size();
    for (const auto& attribute : op.attributes)
      EXPECT_EQ(attribute.name.find_first_of(":! "), std::string::npos) << op.name << " " << attribute.name;
  }
  EXPECT_GT(own, 100u);
}

TEST(Resolve, UnknownOperatorNamesNodeAndNearest) {
  GraphBuilder b;
  b.op("Sigmoyd", {b.input("x", f32({2}))});
  const Status status = b.resolve();
  EXPECT_EQ(status.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(status.to_string(), HasSubstr("Sigmoyd"));
  EXPECT_THAT(status.to_string(), HasSubstr("nearest name is Sigmoid"));
  EXPECT_THAT(std::string(status.where()), HasSubstr("node"));
}

TEST(Resolve, OperatorOfALaterOpset) {
  GraphBuilder b(9);
  b.op("Gelu", {b.input("x", f32({2}))});
  EXPECT_THAT(b.resolve().to_string(), HasSubstr("after opset 9"));
}

TEST(Resolve, ForeignDomainsPass) {
  GraphBuilder b;
  b.op("com.acme:Fft", {b.input("x", f32({2}))}, {Attribute::of_int("any", 1)});
  EXPECT_TRUE(b.resolve().ok());
  EXPECT_EQ(b.graph().node(0).since_version, 0);
  EXPECT_TRUE(is_nondeterministic(b.graph().node(0)));
}

TEST(Resolve, OwnTableOfContribOperators) {
  GraphBuilder b;
  b.op("com.microsoft:FastGelu", {b.input("x", f32({2}))});
  EXPECT_TRUE(b.resolve().ok());
  EXPECT_EQ(b.graph().node(0).since_version, 1);
}

TEST(Resolve, Arity) {
  GraphBuilder few, many, variadic, hole;
  few.op("Add", {few.input("x", f32({2}))});
  EXPECT_THAT(few.resolve().to_string(), HasSubstr("Add-14 takes 2 inputs, the node has 1"));
  const auto x = many.input("x", f32({2}));
  many.op("Relu", {x, x});
  EXPECT_THAT(many.resolve().to_string(), HasSubstr("takes 1 inputs, the node has 2"));
  const auto v = variadic.input("x", f32({2}));
  variadic.op("Concat", {v, v, v, v}, {Attribute::of_int("axis", 0)});
  EXPECT_TRUE(variadic.resolve().ok());
  const auto h = hole.input("x", f32({2}));
  hole.op("Add", {ir::kNone, h});
  EXPECT_THAT(hole.resolve().to_string(), HasSubstr("input 0 ('A')"));
}

TEST(Resolve, InputsOfOwnOperatorsThatTheyNeedAreGiven) {
  GraphBuilder hole, optional;
  const auto x = hole.input("x", f32({2, 2}));
  hole.op("com.microsoft:FusedMatMul", {ir::kNone, x});
  EXPECT_THAT(hole.resolve().to_string(),
              HasSubstr("operator com.microsoft.FusedMatMul-1 needs its input 0, which is missing"));
  const auto q = optional.input("q", tenon::testing::type_of(ir::ElementType::kUInt8, {ir::Dim(2)}));
  const auto scale = optional.input("scale", f32({}));
  optional.op("com.microsoft:QLinearSigmoid", {q, scale, ir::kNone, scale});
  EXPECT_TRUE(optional.resolve().ok());
}

TEST(Resolve, Attributes) {
  GraphBuilder misspelt, wrong, missing, twice, internal;
  misspelt.op("Softmax", {misspelt.input("x", f32({2}))}, {Attribute::of_int("axs", 0)});
  EXPECT_THAT(misspelt.resolve().to_string(), HasSubstr("has no attribute 'axs'; did you mean 'axis'?"));
  wrong.op("Softmax", {wrong.input("x", f32({2}))}, {Attribute::of_float("axis", 0)});
  EXPECT_THAT(wrong.resolve().to_string(),
              HasSubstr("attribute 'axis' of operator Softmax-13 must be of type"));
  missing.op("Concat", {missing.input("x", f32({2}))});
  EXPECT_THAT(missing.resolve().to_string(), HasSubstr("needs its attribute 'axis'"));
  twice.op("Softmax", {twice.input("x", f32({2}))},
           {Attribute::of_int("axis", 0), Attribute::of_int("axis", 0)});
  EXPECT_THAT(twice.resolve().to_string(), HasSubstr("given twice"));
  internal.op("Softmax", {internal.input("x", f32({2}))}, {Attribute::of_int("__note", 0)});
  EXPECT_TRUE(internal.resolve().ok());
}

TEST(Resolve, WithdrawnOperators) {
  GraphBuilder old(9), late(11);
  const auto x = old.input("x", f32({1, 1, 2, 2}));
  old.op("Upsample", {x, old.constant(tenon::testing::floats({4}, {1, 1, 2, 2}))});
  EXPECT_TRUE(old.resolve().ok());
  const auto y = late.input("x", f32({1, 1, 2, 2}));
  late.op("Upsample", {y, late.constant(tenon::testing::floats({4}, {1, 1, 2, 2}))});
  EXPECT_EQ(late.resolve().kind(), ErrorKind::kUnsupported);
}

TEST(Resolve, OpsetImports) {
  GraphBuilder future(1000), none;
  future.op("Relu", {future.input("x", f32({2}))});
  EXPECT_THAT(future.resolve().to_string(), HasSubstr("opset 1000"));
  none.op("ai.onnx.training:Adam", {none.input("x", f32({2}))});
  EXPECT_THAT(none.resolve().to_string(), HasSubstr("imports no version of domain 'ai.onnx.training'"));
}

TEST(Resolve, ModelFunctionsComeFirst) {
  GraphBuilder b;
  ir::Function function;
  function.domain = "";
  function.name = "Relu";
  const auto inner = function.body.add_value("x");
  function.body.add_input(inner);
  function.body.add_output(inner);
  b.functions().push_back(function);
  const auto x = b.input("x", f32({2}));
  b.op("Relu", {x});
  ASSERT_TRUE(b.resolve().ok());
  EXPECT_EQ(b.graph().node(0).since_version, 0);
}

TEST(Nondeterministic, RandomAndTrainingDropout) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2}));
  b.op("RandomNormalLike", {x});
  b.op("Dropout", {x});
  b.op("Dropout", {x, ir::kNone, b.input("t", tenon::testing::type_of(ir::ElementType::kBool, {}))});
  ASSERT_TRUE(b.resolve().ok());
  EXPECT_TRUE(is_nondeterministic(b.graph().node(0)));
  EXPECT_FALSE(is_nondeterministic(b.graph().node(1)));
  EXPECT_TRUE(is_nondeterministic(b.graph().node(2)));
}

}  // namespace
}  // namespace tenon::ops
