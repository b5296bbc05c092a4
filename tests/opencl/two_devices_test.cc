// Two devices of PoCL. The tests have an entry of their own in tests/CMakeLists.txt, where there are two.
#include <cstdlib>

#include "tests/devices/device_case.h"

namespace tenon::test {
namespace {

constexpr int64_t kOnlyAsk = 0;

uint64_t flushed_point(Stream& stream) {
  const uint64_t point = *stream.point();
  EXPECT_TRUE(stream.flush().ok());
  return point;
}

class OpenClTwoDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("POCL_DEVICES") == nullptr) GTEST_SKIP() << "needs POCL_DEVICES=\"pthread pthread\"";
    first = std::make_unique<Pick>("device", "opencl/cpu:0");
    second = std::make_unique<Pick>("device", "opencl/cpu:1");
    ASSERT_NE(&first->device(), &second->device());
  }
  std::unique_ptr<Pick> first, second;
};

TEST_F(OpenClTwoDevices, AStreamWaitsForOneOfAnotherDeviceWithoutBlocking) {
  LongWork work(first->device());
  Stream one = first->make_stream(), other = second->make_stream();
  work.enqueue(one);
  const uint64_t point = flushed_point(one);
  ASSERT_TRUE(other.wait_for(one, point).ok());
  EXPECT_EQ(one.wait(point, kOnlyAsk).code(), StatusCode::kDeadlineExceeded) << "wait_for blocked";
  const uint64_t after = flushed_point(other);
  EXPECT_EQ(other.wait(after, kOnlyAsk).code(), StatusCode::kDeadlineExceeded) << "it did not wait";
  EXPECT_TRUE(other.wait(after).ok());
  EXPECT_TRUE(one.wait(point, kOnlyAsk).ok());
}

TEST_F(OpenClTwoDevices, CopiesBetweenThemAreLeftToTheHost) {
  const Buffer from = *Buffer::allocate(*first->device().find_domain(1), 4),
               to = *Buffer::allocate(*second->device().find_domain(1), 4);
  tenon_location source = from.location(0);
  source.device = first->device().handle();
  const Status status = second->device().copy(to.location(0), source, 4, nullptr);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << status.to_string();
  float value = 5, back = 0;
  ASSERT_TRUE(runtime::copy(Place::of(from, 0), Place::host(&value), 4).ok());
  ASSERT_TRUE(runtime::copy(Place::of(to, 0), Place::of(from, 0), 4).ok());
  ASSERT_TRUE(runtime::copy(Place::host(&back), Place::of(to, 0), 4).ok());
  EXPECT_EQ(back, 5);
}

}  // namespace
}  // namespace tenon::test
