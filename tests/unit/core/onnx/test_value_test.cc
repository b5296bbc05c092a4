#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/onnx/onnx.h"
#include "tests/unit/core/onnx/message.h"

namespace tenon::onnx {
namespace {

using namespace test;  // a vocabulary for messages
using ir::Type;
using testing::HasSubstr;

std::string file_with(const std::string& bytes) {
  std::string path = testing::TempDir() + "tenon_value.pb";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TestValue tensor_value(std::vector<int64_t> values) {
  TestValue value;
  value.tensor = ir::Tensor::of_ints(values);
  value.type = Type::tensor(value.tensor->type(), value.tensor->shape());
  return value;
}

TestValue list_value(Type type, std::vector<TestValue> elements) {
  TestValue value;
  value.type = std::move(type);
  value.elements = std::move(elements);
  return value;
}

bool same(const TestValue& a, const TestValue& b) {
  if (!(a.type == b.type) || a.elements.size() != b.elements.size()) return false;
  if (a.tensor && (!b.tensor || !a.tensor->same_as(*b.tensor))) return false;
  for (size_t i = 0; i < a.elements.size(); ++i) {
    if (!same(a.elements[i], b.elements[i])) return false;
  }
  return true;
}

void expect_round_trip(const TestValue& value) {
  auto bytes = write_value(value);
  ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
  auto again = read_value(file_with(*bytes), value.type);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_TRUE(same(value, *again)) << value.type.to_string() << " became " << again->type.to_string();
}

TEST(TestValue, RoundTripsEveryKind) {
  TestValue one = tensor_value({1, 2}), two = tensor_value({3});
  expect_round_trip(one);
  expect_round_trip(list_value(Type::sequence(one.type), {one, one}));
  expect_round_trip(list_value(Type::optional(two.type), {two}));
  TestValue inner = list_value(Type::sequence(one.type), {one});
  expect_round_trip(list_value(Type::optional(inner.type), {inner}));
  expect_round_trip(list_value(Type::sequence(inner.type), {inner, inner}));
  TestValue map = list_value(Type::map(ir::ElementType::kInt64, two.type),
                             {tensor_value({7, 8}), list_value(Type::sequence(two.type), {two, two})});
  expect_round_trip(map);
  expect_round_trip(list_value(Type::sequence(map.type), {map}));
}

TestValue string_value(std::vector<std::string> texts) {
  TestValue value;
  value.tensor = ir::Tensor::make_strings({static_cast<int64_t>(texts.size())}, texts).value();
  value.type = Type::tensor(value.tensor->type(), value.tensor->shape());
  return value;
}

// As ZipMap makes them: both keys and values are one tensor.
TEST(TestValue, KeepsTheValuesOfMapsWhoseValuesAreOneTensor) {
  const TestValue keys = string_value({"b", "a"}), numbers = tensor_value({7, -8});
  for (const TestValue& values : {numbers, string_value({"x", ""})}) {
    const Type type = Type::map(ir::ElementType::kString, Type::tensor(values.tensor->type()));
    const TestValue map = list_value(type, {keys, values});
    auto bytes = write_value(list_value(Type::sequence(type), {map, map}));
    ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
    auto again = read_value(file_with(*bytes), Type::sequence(type));
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    ASSERT_EQ(again->elements.size(), 2u);
    ASSERT_EQ(again->elements[1].elements.size(), 2u);
    EXPECT_TRUE(same(again->elements[1].elements[0], keys));
    EXPECT_TRUE(same(again->elements[1].elements[1], values));
  }
}

TEST(TestValue, RefusesMapsWithoutAValueForEachKey) {
  const TestValue keys = tensor_value({1, 2}), values = tensor_value({3});
  auto bytes = write_value(list_value(Type::map(ir::ElementType::kInt64, values.type), {keys, values}));
  ASSERT_FALSE(bytes.ok());
  EXPECT_THAT(bytes.status().to_string(), HasSubstr("a map has 2 keys and 1 values"));
}

TEST(TestValue, ReadsEmptySequencesAndOptionals) {
  auto sequence = read_value(file_with(""), Type::sequence({}));
  ASSERT_TRUE(sequence.ok()) << sequence.status().to_string();
  EXPECT_TRUE(sequence->elements.empty());
  auto optional = read_value(file_with(""), Type::optional({}));
  ASSERT_TRUE(optional.ok()) << optional.status().to_string();
  EXPECT_TRUE(optional->elements.empty());
}

TEST(TestValue, ReadsNamesAndUnknownKindsAsTensors) {
  auto value = read_value(file_with(raw_tensor("out", kFloat, {1}, raw_of<float>({1})).data()), Type());
  ASSERT_TRUE(value.ok()) << value.status().to_string();
  EXPECT_EQ(value->name, "out");
  EXPECT_EQ(value->type.to_string(), "float32[1]");
}

TEST(TestValue, ReadsTheBitsOfBfloat16) {
  constexpr int kUInt16 = 4;
  const std::string bytes(raw_tensor("x", kUInt16, {2}, raw_of<uint16_t>({0x3f80, 0xc000})).data());
  const auto element = [&](ir::ElementType declared) {
    return read_value(file_with(bytes), Type::tensor(declared))->tensor->type();
  };
  EXPECT_EQ(element(ir::ElementType::kBFloat16), ir::ElementType::kBFloat16);
  EXPECT_EQ(element(ir::ElementType::kUInt16), ir::ElementType::kUInt16);
  EXPECT_EQ(element(ir::ElementType::kFloat16), ir::ElementType::kUInt16)
      << "a wrong type stays a wrong type";
}

TEST(TestValue, RefusesDamage) {
  auto refused = [](const std::string& bytes, const std::string& text) {
    auto value = read_value(file_with(bytes), Type());
    ASSERT_FALSE(value.ok());
    EXPECT_EQ(value.error().kind(), ErrorKind::kInvalidInput);
    EXPECT_THAT(value.error().to_string(), HasSubstr("tenon_value.pb"));
    EXPECT_THAT(value.error().to_string(), HasSubstr(text));
  };
  refused("\xff\xff", "damaged");
  refused(raw_tensor("w", kFloat, {3}, "1234").data(), "takes 12 bytes");
  refused(external_tensor("w", {1}, "weights.bin").data(), "external");
  EXPECT_EQ(read_value(testing::TempDir() + "tenon_nothing.pb", Type()).error().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace tenon::onnx
