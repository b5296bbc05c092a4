// A child of a fork has none of its parent's threads, and the libraries do not know. CTest runs these too with libgomp, and
// with oneDNN, loaded before anything else.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "tests/onednn/onednn_case.h"

namespace tenon::test {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);
constexpr int kHung = -1;

/// The exit code of a child that calls `work`; kHung when it has not ended in time.
int in_one_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return kHung;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int in_child(const std::function<bool()>& work) {
  const int code = in_one_child(work);
#ifdef __SANITIZE_ADDRESS__
  // The sanitizer's allocator is not made for forks: a child hangs when another thread of its parent was within it. That is
  // rare, so it does not happen twice.
  if (code == kHung) return in_one_child(work);
#endif
  return code;
}

struct Case {
  std::string bytes;
  ValueRef x;
  config::Config config = onednn({"threads.count=2"});

  Case() {
    std::mt19937 random(1);
    GraphMaker m;
    const Id product = m.node("MatMul", {m.input("x", GraphMaker::f32({256, 256})),
                                         m.constant("w", {256, 256}, noise(random, 256 * 256))});
    m.output(m.node("Softmax", {product}), "y");
    bytes = m.bytes();
    x = image(random, {256, 256});
  }
  bool gives(session::Session& session, const std::vector<float>& wanted) const {
    for (int i = 0; i < 3; ++i) {
      const std::vector<float> got = floats(run(session, {{"x", x}})[0]);
      const auto near = [](float a, float b) { return std::fabs(a - b) < 1e-5f; };
      if (!std::equal(got.begin(), got.end(), wanted.begin(), wanted.end(), near)) return false;
    }
    return true;
  }
};

TEST(OneDnnFork, AChildRunsTheSessionOfItsParent) {
  const Case c;
  const auto session = make_session(c.bytes, c.config);
  ASSERT_NE(session, nullptr);
  const std::vector<float> wanted = floats(run(*session, {{"x", c.x}})[0]);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(in_child([&] { return c.gives(*session, wanted); }), 0);
  EXPECT_TRUE(c.gives(*session, wanted)) << "the parent goes on";
}

TEST(OneDnnFork, AChildMakesASessionOfItsOwn) {
  const Case c;
  const auto session = make_session(c.bytes, c.config);
  ASSERT_NE(session, nullptr);
  const std::vector<float> wanted = floats(run(*session, {{"x", c.x}})[0]);
  const auto make = [&] {
    const auto own = make_session(c.bytes, c.config);
    return own != nullptr && c.gives(*own, wanted);
  };
  EXPECT_EQ(in_child(make), 0);
  EXPECT_EQ(in_child([&] { return in_child(make) == 0; }), 0) << "and a child of the child";
}

}  // namespace
}  // namespace tenon::test
