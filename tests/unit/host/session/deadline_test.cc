// Deadlines of loading and of Runs, with providers that look at nothing but the word they are given.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "core/base/stop.h"
#include "host/session/load.h"
#include "host/session/slots.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using testing::HasSubstr;

constexpr int64_t kLate = 5'000'000'000;  // ns; far more than any deadline here

config::Config waiting(const std::string& fault) {
  config::Config config =
      config_for({fakes_dir() + "/accelerator", providers_dir()}, {"accelerator/npu:0", "cpu"});
  const Status status =
      config.apply_toml("[provider.accelerator]\noptions.fault = '" + fault + "'\n", "test.toml");
  EXPECT_TRUE(status.ok()) << status.to_string();
  return config;
}

config::Config with_load_time(config::Config config, const std::string& seconds) {
  EXPECT_TRUE(config.set("limits.load_time", seconds).ok());
  return config;
}

std::string model(ir::Dim rows) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({rows}));
  m.output(m.node("Relu", {m.node("Add", {x, x}, {}, "add")}, {}, "relu"), "y");
  return m.bytes();
}

Status try_run(session::Session& session, const session::RunOptions& options) {
  std::vector<ValueRef> outputs(1);
  const std::vector<session::NamedValue> inputs = {{"x", f32({2}, {1, 2})}};
  return session.run(options, inputs, {}, outputs);
}

void expect_deadline(const Status& status, std::string_view said, int64_t begin) {
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.to_string();
  EXPECT_EQ(status.kind(), ErrorKind::kDeadline);
  EXPECT_THAT(status.to_string(), HasSubstr(said));
  EXPECT_LT(steady_now_ns() - begin, kLate);
}

TEST(Deadline, OfLoadingStopsACompile) {
  const int64_t begin = steady_now_ns();
  const auto refused = try_session(model(2), with_load_time(waiting("wait_compile"), "0.5"));
  ASSERT_FALSE(refused.ok());
  expect_deadline(refused.status(), "limits.load_time = 0.5 s has passed while it was compiled", begin);
  EXPECT_THAT(refused.status().to_string(), HasSubstr("'add'"));
}

TEST(Deadline, OfLoadingStopsAPrepare) {
  const int64_t begin = steady_now_ns();
  const auto refused = try_session(model(2), with_load_time(waiting("wait_prepare"), "0.5"));
  ASSERT_FALSE(refused.ok());
  expect_deadline(refused.status(), "limits.load_time = 0.5 s has passed while it was prepared", begin);
}

TEST(Deadline, OfLoadingStopsInferenceTransformsAndFolding) {
  GraphMaker m;
  auto x = m.input("x", GraphMaker::f32({2}));
  auto c = m.constant("c", {2}, {1, 2});
  for (int i = 0; i < 3000; ++i) {
    x = m.node("Relu", {x});
    c = m.node("Neg", {c});
  }
  m.output(m.node("Add", {x, c}), "y");
  const std::string bytes = m.bytes();
  // The later the deadline, the later the stage; each must say what it was at.
  bool loaded = false;
  for (double seconds = 1e-6; !loaded; seconds *= 2) {
    const auto made = try_session(bytes, with_load_time(cpu_config(), std::to_string(seconds)));
    loaded = made.ok();
    if (loaded) break;
    EXPECT_EQ(made.status().kind(), ErrorKind::kDeadline) << made.status().to_string();
    EXPECT_THAT(made.status().to_string(), HasSubstr("has passed while "));
    ASSERT_LT(seconds, 600);
  }
}

TEST(Deadline, OfARunReachesPrepare) {
  const auto session = make_session(model(ir::Dim("n")), waiting("wait_prepare"));
  ASSERT_NE(session, nullptr);
  session::RunOptions options;
  options.deadline_ns = 50'000'000;
  const int64_t begin = steady_now_ns();
  expect_deadline(try_run(*session, options), "the Run's deadline has passed", begin);
}

TEST(Deadline, ReachesAKernelThatLooksAtTheWordAlone) {
  const auto session = make_session(model(2), waiting("wait_run"));
  ASSERT_NE(session, nullptr);
  session::RunOptions options;
  options.deadline_ns = 50'000'000;
  int64_t begin = steady_now_ns();
  expect_deadline(try_run(*session, options), "the Run's deadline has passed", begin);

  session::Slots slots(session);
  const ValueRef x = f32({2}, {1, 2});
  ASSERT_TRUE(slots.bind_input(0, x->tensor).ok());
  begin = steady_now_ns();
  expect_deadline(slots.run(options), "the Run's deadline has passed", begin);
}

TEST(Deadline, BesideACancelWordBothCount) {
  const auto session = make_session(model(2), waiting("wait_run"));
  ASSERT_NE(session, nullptr);
  uint32_t cancel = 0;
  session::RunOptions options;
  options.cancel = &cancel;
  options.deadline_ns = 3'600'000'000'000;
  std::thread sets([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    __atomic_store_n(&cancel, 1u, __ATOMIC_RELAXED);
  });
  const int64_t begin = steady_now_ns();
  EXPECT_EQ(try_run(*session, options).kind(), ErrorKind::kCancelled);
  EXPECT_LT(steady_now_ns() - begin, kLate);
  sets.join();
  __atomic_store_n(&cancel, 0u, __ATOMIC_RELAXED);
  options.deadline_ns = 20'000'000;
  EXPECT_EQ(try_run(*session, options).kind(), ErrorKind::kDeadline);
}

TEST(Deadline, TheLatestOfAllIsNotOver) {
  const auto session = make_session(model(2));
  ASSERT_NE(session, nullptr);
  session::RunOptions options;
  for (const int64_t deadline : {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2}) {
    options.deadline_ns = deadline;
    EXPECT_TRUE(try_run(*session, options).ok()) << deadline;
  }
  options.deadline_ns = -1;
  EXPECT_EQ(try_run(*session, options).kind(), ErrorKind::kDeadline);
}

}  // namespace
}  // namespace tenon::test
