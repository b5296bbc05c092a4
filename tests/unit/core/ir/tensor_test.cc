#include "core/ir/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace tenon::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
TensorPtr tensor(ElementType type, std::vector<int64_t> dims, const std::vector<T>& values) {
  return Tensor::make(type, std::move(dims), bytes_of(values)).value();
}

TEST(Tensor, ChecksItsSize) {
  auto short_one = Tensor::make(ElementType::kFloat32, {2, 3}, std::vector<std::byte>(20));
  ASSERT_FALSE(short_one.ok());
  EXPECT_EQ(short_one.error().kind(), ErrorKind::kInvalidModel);
  EXPECT_THAT(std::string(short_one.error().message()), HasSubstr("float32[2,3] takes 24 bytes and has 20"));
  EXPECT_FALSE(Tensor::make(ElementType::kFloat32, {-1}, {}).ok());
  EXPECT_FALSE(Tensor::make(ElementType::kInt8, {int64_t{1} << 62, 4}, {}).ok());
  EXPECT_FALSE(Tensor::make(ElementType::kString, {0}, {}).ok());
  EXPECT_TRUE(Tensor::make(ElementType::kInt8, {int64_t{1} << 62, 4, 0}, {}).ok());
  EXPECT_TRUE(Tensor::make(ElementType::kUInt4, {3}, std::vector<std::byte>(2)).ok());
}

TEST(Tensor, ReadsUnalignedIntegers) {
  std::vector<std::byte> storage(1 + 2 * sizeof(int32_t));
  int32_t values[] = {7, -9};
  std::memcpy(storage.data() + 1, values, sizeof values);
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(storage));
  TensorPtr t = Tensor::refer(ElementType::kInt32, {2}, owner->data() + 1, sizeof values, owner).value();
  std::vector<int64_t> ints;
  ASSERT_TRUE(t->to_ints(&ints));
  EXPECT_THAT(ints, ElementsAre(7, -9));
  EXPECT_FALSE(tensor<float>(ElementType::kFloat32, {1}, {1})->to_ints(&ints));
}

TEST(Tensor, HoldsStrings) {
  TensorPtr t = Tensor::make_strings({3}, {"ab", "", "c"}).value();
  EXPECT_EQ(t->string_at(0), "ab");
  EXPECT_EQ(t->string_at(1), "");
  EXPECT_EQ(t->string_at(2), "c");
  EXPECT_FALSE(Tensor::make_strings({2}, {"only one"}).ok());
  EXPECT_FALSE(t->same_as(*Tensor::make_strings({3}, {"a", "b", "c"}).value()));
}

TEST(Tensor, ComparesBytes) {
  EXPECT_TRUE(Tensor::of_ints({1, 2})->same_as(*Tensor::of_ints({1, 2})));
  EXPECT_FALSE(Tensor::of_ints({1})->same_as(*Tensor::scalar_int(1)));
  EXPECT_FALSE(Tensor::of_ints({1, 2})->same_as(*Tensor::of_ints({1, 3})));
}

TEST(ToDense, PlacesValuesByEitherKindOfIndex) {
  TensorPtr values = tensor<float>(ElementType::kFloat32, {2}, {5, 6});
  TensorPtr expected = tensor<float>(ElementType::kFloat32, {2, 2}, {0, 5, 0, 6});
  auto linear = to_dense({{2, 2}, values, Tensor::of_ints({1, 3})}, 1000);
  ASSERT_TRUE(linear.ok()) << linear.error().to_string();
  EXPECT_TRUE((*linear)->same_as(*expected));
  auto by_axis = to_dense({{2, 2}, values, tensor<int64_t>(ElementType::kInt64, {2, 2}, {0, 1, 1, 1})}, 1000);
  ASSERT_TRUE(by_axis.ok()) << by_axis.error().to_string();
  EXPECT_TRUE((*by_axis)->same_as(*expected));
}

TEST(ToDense, PacksSubByteTypesAndStrings) {
  TensorPtr nibbles = Tensor::make(ElementType::kUInt4, {3}, {std::byte(0x21), std::byte(0x03)}).value();
  auto dense = to_dense({{5}, nibbles, Tensor::of_ints({0, 3, 4})}, 1000);
  ASSERT_TRUE(dense.ok()) << dense.error().to_string();
  EXPECT_TRUE((*dense)->same_as(
      *Tensor::make(ElementType::kUInt4, {5}, {std::byte(0x01), std::byte(0x20), std::byte(0x03)}).value()));
  auto strings = to_dense({{3}, Tensor::make_strings({1}, {"x"}).value(), Tensor::of_ints({1})}, 1000);
  ASSERT_TRUE(strings.ok());
  EXPECT_EQ((*strings)->string_at(0), "");
  EXPECT_EQ((*strings)->string_at(1), "x");
}

TEST(ToDense, RefusesBadIndicesAndLargeResults) {
  TensorPtr values = tensor<float>(ElementType::kFloat32, {2}, {5, 6});
  auto fails_with = [&](SparseTensor sparse, ErrorKind kind, const std::string& text) {
    auto dense = to_dense(sparse, 1000);
    ASSERT_FALSE(dense.ok()) << text;
    EXPECT_EQ(dense.error().kind(), kind);
    EXPECT_THAT(std::string(dense.error().message()), HasSubstr(text));
  };
  fails_with({{4}, values, Tensor::of_ints({1, 4})}, ErrorKind::kInvalidModel, "outside");
  fails_with({{4}, values, Tensor::of_ints({-1, 2})}, ErrorKind::kInvalidModel, "outside");
  fails_with({{4}, values, Tensor::of_ints({2, 2})}, ErrorKind::kInvalidModel, "ascending");
  fails_with({{4}, values, Tensor::of_ints({1})}, ErrorKind::kInvalidModel, "shape");
  fails_with({{-4}, values, Tensor::of_ints({1, 2})}, ErrorKind::kInvalidModel, "negative");
  fails_with({{4}, nullptr, nullptr}, ErrorKind::kInvalidModel, "no values or no indices");
  fails_with({{1000}, values, Tensor::of_ints({1, 2})}, ErrorKind::kLimitExceeded, "fold_bytes");
  fails_with({{INT64_MAX, 8}, values, Tensor::of_ints({1, 2})}, ErrorKind::kLimitExceeded, "fold_bytes");
}

}  // namespace
}  // namespace tenon::ir
