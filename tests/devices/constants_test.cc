// Constants are on the device once, whatever number of nodes and sessions use them.
#include "host/services/shared_cache.h"
#include "tests/devices/device_case.h"

namespace tenon::test {
namespace {

size_t shared_objects() { return runtime::SharedCache::process().size(); }

/// y = Gemm(Gemm(x, a), b), with a and b transposed if `transposed`.
std::string model(const std::vector<float>& a, const std::vector<float>& b, bool transposed = false) {
  const std::vector<ir::Attribute> attributes{ir::Attribute::of_int("transB", transposed ? 1 : 0)};
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({1, 2}));
  const auto left = m.node("Gemm", {x, m.constant("a", {2, 2}, a)}, attributes);
  const auto right = m.node("Gemm", {left, m.constant("b", {2, 2}, b)}, attributes);
  m.output(right, "y");
  return m.bytes();
}

std::vector<float> answer(session::Session& session) {
  return floats(run(session, {{"x", f32({1, 2}, {1, 10})}})[0]);
}

TEST(DeviceConstants, EqualWeightsOfNodesAndSessionsUseOneBuffer) {
  ASSERT_EQ(shared_objects(), 0u);
  const std::vector<float> weights{1, 2, 3, 4};
  const auto first = make_session(model(weights, weights), device_config("device"));
  ASSERT_NE(first, nullptr);
  const std::vector<float> expected{31 * 1 + 42 * 3, 31 * 2 + 42 * 4};
  EXPECT_EQ(answer(*first), expected);
  EXPECT_EQ(shared_objects(), 1u) << "two nodes, one buffer";
  {
    const auto second = make_session(model(weights, weights), device_config("device"));
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(answer(*second), expected);
    EXPECT_EQ(shared_objects(), 1u) << "two sessions, one buffer";
    const auto third = make_session(model(weights, {1, 0, 0, 1}), device_config("device"));
    ASSERT_NE(third, nullptr);
    EXPECT_EQ(answer(*third), (std::vector<float>{31, 42}));
    EXPECT_EQ(shared_objects(), 2u) << "other bytes, another buffer";
  }
  EXPECT_EQ(shared_objects(), 1u) << "the last user frees";
  EXPECT_EQ(answer(*first), expected);
}

TEST(DeviceConstants, AnotherFormOfAConstantIsSharedToo) {
  ASSERT_EQ(shared_objects(), 0u);
  const std::vector<float> weights{1, 2, 3, 4};
  const auto session = make_session(model(weights, weights, true), device_config("device"));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(answer(*session), (std::vector<float>{21 * 1 + 43 * 2, 21 * 3 + 43 * 4}));
  EXPECT_EQ(shared_objects(), 1u) << "the transposed form; the constant itself is freed";
}

TEST(DeviceConstants, AreReadInPlaceWhereTheDeviceReadsTheHostsTensors) {
  const std::vector<float> weights{1, 2, 3, 4};
  const auto session = make_session(model(weights, weights), device_config(host_visible()));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(answer(*session), (std::vector<float>{31 * 1 + 42 * 3, 31 * 2 + 42 * 4}));
  EXPECT_EQ(shared_objects(), in_place(host_visible()) ? 0u : 1u);
}

}  // namespace
}  // namespace tenon::test
