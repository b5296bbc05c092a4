#include "host/device/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace tenon::runtime {
namespace {

using ::testing::ElementsAre;
using Dims = std::vector<int64_t>;

TEST(Value, TensorsAreAligned) {
  for (const Dims& dims : {Dims{}, Dims{3}, Dims{2, 5, 7}, Dims{1, 1, 1, 1, 1, 1, 1, 9}}) {
    const auto value = make_tensor(TENON_FLOAT32, dims);
    ASSERT_TRUE(value.ok());
    const tenon_tensor& t = (*value)->tensor;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data) % 64, 0u);
    EXPECT_TRUE(std::equal(dims.begin(), dims.end(), t.dims));
    std::memset(t.data, 1, t.byte_size);
  }
}

TEST(Value, SizesOfPackedAndEmptyTensors) {
  uint64_t bytes = 0;
  EXPECT_TRUE(tensor_bytes(TENON_INT4, Dims{3}, &bytes));
  EXPECT_EQ(bytes, 2u);
  EXPECT_TRUE(tensor_bytes(TENON_FLOAT64, Dims{0, INT64_MAX}, &bytes));
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ((*make_tensor(TENON_FLOAT32, Dims{0, 4}))->tensor.data, nullptr);
}

TEST(Value, RefusesWhatCannotBe) {
  EXPECT_FALSE(make_tensor(TENON_FLOAT32, Dims{-1}).ok());
  EXPECT_FALSE(make_tensor(TENON_FLOAT32, Dims{INT64_MAX, INT64_MAX}).ok());
  EXPECT_FALSE(make_tensor(TENON_FLOAT64, Dims{INT64_MAX / 4}).ok());
  EXPECT_FALSE(make_tensor(TENON_STRING, Dims{1}).ok());
  EXPECT_FALSE(make_tensor(999, Dims{1}).ok());
  EXPECT_FALSE(make_tensor(TENON_FLOAT32, Dims(33, 1)).ok());
  const auto huge = make_tensor(TENON_UINT8, Dims{INT64_MAX});
  EXPECT_EQ(huge.error().kind(), ErrorKind::kOutOfMemory);
}

TEST(Value, StringsKeepTheirBytes) {
  const std::vector<std::string> words = {"", "ab", std::string("x\0y", 3)};
  const auto value = make_strings(Dims{3}, words);
  ASSERT_TRUE(value.ok());
  const tenon_tensor& t = (*value)->tensor;
  EXPECT_THAT(std::vector<int64_t>(t.offsets, t.offsets + 4), ElementsAre(0, 0, 2, 5));
  EXPECT_EQ(std::memcmp(t.data, "abx\0y", 5), 0);
  EXPECT_FALSE(make_strings(Dims{2}, words).ok());
  const int64_t falling[] = {0, 2, 1};
  EXPECT_FALSE(make_strings(Dims{2}, falling, "ab").ok());
}

TEST(Value, WrappedMemoryIsGivenBackWithTheLastCount) {
  float data[4] = {1, 2, 3, 4};
  const int64_t dims[] = {2, 2};
  tenon_tensor t{};
  t.kind = TENON_KIND_TENSOR;
  t.dtype = TENON_FLOAT32;
  t.rank = 2;
  t.dims = dims;
  t.data = data;
  int freed = 0;
  {
    ValueRef value = *wrap_tensor(
        t, [](void* count) { ++*static_cast<int*>(count); }, &freed);
    EXPECT_EQ(value->tensor.data, data);
    EXPECT_EQ(value->tensor.byte_size, sizeof(data));
    const ValueRef other = value;
    value.reset();
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 1);
  t.domain = 3;
  EXPECT_FALSE(wrap_tensor(t, nullptr, nullptr).ok());
}

TEST(Value, CompositesShareTheirElements) {
  const ValueRef a = *make_tensor(TENON_INT64, Dims{2}), b = *make_tensor(TENON_INT64, Dims{3});
  std::vector<tenon_value*> elements = {a.get(), b.get()};
  const ValueRef sequence = *make_composite(TENON_KIND_SEQUENCE, TENON_FLOAT32, elements);
  EXPECT_EQ(sequence->elements.size(), 2u);
  EXPECT_EQ(sequence->elements[1].get(), b.get());
  EXPECT_EQ(a->count.load(), 2u);
  EXPECT_EQ(sequence->tensor.dtype, static_cast<uint32_t>(TENON_INT64));
  EXPECT_TRUE(make_composite(TENON_KIND_MAP, 0, elements).ok());
  EXPECT_FALSE(make_composite(TENON_KIND_OPTIONAL, 0, elements).ok());
  EXPECT_FALSE(make_composite(TENON_KIND_TENSOR, 0, elements).ok());
  elements[1] = nullptr;
  EXPECT_FALSE(make_composite(TENON_KIND_SEQUENCE, 0, elements).ok());
  const auto empty = make_composite(TENON_KIND_SEQUENCE, TENON_FLOAT32, {});
  EXPECT_EQ((*empty)->tensor.dtype, static_cast<uint32_t>(TENON_FLOAT32));
}

TEST(Value, TensorsOfTheGraphAreShared) {
  const ir::TensorPtr tensor = ir::Tensor::of_ints({4, 5});
  const ValueRef value = *value_of(tensor);
  EXPECT_EQ(value->tensor.data, tensor->data());
  const ir::TensorPtr back = *tensor_of(value);
  EXPECT_TRUE(back->same_as(*tensor));
  EXPECT_EQ(back->data(), tensor->data());
  const ValueRef copy = *copy_tensor(value->tensor);
  EXPECT_NE(copy->tensor.data, value->tensor.data);
  EXPECT_TRUE((*tensor_of(copy))->same_as(*tensor));
}

TEST(Value, StringTensorsGoToTheGraphAndBack) {
  const ir::TensorPtr tensor = *ir::Tensor::make_strings({2}, {"one", "three"});
  const ir::TensorPtr back = *tensor_of(*value_of(tensor));
  EXPECT_EQ(back->string_at(1), "three");
}

}  // namespace
}  // namespace tenon::runtime
