#include <gmock/gmock.h>

#include "tests/support/cpu_time.h"
#include "tests/unit/core/build_graph.h"

namespace tenon::ops {
namespace {

using ir::Attribute;
using ir::Dim;
using ir::ElementType;
using tenon::testing::f32;
using tenon::testing::GraphBuilder;
using tenon::testing::i64;
using tenon::testing::type_of;
using ::testing::HasSubstr;

ir::Type batched(std::vector<Dim> rest) {
  rest.insert(rest.begin(), Dim(std::string("N")));
  return type_of(ElementType::kFloat32, std::move(rest));
}

TEST(InferGraph, ShapesAndSymbols) {
  GraphBuilder b;
  const auto x = b.input("x", batched({3, 8, 8}));
  const auto w = b.constant(tenon::testing::floats({4, 3, 3, 3}, std::vector<float>(108)));
  const auto conv = b.op("Conv", {x, w}, {Attribute::of_ints("pads", {1, 1, 1, 1})});
  const auto relu = b.op("Relu", {conv});
  const auto sum = b.op("Add", {relu, b.constant(tenon::testing::floats({4, 1, 1}, std::vector<float>(4)))});
  b.output(sum);
  b.done();
  EXPECT_EQ(b.type(conv), "float32[N,4,8,8]");
  EXPECT_EQ(b.type(sum), "float32[N,4,8,8]");
}

TEST(InferGraph, QuantizedGemm) {
  for (const bool is_quantized : {false, true}) {
    GraphBuilder b;
    const auto byte = [&](std::vector<Dim> dims) { return type_of(ElementType::kInt8, std::move(dims)); };
    const auto scale = b.input("scale", f32({})), zero = b.input("zero", byte({}));
    std::vector<ir::ValueId> in = {b.input("a", byte({Dim(5), Dim(std::string("N"))})),
                                   scale,
                                   zero,
                                   b.input("b", byte({Dim(7), Dim(5)})),
                                   scale,
                                   zero};
    if (is_quantized)
      in.insert(in.end(), {ir::kNone, scale, b.input("y_zero", type_of(ElementType::kUInt8, {}))});
    const auto y =
        b.op("com.microsoft:QGemm", in, {Attribute::of_int("transA", 1), Attribute::of_int("transB", 1)});
    b.output(y);
    b.done();
    EXPECT_EQ(b.type(y), is_quantized ? "uint8[N,7]" : "float32[N,7]");
  }
}

TEST(InferGraph, ShapeArithmetic) {
  GraphBuilder b;
  const auto x = b.input("x", batched({4, 6}));
  const auto shape = b.op("Shape", {x});
  const auto batch = b.op("Gather", {shape, b.ints({0})}, {Attribute::of_int("axis", 0)});
  const auto width = b.op("Gather", {shape, b.constant(ir::Tensor::scalar_int(2))});
  const auto half = b.op("Div", {width, b.constant(ir::Tensor::scalar_int(2))});
  const auto half_list = b.op("Unsqueeze", {half, b.ints({0})});
  const auto target = b.op("Concat", {batch, half_list, b.ints({-1})}, {Attribute::of_int("axis", 0)});
  const auto y = b.op("Reshape", {x, target});
  b.done();
  EXPECT_EQ(b.type(target), "int64[3]");
  EXPECT_THAT(b.type(y), HasSubstr("float32[N,3,"));
}

TEST(InferGraph, EqualExpressionsOfDimensionsHaveEqualSymbols) {
  GraphBuilder b;
  const auto x = b.input("x", batched({4}));
  auto flattened = [&] {
    const auto batch = b.op("Gather", {b.op("Shape", {x}), b.ints({0})});
    const auto total = b.op("Mul", {batch, b.ints({4})});
    return b.op("Reshape", {x, total});
  };
  const auto sum = b.op("Add", {flattened(), flattened()});
  b.done();
  EXPECT_EQ(b.type(sum), "float32[4*N]");
}

TEST(InferGraph, DataDependentDimensionsGetSymbolsOfTheirOwn) {
  GraphBuilder b;
  const auto x = b.input("x", f32({4}));
  const auto found = b.op("NonZero", {x});
  const auto again = b.op("Neg", {found});
  const auto other = b.op("NonZero", {x});
  b.done();
  EXPECT_EQ(b.type(found), b.type(again));
  EXPECT_NE(b.type(found), b.type(other));
}

TEST(InferGraph, ElementTypesAreChecked) {
  GraphBuilder mixed, wrong;
  mixed.op("Add", {mixed.input("x", f32({2})), mixed.input("y", i64({2}))});
  const Status differ = mixed.infer();
  EXPECT_EQ(differ.kind(), ErrorKind::kInvalidModel);
  EXPECT_THAT(differ.to_string(), HasSubstr("input 1 ('B') is int64[2]"));
  wrong.op("Conv", {wrong.input("x", i64({1, 1, 2, 2})), wrong.input("w", i64({1, 1, 1, 1}))});
  EXPECT_THAT(wrong.infer().to_string(), HasSubstr("operator Conv-11 takes float32, float16, float64"));
}

TEST(InferGraph, ContradictingShapes) {
  GraphBuilder b;
  b.op("MatMul", {b.input("x", f32({2, 3})), b.input("y", f32({4, 5}))});
  const Status status = b.infer();
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidModel);
  EXPECT_THAT(std::string(status.where()), HasSubstr("MatMul"));
}

TEST(InferGraph, StaleDeclaredShapesGiveWayAndElementTypesDoNot) {
  GraphBuilder stale, wrong;
  const auto y = stale.op("Relu", {stale.input("x", f32({2, 3}))});
  stale.graph().set_type(y, f32({7, 3}));
  stale.output(y);
  stale.done();
  EXPECT_EQ(stale.type(y), "float32[2,3]");
  const auto z = wrong.op("Relu", {wrong.input("x", f32({2, 3}))});
  wrong.graph().set_type(z, i64({2, 3}));
  EXPECT_THAT(wrong.infer().to_string(),
              HasSubstr("is declared as int64[2,3], but computed as float32[2,3]"));
}

TEST(InferGraph, ADeclaredNumberFillsAnUnknownDimension) {
  GraphBuilder b;
  const auto y = b.op("NonZero", {b.input("x", f32({4}))});
  b.graph().set_type(y, i64({1, 3}));
  b.done();
  EXPECT_EQ(b.type(y), "int64[1,3]");
}

TEST(InferGraph, InputShapesReplaceSymbols) {
  GraphBuilder b;
  const auto x = b.input("x", batched({3}));
  const auto y = b.op("Transpose", {x});
  ASSERT_TRUE(b.infer({{x, ir::Shape::of({5, 3})}}).ok());
  EXPECT_EQ(b.type(y), "float32[3,5]");
  EXPECT_EQ(b.infer({{x, ir::Shape::of({5})}}).kind(), ErrorKind::kInvalidInput);
}

TEST(InferGraph, BranchesAreMerged) {
  GraphBuilder b;
  const auto x = b.input("x", batched({3}));
  const auto c = b.input("c", type_of(ElementType::kBool, {}));
  GraphBuilder yes, no;
  const auto in_yes = yes.graph().add_capture(x, "x", {});
  const auto in_no = no.graph().add_capture(x, "x", {});
  yes.output(yes.op("Relu", {in_yes}));
  no.output(no.op("Concat", {in_no, in_no}, {Attribute::of_int("axis", 1)}));
  const auto y =
      b.op("If", {c},
           {Attribute::of_graph("then_branch", yes.graph()), Attribute::of_graph("else_branch", no.graph())});
  b.done();
  EXPECT_THAT(b.type(y), HasSubstr("float32[N,"));
  const ir::Graph& body = *b.graph().node(0).attributes[1].graphs[0];
  EXPECT_EQ(body.value(body.outputs()[0]).type.to_string(), "float32[N,6]");
}

TEST(InferGraph, LoopStateLosesItsShapeAndScanOutputsGainADimension) {
  GraphBuilder b;
  const auto trips = b.constant(ir::Tensor::scalar_int(3));
  const auto state = b.input("s", f32({2}));
  GraphBuilder body;
  body.input("i", i64({}));
  const auto keep = body.input("keep", type_of(ElementType::kBool, {}));
  const auto in = body.input("in", ir::Type::tensor(ElementType::kFloat32));
  const auto next = body.op("Concat", {in, in}, {Attribute::of_int("axis", 0)});
  const auto scalar = body.op("ReduceSum", {in}, {Attribute::of_int("keepdims", 0)});
  body.output(body.op("Identity", {keep}));
  body.output(next);
  body.output(scalar);
  const auto out = b.ops("Loop", {trips, ir::kNone, state}, 2, {Attribute::of_graph("body", body.graph())});
  b.done();
  EXPECT_EQ(b.type(out[0]), "float32[?...]");
  EXPECT_THAT(b.type(out[1]), HasSubstr("float32["));
}

TEST(InferGraph, FunctionsThroughTheirBodies) {
  GraphBuilder b;
  ir::Function function;
  function.domain = "local";
  function.name = "Widen";
  function.attributes = {"to"};
  const auto x = function.body.add_value("x");
  function.body.add_input(x);
  function.body.add_input(function.body.add_value("unused"));
  ir::Node cast;
  cast.op_type = "Cast";
  cast.since_version = 13;
  cast.inputs = {x};
  cast.outputs = {function.body.add_value("y")};
  Attribute to;
  to.name = "to";
  to.type = ir::AttributeType::kInt;
  to.reference = "to";
  cast.attributes = {to};
  const auto y = cast.outputs[0];
  function.body.add_node(cast);
  function.body.add_output(y);
  b.functions().push_back(function);
  const auto out = b.op("local:Widen", {b.input("x", f32({2}))}, {Attribute::of_int("to", 11)});
  b.done();
  EXPECT_EQ(b.type(out), "float64[2]");
}

TEST(InferGraph, RecursiveFunctionsAreRefused) {
  GraphBuilder b;
  ir::Function function;
  function.domain = "local";
  function.name = "Again";
  const auto x = function.body.add_value("x");
  function.body.add_input(x);
  ir::Node call;
  call.domain = "local";
  call.op_type = "Again";
  call.inputs = {x};
  call.outputs = {function.body.add_value("y")};
  const auto y = call.outputs[0];
  function.body.add_node(call);
  function.body.add_output(y);
  b.functions().push_back(function);
  b.op("local:Again", {b.input("x", f32({2}))});
  EXPECT_THAT(b.infer().to_string(), HasSubstr("calls itself"));
}

TEST(InferGraph, BehindACustomOperatorNothingIsKnown) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2, 3}));
  const auto odd = b.op("com.acme:Odd", {x});
  const auto y = b.op("MatMul", {odd, x});
  b.output(y);
  b.done();
  EXPECT_EQ(b.graph().value(y).type.kind, ir::ValueKind::kTensor);
  EXPECT_EQ(b.graph().value(odd).type.kind, ir::ValueKind::kUnknown);
}

