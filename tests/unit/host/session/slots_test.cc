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

/// As an input of another shape, memory of another shape for an output may come first.
TEST(Slots, MemoryOfAnotherShapeForAnOutput) {
  Slots slots(make_session(model()));
  std::vector<float> x = {1, 2}, y(3), longer = {1, 2, 3};
  const std::vector<int64_t> two = {2}, three = {3};
  ASSERT_TRUE(slots.bind_input(0, describe(x, two)).ok());
  ASSERT_TRUE(slots.bind_input(1, describe(x, two)).ok());
  ASSERT_TRUE(slots.run({}).ok());
  ASSERT_TRUE(slots.bind_output(0, describe(y, three)).ok());
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_THAT(slots.run({}).to_string(),
                HasSubstr("output 'y' is float32[2], but the memory bound for it is float32[3]"));
    EXPECT_FALSE(slots.output(0).ok());
  }
  EXPECT_THAT(y, ElementsAre(0, 0, 0));
  ASSERT_TRUE(slots.bind_input(0, describe(longer, three)).ok());
  ASSERT_TRUE(slots.bind_input(1, describe(longer, three)).ok());
  ASSERT_TRUE(slots.run({}).ok());
  EXPECT_THAT(y, ElementsAre(2, 4, 6));
}

TEST(Slots, MemoryThatIsNotAlignedIsRefusedWhenItIsBound) {
  Slots slots(make_session(model()));
  std::vector<float> x = {1, 2}, y(3);
  const std::vector<int64_t> two = {2};
  ASSERT_TRUE(slots.bind_input(0, describe(x, two)).ok());
  ASSERT_TRUE(slots.bind_input(1, describe(x, two)).ok());
  ASSERT_TRUE(slots.run({}).ok());
  tenon_tensor odd = describe(x, two);
  odd.data = reinterpret_cast<char*>(y.data()) + 1;
  EXPECT_THAT(slots.bind_input(0, odd).to_string(),
              HasSubstr("memory of input 'x' is not aligned for its element type"));
  EXPECT_THAT(slots.bind_output(0, odd).to_string(),
              HasSubstr("memory of output 'y' is not aligned for its element type"));
  const Result<runtime::ValueRef> value = runtime::wrap_tensor(odd, nullptr, nullptr);
  ASSERT_TRUE(value.ok());
  EXPECT_THAT(slots.bind_value(1, *value).to_string(),
              HasSubstr("memory of input 'w' is not aligned for its element type"));
  ASSERT_TRUE(slots.run({}).ok()) << "what was bound before stays";
  EXPECT_THAT(read(*slots.output(0)), ElementsAre(2, 4));
}

/// After the first Run of a shape the next ones only run its plan. What was bound or taken in between counts.
TEST(Slots, EveryRunSeesWhatWasBoundBefore) {
  Slots slots(make_session(model()));
  std::vector<float> x = {1, 2}, other = {10, 20}, y(2);
  const std::vector<int64_t> two = {2};
  ASSERT_TRUE(slots.bind_input(0, describe(x, two)).ok());
  ASSERT_TRUE(slots.bind_input(1, describe(x, two)).ok());
  for (int turn = 0; turn < 3; ++turn) ASSERT_TRUE(slots.run({}).ok());
  const Result<runtime::ValueRef> taken = slots.output_value(0);
  ASSERT_TRUE(taken.ok());
  ASSERT_TRUE(slots.bind_input(0, describe(other, two)).ok());
  for (int turn = 0; turn < 3; ++turn) ASSERT_TRUE(slots.run({}).ok());
  EXPECT_THAT(read((*taken)->tensor), ElementsAre(2, 4)) << "a later Run changed a value that was taken";
  EXPECT_THAT(read(*slots.output(0)), ElementsAre(11, 22));
  ASSERT_TRUE(slots.bind_output(0, describe(y, two)).ok());
  ASSERT_TRUE(slots.run({}).ok());
  EXPECT_THAT(y, ElementsAre(11, 22));
  const uint32_t cancel = 1;
  session::RunOptions stopped;
  stopped.cancel = &cancel;
  EXPECT_EQ(slots.run(stopped).code(), StatusCode::kCancelled);
  EXPECT_FALSE(slots.output(1).ok());
  x = {3, 4};
  for (int turn = 0; turn < 2; ++turn) ASSERT_TRUE(slots.run({}).ok());
  EXPECT_THAT(y, ElementsAre(13, 24));
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
