// Devices whose memory is full, and devices that do not answer.
#include <gmock/gmock.h>

#include "core/base/stop.h"
#include "tests/unit/host/session/accelerator_case.h"

namespace tenon::test {
namespace {

using session::NamedValue;
using testing::HasSubstr;

constexpr int64_t kMilliseconds = 1'000'000;  // ns

/// y = relu(x + x) over rows of 1 KiB, node by node: a frame holds two or three values on the device.
std::string model(int64_t rows) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({rows, 256}));
  m.output(m.node("Relu", {m.node("Add", {x, x}, {}, "add")}, {}, "relu"), "y");
  return m.bytes();
}

std::vector<NamedValue> filled(int64_t rows, float value) {
  return {{"x", f32({rows, 256}, std::vector<float>(static_cast<size_t>(rows) * 256, value))}};
}

std::vector<std::string> with_memory(const std::string& size, const FakeCounters& counters) {
  return {"max_nodes=1", "memory_bytes=" + size, counters.option()};
}

TEST(DeviceLimits, IdleFramesOfAnotherSessionMakeRoom) {
  const FakeCounters counters;
  // 900 KiB hold a frame of one session, but not one of each. The blocks differ in size, so that a freed block of one
  // session is of no use to the other before the provider gives it back.
  config::Config config = split(with_memory("921600", counters));
  ASSERT_TRUE(config.set("provider.accelerator.on_lost", "\"fail\"").ok());
  constexpr int64_t kRows[] = {256, 230};
  const std::shared_ptr<session::Session> sessions[] = {make_session(model(kRows[0]), config),
                                                        make_session(model(kRows[1]), config)};
  for (int turn = 1; turn <= 3; ++turn) {
    for (size_t s = 0; s < 2; ++s) {
      ASSERT_NE(sessions[s], nullptr);
      const std::vector<float> y = floats(run(*sessions[s], filled(kRows[s], static_cast<float>(turn)))[0]);
      EXPECT_THAT(y, testing::Each(2 * static_cast<float>(turn)));
      EXPECT_EQ(runner_of(*sessions[s]), "accelerator/npu:0");
    }
  }
  EXPECT_GE(counters.now().trims, 4u);
}

TEST(DeviceLimits, WhatNeverFitsIsAnErrorThatSaysSo) {
  const FakeCounters counters;
  config::Config config = split(with_memory("65536", counters));
  ASSERT_TRUE(config.set("provider.accelerator.on_lost", "\"fail\"").ok());
  const auto made = try_session(model(256), config);
  Status status = made.ok() ? ok_status() : made.status();
  if (made.ok()) {
    std::vector<ValueRef> outputs(1);
    status = (*made)->run({}, filled(256, 1), {}, outputs);
  }
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.to_string();
  EXPECT_THAT(status.to_string(), HasSubstr("the device has 65536 bytes of memory"));
  EXPECT_GE(counters.now().trims, 1u);
}

/// A session over a device that never finishes the node 'add'.
std::shared_ptr<session::Session> hanging(const FakeCounters& counters, const std::string& policy) {
  config::Config config = split({"fault=\"hang\"", "fault_op=\"Add\"", counters.option()});
  EXPECT_TRUE(config.set("provider.accelerator.on_lost", "\"" + policy + "\"").ok());
  return make_session(model(2), config);
}

TEST(DeviceLimits, ADeviceThatHangsIsLeftAtTheDeadline) {
  const FakeCounters counters;
  const auto session = hanging(counters, "next");
  ASSERT_NE(session, nullptr);
  session::RunOptions options;
  options.deadline_ns = 300 * kMilliseconds;
  std::vector<ValueRef> outputs(1);
  const int64_t begin = steady_now_ns();
  const Status status = session->run(options, filled(2, 1), {}, outputs);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.to_string();
  EXPECT_LT(steady_now_ns() - begin, 2 * options.deadline_ns);
  // The device is lost to the session, which goes on without it.
  EXPECT_THAT(floats(run(*session, filled(2, 3))[0]), testing::Each(6));
  EXPECT_EQ(runner_of(*session), "cpu/cpu:0");
  EXPECT_EQ(explained(*session)["fallbacks"].size(), 1u);
  counters.let_go();
}

TEST(DeviceLimits, EachRunOnADeviceThatHangsEndsInTime) {
  const FakeCounters counters;
  const auto session = hanging(counters, "fail");
  ASSERT_NE(session, nullptr);
  session::RunOptions options;
  options.deadline_ns = 300 * kMilliseconds;
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<ValueRef> outputs(1);
    const int64_t begin = steady_now_ns();
    EXPECT_FALSE(session->run(options, filled(2, 1), {}, outputs).ok());
    EXPECT_LT(steady_now_ns() - begin, 2 * options.deadline_ns);
  }
  counters.let_go();
}

}  // namespace
}  // namespace tenon::test
