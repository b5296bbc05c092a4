#include "host/control_flow/stack.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

namespace tenon::runtime {
namespace {

using testing::ElementsAre;

ValueRef floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  ValueRef value = *make_tensor(TENON_FLOAT32, dims);
  if (!values.empty()) std::memcpy(value->tensor.data, values.data(), values.size() * sizeof(float));
  return value;
}
std::vector<float> read(const tenon_tensor& tensor) {
  const auto* data = static_cast<const float*>(tensor.data);
  return {data, data + tensor.byte_size / sizeof(float)};
}
std::vector<int64_t> dims_of(const ValueRef& value) {
  return {value->tensor.dims, value->tensor.dims + value->tensor.rank};
}

TEST(Slice, FirstAxisRefersToTheTensor) {
  const ValueRef whole = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  std::vector<int64_t> dims;
  const auto element = slice(whole->tensor, 0, 1, &dims);
  ASSERT_TRUE(element.ok());
  EXPECT_EQ(element->tensor.data, static_cast<float*>(whole->tensor.data) + 2);
  EXPECT_THAT(dims, ElementsAre(2));
  EXPECT_THAT(read(element->tensor), ElementsAre(3, 4));
}

TEST(Slice, OtherAxesAreCopied) {
  const ValueRef whole = floats({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  std::vector<int64_t> dims;
  EXPECT_THAT(read(slice(whole->tensor, 1, 2, &dims)->tensor), ElementsAre(4, 5, 10, 11));
  EXPECT_THAT(read(slice(whole->tensor, 2, 1, &dims)->tensor), ElementsAre(1, 3, 5, 7, 9, 11));
  EXPECT_THAT(dims, ElementsAre(2, 3));
}

TEST(Slice, PackedElementsAreRefused) {
  const ValueRef whole = *make_tensor(TENON_INT4, std::vector<int64_t>{4});
  std::vector<int64_t> dims;
  EXPECT_EQ(slice(whole->tensor, 0, 0, &dims).status().kind(), ErrorKind::kUnsupported);
}

TEST(Stack, AlongAnyAxis) {
  const std::vector<ValueRef> elements = {floats({2}, {1, 2}), floats({2}, {3, 4}), floats({2}, {5, 6})};
  const auto first = stack(elements, 0, {});
  EXPECT_THAT(dims_of(*first), ElementsAre(3, 2));
  EXPECT_THAT(read((*first)->tensor), ElementsAre(1, 2, 3, 4, 5, 6));
  const auto last = stack(elements, -1, {}, true);
  EXPECT_THAT(dims_of(*last), ElementsAre(2, 3));
  EXPECT_THAT(read((*last)->tensor), ElementsAre(5, 3, 1, 6, 4, 2));
}

TEST(Stack, UndoesSlice) {
  std::vector<float> data(2 * 3 * 4);
  std::iota(data.begin(), data.end(), 0.F);
  const ValueRef whole = floats({2, 3, 4}, data);
  for (int64_t axis = 0; axis < 3; ++axis) {
    std::vector<ValueRef> elements;
    for (int64_t i = 0; i < whole->tensor.dims[axis]; ++i) {
      std::vector<int64_t> dims;
      elements.push_back(*copy_tensor(slice(whole->tensor, axis, i, &dims)->tensor));
    }
    EXPECT_EQ(read((*stack(elements, axis, {}))->tensor), data);
  }
}

TEST(Stack, StringsAndNothing) {
  const std::vector<std::string> a = {"x", "yz"}, b = {"", "w"};
  const std::vector<ValueRef> elements = {*make_strings(std::vector<int64_t>{2}, a),
                                          *make_strings(std::vector<int64_t>{2}, b)};
  const auto strings = stack(elements, 0, {});
  ASSERT_TRUE(strings.ok());
  EXPECT_THAT(dims_of(*strings), ElementsAre(2, 2));
  EXPECT_EQ(std::string(static_cast<const char*>((*strings)->tensor.data), 4), "xyzw");

  const ir::Type declared =
      ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape({ir::Dim(3), ir::Dim("n")}));
  EXPECT_THAT(dims_of(*stack({}, 0, declared)), ElementsAre(0, 3, 0));
  EXPECT_FALSE(stack({}, 0, {}).ok());
}

TEST(Stack, ShapesThatDifferAreRefused) {
  const std::vector<ValueRef> elements = {floats({2}, {1, 2}), floats({1}, {3})};
  EXPECT_EQ(stack(elements, 0, {}).status().kind(), ErrorKind::kInvalidInput);
}

}  // namespace
}  // namespace tenon::runtime