TEST(InferGraph, OwnRules) {
  GraphBuilder b(7);
  const auto ids = b.input("ids", type_of(ElementType::kInt32, {2, 5}));
  auto weight = [&](std::vector<int64_t> dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    return b.constant(tenon::testing::floats(dims, std::vector<float>(static_cast<size_t>(count))));
  };
  const auto embedded =
      b.ops("com.microsoft:EmbedLayerNormalization",
            {ids, ir::kNone, weight({10, 8}), weight({16, 8}), ir::kNone, weight({8}), weight({8})}, 2);
  const auto attention = b.ops("com.microsoft:Attention", {embedded[0], weight({8, 24}), weight({24})}, 2,
                               {Attribute::of_int("num_heads", 2)});
  const auto scaled = b.op("ImageScaler", {b.input("image", f32({1, 3, 4, 4}))},
                           {Attribute::of_floats("bias", {1, 2, 3}), Attribute::of_float("scale", 1)});
  b.done();
  EXPECT_EQ(b.type(embedded[0]), "float32[2,5,8]");
  EXPECT_EQ(b.type(embedded[1]), "int32[2]");
  EXPECT_EQ(b.type(attention[0]), "float32[2,5,8]");
  EXPECT_EQ(b.type(attention[1]), "float32[2,2,2,5,4]");
  EXPECT_EQ(b.type(scaled), "float32[1,3,4,4]");
}

