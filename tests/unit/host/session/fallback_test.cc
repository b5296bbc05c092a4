// What a session does when an instance fails during its Runs. Each point of fallback with each value of its
// key is a row of tests/cli/behaviour/fallback.json; here is what the command does not show.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "host/base/log.h"
#include "host/device/host_api.h"
#include "host/services/trace.h"
#include "host/session/describe.h"
#include "host/session/slots.h"
#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

config::Config faulty(const std::string& text,
                      const std::vector<std::string>& order = {"accelerator/npu:0", "cpu"}) {
  config::Config config = config_for({fakes_dir() + "/accelerator", providers_dir()}, order);
  const Status status = config.apply_toml("[provider.accelerator]\n" + text, "test.toml");
  EXPECT_TRUE(status.ok()) << status.to_string();
  return config;
}

/// y = relu(x + x), with rows that may be free.
std::string model(ir::Dim rows = 2) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({rows}));
  m.output(m.node("Relu", {m.node("Add", {x, x}, {}, "add")}, {}, "relu"), "y");
  return m.bytes();
}

std::string runner_of(const session::Session& session, size_t node = 0) {
  return explained(session)["nodes"][node]["instance"].get<std::string>();
}

Status try_run(session::Session& session, const std::vector<float>& x, std::vector<float>* y = nullptr) {
  std::vector<ValueRef> outputs(1);
  const std::vector<session::NamedValue> inputs = {{"x", f32({static_cast<int64_t>(x.size())}, x)}};
  const Status status = session.run({}, inputs, {}, outputs);
  if (status.ok() && y != nullptr) *y = floats(outputs[0]);
  return status;
}

TEST(Fallback, TheSessionStaysOnTheNextAndExplainsItself) {
  const auto session = make_session(model(), faulty("on_lost = 'next'\noptions.fault = 'lost'\n"
                                                    "options.fault_after = 1\n"));
  ASSERT_NE(session, nullptr);
  std::vector<float> y;
  ASSERT_TRUE(try_run(*session, {1, -2}, &y).ok());
  EXPECT_EQ(runner_of(*session), "accelerator/npu:0");
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(try_run(*session, {3, -2}, &y).ok());
    EXPECT_THAT(y, ElementsAre(6, 0));
    EXPECT_EQ(runner_of(*session), "cpu/cpu:0");
  }
  const auto json = explained(*session);
  ASSERT_EQ(json["fallbacks"].size(), 1u);
  EXPECT_EQ(json["fallbacks"][0]["point"], "device_lost");
  EXPECT_EQ(json["fallbacks"][0]["provider"], "accelerator/npu:0");
  EXPECT_EQ(json["fallbacks"][0]["policy"], "provider.accelerator.on_lost = \"next\"");
  EXPECT_THAT(json["fallbacks"][0]["text"].get<std::string>(), HasSubstr("the device was lost"));
  EXPECT_THAT(json["instances"], ElementsAre("cpu/cpu:0"));
}

TEST(Fallback, WhatWasReplacedIsReleasedThoughOtherThreadsRanOnIt) {
  const auto session = make_session(model(), faulty("on_lost = 'next'\noptions.fault = 'lost'\n"
                                                    "options.fault_after = 2\n"));
  ASSERT_NE(session, nullptr);
  const std::weak_ptr<const session::Assembly> old = session->assembly();
  std::thread([&] { EXPECT_TRUE(try_run(*session, {1, -2}).ok()); }).join();
  ASSERT_TRUE(try_run(*session, {1, -2}).ok());
  EXPECT_FALSE(old.expired());
  std::vector<float> y;
  ASSERT_TRUE(try_run(*session, {3, -2}, &y).ok());
  EXPECT_THAT(y, ElementsAre(6, 0));
  EXPECT_EQ(runner_of(*session), "cpu/cpu:0");
  EXPECT_TRUE(old.expired());
}

TEST(Fallback, OtherDevicesOfTheProviderAreKeptUnlessTheProcessLostIt) {
  for (const auto& [fault, heir] : {std::pair("lost", "accelerator/npu:1"), {"lost_process", "cpu/cpu:0"}}) {
    SCOPED_TRACE(fault);
    config::Config config = faulty("options.fault = '" + std::string(fault) + "'\noptions.fault_times = 1\n",
                                   {"accelerator/npu:0", "accelerator/npu:1", "cpu"});
    const auto session = make_session(model(), config);
    ASSERT_NE(session, nullptr);
    std::vector<float> y;
    ASSERT_TRUE(try_run(*session, {1, 2}, &y).ok());
    EXPECT_THAT(y, ElementsAre(2, 4));
    EXPECT_EQ(runner_of(*session), heir);
  }
}

