// One session, many threads; many sessions, one process.
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "host/base/sanitizer.h"
#include "host/session/describe.h"
#include "tests/support/explained.h"
#include "tests/unit/host/session/model_zoo.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

class EveryModel : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Zoo, EveryModel, testing::ValuesIn(zoo_names()),
                         [](const auto& tested) { return tested.param; });

std::vector<std::vector<std::byte>> outputs_of(session::Session& session,
                                               const std::vector<session::NamedValue>& inputs) {
  std::vector<std::vector<std::byte>> bits;
  for (const ValueRef& output : run(session, inputs)) bits.push_back(elements<std::byte>(output));
  return bits;
}

TEST_P(EveryModel, SixteenThreadsGiveTheBitsOfOne) {
  const ZooModel model = zoo_model(GetParam());
  const auto session = make_session(model.bytes, model.config);
  ASSERT_NE(session, nullptr);
  constexpr int kThreads = 16, kRuns = 2000;
  std::vector<std::vector<std::vector<std::byte>>> wanted;
  for (int t = 0; t < kThreads; ++t) wanted.push_back(outputs_of(*session, model.inputs(t)));
  EXPECT_NE(wanted[0], wanted[1]) << "the inputs must differ for this to test anything";
  std::atomic<int> wrong{0}, done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto inputs = model.inputs(t);
      for (int turn = 0; turn < kRuns; ++turn) {
        wrong += outputs_of(*session, inputs) != wanted[static_cast<size_t>(t)];
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(done, kThreads * kRuns);
}

int64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  int64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * 4096;
}
size_t count_in(const char* folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

TEST_P(EveryModel, SessionsLeaveNothingBehind) {
  const ZooModel model = zoo_model(GetParam());
  const auto one = [&] {
    const auto session = make_session(model.bytes, model.config);
    run(*session, model.inputs(1));
    run(*session, model.inputs(2));
  };
  for (int i = 0; i < 50; ++i) one();
  const int64_t memory = resident_bytes();
  const size_t descriptors = count_in("/proc/self/fd"), threads = count_in("/proc/self/task");
  for (int i = 50; i < 200; ++i) one();
  const int64_t grown = resident_bytes() - memory;
  RecordProperty("grown_bytes", std::to_string(grown));
  if (kHostSanitizer == TENON_SANITIZER_NONE) {  // the others keep what was freed for a while, and find leaks
    EXPECT_LE(grown, int64_t{1} << 20);
  }
  EXPECT_EQ(count_in("/proc/self/fd"), descriptors);
  EXPECT_EQ(count_in("/proc/self/task"), threads);
}

TEST(ZooModels, TheDividedOneIsDivided) {
  const ZooModel model = zoo_model("divided");
  const auto session = make_session(model.bytes, model.config);
  ASSERT_NE(session, nullptr);
  EXPECT_GE(explained(*session)["parts"].size(), 3U);
}

}  // namespace
}  // namespace tenon::test
