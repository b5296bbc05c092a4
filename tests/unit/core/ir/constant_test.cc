#include "core/ir/constant.h"

#include <gmock/gmock.h>

#include <cstring>

namespace tenon::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kLimit = 1 << 20;

std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> out(static_cast<size_t>(tensor.element_count()));
  std::memcpy(out.data(), tensor.data(), tensor.byte_size());
  return out;
}

TEST(ConstantValue, EveryFormGivesItsTensor) {
  const TensorPtr given = Tensor::of_ints({7, 8});
  EXPECT_EQ(*constant_value(Attribute::of_tensor("value", given), kLimit), given);
  EXPECT_TRUE((*constant_value(Attribute::of_int("value_int", 3), kLimit))->same_as(*Tensor::scalar_int(3)));
  EXPECT_TRUE(
      (*constant_value(Attribute::of_ints("value_ints", {3, 4}), kLimit))->same_as(*Tensor::of_ints({3, 4})));

  const TensorPtr one = *constant_value(Attribute::of_float("value_float", 1.5f), kLimit);
  EXPECT_TRUE(one->dims().empty());
  EXPECT_THAT(floats_of(*one), ElementsAre(1.5f));
  const TensorPtr list = *constant_value(Attribute::of_floats("value_floats", {1.5f, -2.0f}), kLimit);
  EXPECT_THAT(list->dims(), ElementsAre(2));
  EXPECT_THAT(floats_of(*list), ElementsAre(1.5f, -2.0f));

  const TensorPtr text = *constant_value(Attribute::of_string("value_string", "a"), kLimit);
  EXPECT_TRUE(text->dims().empty());
  EXPECT_EQ(text->string_at(0), "a");
  const TensorPtr texts = *constant_value(Attribute::of_strings("value_strings", {"a", "bc"}), kLimit);
  EXPECT_THAT(texts->dims(), ElementsAre(2));
  EXPECT_EQ(texts->string_at(1), "bc");
}

TEST(ConstantValue, ASparseOneIsMadeDenseWithinTheLimit) {
  Attribute sparse;
  sparse.name = "sparse_value";
  sparse.type = AttributeType::kSparseTensor;
  sparse.sparse_tensors.push_back({{4}, Tensor::of_ints({9}), Tensor::of_ints({2})});
  EXPECT_TRUE((*constant_value(sparse, kLimit))->same_as(*Tensor::of_ints({0, 0, 9, 0})));
  EXPECT_EQ(constant_value(sparse, 31).status().kind(), ErrorKind::kLimitExceeded);
}

TEST(ConstantValue, OtherAttributesAreNoValues) {
  const Result<TensorPtr> other = constant_value(Attribute::of_int("axis", 3), kLimit);
  EXPECT_EQ(other.status().kind(), ErrorKind::kInvalidModel);
  EXPECT_THAT(other.status().to_string(), HasSubstr("a Constant cannot have attribute 'axis'"));
  EXPECT_FALSE(constant_value(Attribute::of_float("value_int", 3), kLimit).ok());
  Attribute empty = Attribute::of_int("value", 0);
  empty.type = AttributeType::kTensor;
  EXPECT_FALSE(constant_value(empty, kLimit).ok());
}

}  // namespace
}  // namespace tenon::ir
