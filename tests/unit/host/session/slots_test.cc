#include "host/session/slots.h"

#include <gmock/gmock.h>

#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using session::Slots;
using testing::ElementsAre;
using testing::HasSubstr;

tenon_tensor describe(std::vector<float>& data, const std::vector<int64_t>& dims) {
  tenon_tensor tensor{};
  tensor.kind = TENON_KIND_TENSOR;
  tensor.dtype = TENON_FLOAT32;
  tensor.rank = static_cast<uint32_t>(dims.size());
  tensor.dims = dims.data();
  tensor.data = data.data();
  tensor.byte_size = data.size() * sizeof(float);
  return tensor;
}

std::vector<float> read(const tenon_tensor& tensor) {
  const auto* data = static_cast<const float*>(tensor.data);
  return {data, data + tensor.byte_size / sizeof(float)};
}

/// y = x + w, z = relu(y)
std::string model() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  const auto w = m.input("w", GraphMaker::f32({ir::Dim("n")}));
  const auto y = m.node("Add", {x, w});
  m.output(y, "y");
  m.output(m.node("Relu", {y}), "z");
  return m.bytes();
}

TEST(Slots, RunsInBoundMemory) {
  Slots slots(make_session(model()));
  std::vector<float> x = {1, -2}, w = {1, 1}, y(2);
  const std::vector<int64_t> dims = {2};
  ASSERT_TRUE(slots.bind_input(0, describe(x, dims)).ok());
  ASSERT_TRUE(slots.bind_input(1, describe(w, dims)).ok());
  ASSERT_TRUE(slots.bind_output(0, describe(y, dims)).ok());
  ASSERT_TRUE(slots.run({}).ok());
  EXPECT_THAT(y, ElementsAre(2, -1));
  EXPECT_THAT(read(*slots.output(1)), ElementsAre(2, 0));
  x = {5, 6};
  ASSERT_TRUE(slots.run({}).ok());
  EXPECT_THAT(y, ElementsAre(6, 7));
}

TEST(Slots, MemoryMayMoveAndShapesMayChange) {
  Slots slots(make_session(model()));
  std::vector<float> x = {1, -2}, w = {1, 1}, other = {10, 20}, longer = {1, 2, 3};
  const std::vector<int64_t> two = {2}, three = {3};
  ASSERT_TRUE(slots.bind_input(0, describe(x, two)).ok());
  ASSERT_TRUE(slots.bind_input(1, describe(w, two)).ok());
  ASSERT_TRUE(slots.run({}).ok());
  ASSERT_TRUE(slots.bind_input(0, describe(other, two)).ok());
  ASSERT_TRUE(slots.run({}).ok());
  EXPECT_THAT(read(*slots.output(0)), ElementsAre(11, 21));
  ASSERT_TRUE(slots.bind_input(0, describe(longer, three)).ok());
  EXPECT_THAT(slots.run({}).to_string(), HasSubstr("dim 'n'"));
  ASSERT_TRUE(slots.bind_input(1, describe(longer, three)).ok());
  ASSERT_TRUE(slots.run({}).ok());
  EXPECT_THAT(read(*slots.output(0)), ElementsAre(2, 4, 6));
}

TEST(Slots, WrongUseIsAnError) {
  Slots slots(make_session(model()));
  std::vector<float> x = {1, 2}, y(3);
  const std::vector<int64_t> two = {2}, three = {3};
  EXPECT_FALSE(slots.output(0).ok());
  EXPECT_THAT(slots.run({}).to_string(), HasSubstr("input 'x'"));
  EXPECT_FALSE(slots.bind_input(2, describe(x, two)).ok());
  ASSERT_TRUE(slots.bind_input(0, describe(x, two)).ok());
  ASSERT_TRUE(slots.bind_input(1, describe(x, two)).ok());
  ASSERT_TRUE(slots.bind_output(0, describe(y, three)).ok());
  EXPECT_THAT(slots.run({}).to_string(),
              HasSubstr("output 'y' is float32[2], but the memory bound for it is float32[3]"));
}

TEST(Slots, DataDependentOutputs) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({3}));
  m.output(m.node("NonZero", {x}), "where");
  Slots slots(make_session(m.bytes()));
  std::vector<float> data = {0, 1, 2};
  const std::vector<int64_t> dims = {3};
  ASSERT_TRUE(slots.bind_input(0, describe(data, dims)).ok());
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(slots.run({}).ok());
    EXPECT_EQ(slots.output(0)->dims[1], 2);
  }
  data[0] = 1;
  ASSERT_TRUE(slots.run({}).ok());
  EXPECT_EQ(slots.output(0)->dims[1], 3);
}

}  // namespace
}  // namespace tenon::test