TEST(InferGraph, FirstOpsets) {
  GraphBuilder b(1);
  const auto x = b.input("x", f32({2, 3, 4, 5}));
  EXPECT_EQ(b.imports().at(""), 1);
  const auto relu = b.op("Relu", {x});
  const auto cast = b.op("Cast", {relu}, {Attribute::of_string("to", "DOUBLE")});
  const auto flat = b.op("Reshape", {x}, {Attribute::of_ints("shape", {2, -1})});
  const auto joined = b.op("Concat", {x, x});
  b.done();
  EXPECT_EQ(b.type(cast), "float64[2,3,4,5]");
  EXPECT_EQ(b.type(flat), "float32[2,60]");
  EXPECT_EQ(b.type(joined), "float32[2,6,4,5]");
}

TEST(InferGraph, HostileAttributesAndLengthsAreRefused) {
  GraphBuilder axis, batch, parts, length;
  axis.op("LayerNormalization", {axis.input("x", f32({2, 3})), axis.input("s", f32({3}))},
          {Attribute::of_int("axis", INT64_MAX)});
  EXPECT_THAT(axis.infer().to_string(), HasSubstr("'axis' has an invalid axis"));
  batch.op("GatherND", {batch.input("x", f32({2, 3})), batch.input("i", i64({2, 1}))},
           {Attribute::of_int("batch_dims", -7)});
  EXPECT_EQ(batch.infer().kind(), ErrorKind::kInvalidModel);
  parts.op("Split", {parts.input("x", f32({4}))}, {Attribute::of_int("num_outputs", int64_t{1} << 40)});
  EXPECT_THAT(parts.infer().to_string(), HasSubstr("the node has 1 outputs"));
  length.op("Expand", {length.input("x", f32({4})), length.input("shape", i64({int64_t{1} << 62}))});
  EXPECT_THAT(length.infer().to_string(), HasSubstr("one per axis"));
}