TEST(Fallback, ARestartOpensTheDeviceAgainForEverybody) {
  const config::Config config =
      faulty("on_lost = 'restart'\noptions.fault = 'lost'\noptions.fault_times = 1\n");
  const auto session = make_session(model(), config);
  ASSERT_NE(session, nullptr);
  const auto* before = &session->assembly()->selection.instances[0]->device();
  for (int turn = 0; turn < 3; ++turn) ASSERT_TRUE(try_run(*session, {1, 2}).ok());
  const auto* after = &session->assembly()->selection.instances[0]->device();
  EXPECT_NE(before, after);
  EXPECT_EQ(runner_of(*session), "accelerator/npu:0");
  EXPECT_EQ(explained(*session)["fallbacks"].size(), 1u);
  const auto other = make_session(model(), config);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(&other->assembly()->selection.instances[0]->device(), after);
}

TEST(Fallback, FailuresThatOthersWouldHaveTooAreErrorsAtOnce) {
  const auto session = make_session(model(ir::Dim("n")), faulty("on_lost = 'next'\n"));
  ASSERT_NE(session, nullptr);
  const uint32_t cancelled = 1;
  session::RunOptions options;
  options.cancel = &cancelled;
  std::vector<ValueRef> outputs(1);
  const Status status =
      session->run(options, std::vector<session::NamedValue>{{"x", f32({1}, {1})}}, {}, outputs);
  EXPECT_EQ(status.kind(), ErrorKind::kCancelled);
  EXPECT_EQ(runner_of(*session), "accelerator/npu:0");
  EXPECT_TRUE(explained(*session)["fallbacks"].empty());
}

TEST(Fallback, ARunWithoutMemoryIsAnErrorAndTheProviderStays) {
  for (const char* policy : {"next", "restart"}) {
    SCOPED_TRACE(policy);
    const auto session = make_session(
        model(), faulty("on_lost = '" + std::string(policy) +
                        "'\noptions.fault = 'memory'\noptions.fault_after = 1\noptions.fault_times = 1\n"));
    ASSERT_NE(session, nullptr);
    ASSERT_TRUE(try_run(*session, {1, 2}).ok());
    const Status refused = try_run(*session, {1, 2});
    EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused.to_string();
    std::vector<float> y;
    ASSERT_TRUE(try_run(*session, {1, 2}, &y).ok());
    EXPECT_THAT(y, ElementsAre(2, 4));
    EXPECT_EQ(runner_of(*session), "accelerator/npu:0");
    EXPECT_TRUE(explained(*session)["fallbacks"].empty());
  }
}

TEST(Fallback, WithoutAnotherProviderTheErrorSaysSo) {
  const auto session =
      make_session(model(), faulty("on_lost = 'next'\noptions.fault = 'lost'\n", {"accelerator/npu:0"}));
  ASSERT_NE(session, nullptr);
  const Status status = try_run(*session, {1, 2});
  EXPECT_EQ(status.kind(), ErrorKind::kDeviceLost);
  EXPECT_THAT(status.to_string(), HasSubstr("the device was lost; the session has no other provider"));
}

TEST(Fallback, ARequiredPlacementIsNotGivenUp) {
  config::Config config = faulty("on_lost = 'next'\noptions.fault = 'lost'\n");
  ASSERT_TRUE(config
                  .apply_toml("[[placement]]\nmatch = { op = 'Relu' }\nprovider = 'accelerator'\n"
                              "required = true\n",
                              "rules.toml")
                  .ok());
  const auto session = make_session(model(), config);
  ASSERT_NE(session, nullptr);
  const Status status = try_run(*session, {1, 2});
  EXPECT_EQ(status.kind(), ErrorKind::kDeviceLost);
  EXPECT_THAT(status.to_string(), HasSubstr("without it:"));
  EXPECT_THAT(status.to_string(), HasSubstr("'relu'"));
}

TEST(Fallback, PreparingForAShapeCountsAsARun) {
  const auto session =
      make_session(model(ir::Dim("n")), faulty("on_lost = 'next'\noptions.fault = 'prepare'\n"));
  ASSERT_NE(session, nullptr);
  std::vector<float> y;
  ASSERT_TRUE(try_run(*session, {1, 2, 3}, &y).ok());
  EXPECT_THAT(y, ElementsAre(2, 4, 6));
  EXPECT_EQ(runner_of(*session), "cpu/cpu:0");
  // With shapes that are known the session prepares while it is made.
  const auto early = make_session(model(), faulty("on_lost = 'next'\noptions.fault = 'prepare'\n"));
  ASSERT_NE(early, nullptr);
  EXPECT_EQ(runner_of(*early), "cpu/cpu:0");
}

