#include "core/ops/work.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tenon::ops {
namespace {

using ir::Dim;
using ir::ElementType;
using ir::Shape;
using ir::Type;

Type f32(std::vector<Dim> dims) { return Type::tensor(ElementType::kFloat32, Shape(std::move(dims))); }

Work work(const std::string& op, const std::vector<Type>& inputs, const Type& output,
          std::vector<ir::Attribute> attributes = {}) {
  ir::Graph graph;
  ir::Node node;
  node.name = "n";
  node.op_type = op;
  node.attributes = std::move(attributes);
  for (const Type& type : inputs)
    node.inputs.push_back(graph.add_value("v" + std::to_string(graph.value_limit()), type));
  node.outputs = {graph.add_value("y", output)};
  return work_of(graph, graph.node(graph.add_node(std::move(node))));
}

TEST(Work, ProductsCountTheirMultiplyAdds) {
  EXPECT_EQ(work("MatMul", {f32({3, 4}), f32({4, 5})}, f32({3, 5})).flops, 2 * 3 * 4 * 5);
  EXPECT_EQ(work("Gemm", {f32({3, 4}), f32({4, 5})}, f32({3, 5})).flops, 2 * 3 * 4 * 5);
  EXPECT_EQ(work("Gemm", {f32({4, 3}), f32({4, 5})}, f32({3, 5}), {ir::Attribute::of_int("transA", 1)}).flops,
            2 * 3 * 4 * 5);
  EXPECT_EQ(work("MatMulNBits", {f32({3, 64})}, f32({3, 5}), {ir::Attribute::of_int("K", 64)}).flops,
            2 * 3 * 5 * 64);
}

TEST(Work, ConvolutionsCountTheTapsOfTheirGroup) {
  // 8 filters of 2 channels and 3 x 3 taps, in 4 groups.
  EXPECT_EQ(work("Conv", {f32({1, 8, 6, 6}), f32({8, 2, 3, 3})}, f32({1, 8, 4, 4})).flops,
            2.0 * (8 * 4 * 4) * (2 * 3 * 3));
  EXPECT_EQ(work("ConvTranspose", {f32({1, 4, 5, 5}), f32({4, 3, 2, 2})}, f32({1, 3, 10, 10})).flops,
            2.0 * (4 * 5 * 5) * (3 * 2 * 2));
  const Type bytes = Type::tensor(ElementType::kUInt8, Shape::of({1, 8, 6, 6})), one = f32({});
  EXPECT_EQ(work("QLinearConv", {bytes, one, one, f32({8, 8, 1, 1}), one}, bytes).flops,
            2.0 * (8 * 6 * 6) * 8);
}

TEST(Work, RecurrentNetworksCountEachStep) {
  EXPECT_EQ(work("LSTM", {f32({10, 2, 6}), f32({1, 16, 6}), f32({1, 16, 4})}, f32({10, 1, 2, 4})).flops,
            2.0 * 10 * 2 * (16 * 6 + 16 * 4));
}

TEST(Work, BytesAreThoseOfAllInputsAndOutputs) {
  EXPECT_EQ(work("Add", {f32({3, 4}), f32({4})}, f32({3, 4})).bytes, 4 * (12 + 4 + 12));
  EXPECT_EQ(count_bytes(Type::tensor(ElementType::kInt4, Shape::of({7}))), 3.5);
  EXPECT_EQ(count_bytes(Type::tensor(ElementType::kString, Shape::of({7}))), 56);
  EXPECT_EQ(count_bytes(Type::sequence(f32({2}))), 8);
  EXPECT_EQ(count_bytes(Type::map(ElementType::kString, f32({2}))), 8);
}

TEST(Work, DimensionsThatAreNotKnownAreAssumed) {
  EXPECT_EQ(count_elements(Shape()), kAssumedDim);
  EXPECT_EQ(count_elements(Shape({Dim("n"), Dim(3)})), 3 * kAssumedDim);
  EXPECT_EQ(count_elements(Shape::of({})), 1);
  EXPECT_EQ(count_elements(Shape::of({0, 3})), 0);
  EXPECT_GT(work("MatMul", {Type(), Type()}, Type()).flops, 0);
  EXPECT_GT(work("Conv", {f32({1}), f32({})}, f32({})).flops, 0);
  EXPECT_EQ(work("Relu", {f32({0})}, f32({0})).flops, 0);
}

}  // namespace
}  // namespace tenon::ops