TEST(InferGraph, RangeTakesListsOfOne) {
  GraphBuilder b;
  const auto y = b.op("Range", {b.ints({0}), b.ints({7}), b.ints({2})});
  b.done();
  EXPECT_EQ(b.type(y), "int64[4]");
}

TEST(InferValues, ConcreteShapesAndValuesLeaveTheGraphAlone) {
  GraphBuilder b;
  const auto x = b.input("x", batched({3}));
  const auto target = b.input("target", i64({2}));
  const auto shape = b.op("Shape", {x});
  const auto y = b.op("Reshape", {x, target});
  b.done();
  const auto known =
      infer_values(b.graph(), {}, {{x, ir::Shape::of({4, 3})}}, {{target, ir::Tensor::of_ints({2, -1})}});
  ASSERT_TRUE(known.ok()) << known.error().to_string();
  EXPECT_EQ(known->types[y].to_string(), "float32[2,6]");
  std::vector<int64_t> values;
  ASSERT_NE(known->values[shape], nullptr);
  EXPECT_TRUE(known->values[shape]->to_ints(&values));
  EXPECT_THAT(values, ::testing::ElementsAre(4, 3));
  EXPECT_THAT(b.type(y), HasSubstr("float32["));
  EXPECT_EQ(b.type(x), "float32[N,3]");
}

