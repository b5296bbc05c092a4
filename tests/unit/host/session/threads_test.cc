// One session, many threads; many sessions, one process.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

/// A convolution, a product over a symbolic dim, a data-dependent selection and a Loop: everything a Run can meet.
std::string broad_model() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 8}));
  std::vector<float> weights(8 * 8);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.01F * static_cast<float>(i % 13) - 0.05F;
  const auto product = m.node("MatMul", {x, m.constant("w", {8, 8}, weights)});
  const auto soft = m.node("Softmax", {product}, {ir::Attribute::of_int("axis", -1)});
  GraphMaker body;
  body.input("i", GraphMaker::i64({}));
  const auto go = body.input("go", GraphMaker::boolean({}));
  const auto carried = body.input("carried", GraphMaker::f32({ir::Dim(), ir::Dim()}));
  body.output(body.node("Identity", {go}), "go_on", GraphMaker::boolean({}));
  body.output(body.node("Add", {carried, body.capture(soft, "outer")}), "next",
              GraphMaker::f32({ir::Dim(), ir::Dim()}));
  const auto looped =
      m.node("Loop", {m.scalar("trips", 3), ir::kNone, soft}, {ir::Attribute::of_graph("body", body.graph)});
  const auto flat = m.node(
      "Reshape",
      {m.node("Relu", {m.node("Sub", {looped, m.constant("cut", {1}, {0.5F})})}), m.ints("all", {-1})});
  const auto where = m.node("NonZero", {flat});
  m.output(m.node("Gather", {flat, where}), "picked");
  m.output(looped, "looped");
  return m.bytes();
}

std::vector<session::NamedValue> input_for(int seed) {
  const int64_t rows = 1 + seed % 5;
  std::vector<float> data(static_cast<size_t>(rows) * 8);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>((static_cast<int>(i) * 37 + seed * 101) % 19) - 9;
  return {{"x", f32({rows, 8}, data)}};
}

TEST(Threads, ResultsAreThoseOfOneThread) {
  const auto session = make_session(broad_model());
  ASSERT_NE(session, nullptr);
  constexpr int kThreads = 16, kRuns = 200;
  std::vector<std::vector<std::vector<float>>> wanted(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    for (const ValueRef& output : run(*session, input_for(t))) wanted[t].push_back(floats(output));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto inputs = input_for(t);
      for (int turn = 0; turn < kRuns; ++turn) {
        const auto outputs = run(*session, inputs);
        for (size_t o = 0; o < outputs.size(); ++o) wrong += floats(outputs[o]) != wanted[t][o];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
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

TEST(Sessions, LeaveNothingBehind) {
  const std::string bytes = broad_model();
  const auto one = [&] {
    const auto session = make_session(bytes);
    run(*session, input_for(1));
    run(*session, input_for(2));
  };
  for (int i = 0; i < 50; ++i) one();
  const int64_t memory = resident_bytes();
  const size_t descriptors = count_in("/proc/self/fd"), threads = count_in("/proc/self/task");
  for (int i = 0; i < 150; ++i) one();
  EXPECT_LE(resident_bytes() - memory, int64_t{1} << 20);
  EXPECT_EQ(count_in("/proc/self/fd"), descriptors);
  EXPECT_EQ(count_in("/proc/self/task"), threads);
}

}  // namespace
}  // namespace tenon::test