TEST(Fallback, ABodyOfControlFlowRunsElsewhere) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  GraphMaker body;
  body.input("i", GraphMaker::i64({}));
  const auto go = body.input("go", GraphMaker::boolean({}));
  const auto carried = body.input("carried", GraphMaker::f32({2}));
  body.output(body.node("Identity", {go}), "go_on", GraphMaker::boolean({}));
  body.output(body.node("Add", {carried, carried}), "next", GraphMaker::f32({2}));
  m.output(
      m.node("Loop", {m.scalar("trips", 3), ir::kNone, x}, {ir::Attribute::of_graph("body", body.graph)}),
      "y");
  // The second trip fails; the Run begins again from its inputs.
  const auto session =
      make_session(m.bytes(), faulty("on_lost = 'next'\noptions.fault = 'run'\noptions.fault_after = 1\n"
                                     "options.ops = 'Add'\n"));
  ASSERT_NE(session, nullptr);
  std::vector<float> y;
  ASSERT_TRUE(try_run(*session, {1, 3}, &y).ok());
  EXPECT_THAT(y, ElementsAre(8, 24));
}

TEST(Fallback, SlotsFollowTheSession) {
  for (const char* policy : {"next", "restart"}) {
    SCOPED_TRACE(policy);
    const auto session = make_session(model(), faulty("on_lost = '" + std::string(policy) +
                                                      "'\noptions.fault = 'lost'\noptions.fault_times = 1\n"
                                                      "options.fault_after = 2\n"));
    ASSERT_NE(session, nullptr);
    session::Slots slots(session), others(session);
    std::vector<float> x = {1, -1};
    const std::vector<int64_t> shape = {2};
    tenon_tensor tensor{};
    tensor.kind = TENON_KIND_TENSOR;
    tensor.dtype = TENON_FLOAT32;
    tensor.rank = 1;
    tensor.dims = shape.data();
    tensor.data = x.data();
    tensor.byte_size = 8;
    for (session::Slots* each : {&slots, &others}) ASSERT_TRUE(each->bind_input(0, tensor).ok());
    for (int turn = 0; turn < 6; ++turn) {
      x[0] = static_cast<float>(turn);
      for (session::Slots* each : {&slots, &others}) {
        const Status status = each->run({});
        ASSERT_TRUE(status.ok()) << status.to_string();
        EXPECT_EQ(static_cast<const float*>(each->output(0)->data)[0], 2 * x[0]);
      }
    }
    EXPECT_EQ(explained(*session)["fallbacks"].size(), 1u);
  }
}

TEST(Fallback, ManyThreadsMeetOneLoss) {
  const auto session = make_session(model(ir::Dim("n")), faulty("on_lost = 'next'\noptions.fault = 'lost'\n"
                                                                "options.fault_after = 20\n"
                                                                "options.latency_us = 0\n"));
  ASSERT_NE(session, nullptr);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::vector<float> y;
      for (int turn = 0; turn < 20; ++turn) {
        const auto v = static_cast<float>(t * 20 + turn);
        const Status status = try_run(*session, std::vector<float>(static_cast<size_t>(1 + t % 3), v), &y);
        wrong += !status.ok() || y.at(0) != 2 * v;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(runner_of(*session), "cpu/cpu:0");
  EXPECT_EQ(explained(*session)["fallbacks"].size(), 1u);
}

TEST(Fallback, IsLoggedAndTraced) {
  std::vector<std::string> lines;
  set_log_sink([&](const LogLine& line) {
    if (line.level == TENON_LOG_WARNING) lines.push_back(str_cat(line.code, " ", line.message));
  });
  const auto session = make_session(model(), faulty("options.fault = 'late'\n"));
  ASSERT_NE(session, nullptr);
  runtime::Trace trace;
  session::RunOptions options;
  options.trace = &trace;
  run(*session, {{"x", f32({2}, {1, 2})}}, options);
  set_log_sink({});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("FALLBACK accelerator/npu:0 failed"));
  int found = 0;
  for (const runtime::Trace::Event& event : trace.take()) found += event.category == "fallback";
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace tenon::test