TEST(MergeTypes, WhatIsInferredWins) {
  const auto of = [](std::vector<Dim> dims) { return type_of(ElementType::kFloat32, std::move(dims)); };
  const Dim open, named(std::string("M")), made_up(std::string("_d0"));
  const ir::Type declared = batched({3});
  EXPECT_EQ(*merge_types(declared, of({2, open})), of({2, 3}));
  EXPECT_EQ(*merge_types(declared, of({2, 4})), of({2, 4}));
  EXPECT_EQ(*merge_types(declared, of({made_up, named})), of({made_up, named}));
  EXPECT_EQ(*merge_types(of({5, 3}), of({made_up, named})), of({5, named}));
  EXPECT_EQ(*merge_types(declared, {}), declared);
  EXPECT_EQ(*merge_types({}, declared), declared);
  EXPECT_EQ(*merge_types(declared, ir::Type::tensor(ElementType::kFloat32)), declared);
  EXPECT_EQ(*merge_types(ir::Type::sequence(declared), ir::Type::sequence(of({2, open}))),
            ir::Type::sequence(of({2, 3})));
}

TEST(MergeTypes, KindsAndElementTypesMustAgree) {
  const Result<ir::Type> element = merge_types(f32({2}), i64({2}));
  EXPECT_EQ(element.status().kind(), ErrorKind::kInvalidModel);
  EXPECT_THAT(element.status().to_string(), HasSubstr("declared as float32[2], but computed as int64[2]"));
  EXPECT_FALSE(merge_types(f32({2}), ir::Type::sequence(f32({2}))).ok());
}

TEST(InferNode, UsesValuesAndNamesTheNode) {
  GraphBuilder b;
  const auto x = b.input("x", f32({2, 6}));
  b.op("Reshape", {x, b.input("shape", i64({2}))});
  ASSERT_TRUE(b.resolve().ok());
  const ir::Node& node = b.graph().node(0);
  const ir::Type data = f32({2, 6}), list = i64({2});
  const ir::TensorPtr good = ir::Tensor::of_ints({3, -1}), bad = ir::Tensor::of_ints({5, 5});
  const auto types = infer_node(node, {{&data, &list}, {nullptr, good.get()}});
  ASSERT_TRUE(types.ok());
  EXPECT_EQ((*types)[0].to_string(), "float32[3,4]");
  const ir::Type a = f32({2, 3}), c = f32({4, 5});
  GraphBuilder m;
  m.op("MatMul", {m.input("a", a), m.input("c", c)});
  ASSERT_TRUE(m.resolve().ok());
  const auto refused = infer_node(m.graph().node(0), {{&a, &c}, {nullptr, nullptr}});
  EXPECT_EQ(refused.status().kind(), ErrorKind::kInvalidModel);
  EXPECT_THAT(std::string(refused.status().where()), HasSubstr("MatMul"));
}

TEST(InferNode, TakesMicroseconds) {
  GraphBuilder b;
  const auto x = b.input("x", f32({1, 64, 56, 56}));
  b.op("Add", {x, x});
  ASSERT_TRUE(b.resolve().ok());
  const ir::Type type = f32({1, 64, 56, 56});
  const InferInputs inputs{{&type, &type}, {nullptr, nullptr}};
  ASSERT_TRUE(infer_node(b.graph().node(0), inputs).ok());
  constexpr int kRuns = 20'000;
  const double start = test::cpu_seconds();
  for (int i = 0; i < kRuns; ++i) ASSERT_TRUE(infer_node(b.graph().node(0), inputs).ok());
  const double microseconds = (test::cpu_seconds() - start) * 1e6 / kRuns;
  RecordProperty("microseconds_per_add", std::to_string(microseconds));
  EXPECT_LT(microseconds, 200);  // about 2 in a release build; sanitizers are slower
}

}  // namespace
}  // namespace tenon::ops
