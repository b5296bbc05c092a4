// A process that was forked from one that had used a device has none of the threads of its drivers: whatever calls them there
// would wait for ever. It is told so at once.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

#include "host/base/sanitizer.h"
#include "tests/devices/device_case.h"

namespace {
bool is_child = false;
}
/// LeakSanitizer asks before it looks. What a driver holds belongs to the parent: a child cannot give it back, because the driver
/// must not be called there, and so the memory of its objects is left over when the child ends.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() { return is_child ? 1 : 0; }

namespace tenon::test {
namespace {

constexpr unsigned kSeconds = 20;  // after which a child that hangs is ended

std::string relu() {
  GraphMaker m;
  m.output(m.node("Relu", {m.input("x", GraphMaker::f32({2}))}), "y");
  return m.bytes();
}

/// What `body` says in a child of this process, which then ends as programs do: with exit(). Nothing when it did not end well.
std::optional<std::string> in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    is_child = true;
    alarm(kSeconds);
    const std::string said = body();
    if (write(ends[1], said.data(), said.size()) < 0) _exit(2);
    // A driver may join its threads at exit. ThreadSanitizer waits for ever for those that the fork did not copy.
    if (kHostSanitizer == TENON_SANITIZER_THREAD) _exit(0);
    exit(0);
  }
  close(ends[1]);
  std::string out;
  char chunk[512];
  for (ssize_t n; (n = read(ends[0], chunk, sizeof chunk)) > 0;) out.append(chunk, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return out;
}

Status try_run(session::Session& session) {
  std::vector<ValueRef> outputs(1);
  const std::vector<session::NamedValue> inputs{{"x", f32({2}, {-1, 2})}};
  return session.run({}, inputs, {}, outputs);
}

TEST(DeviceFork, AChildIsToldAtOnce) {
  const auto session = make_session(relu(), config_for({providers_dir()}, {provider()}));
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(try_run(*session).ok());
  const auto said = in_child([&] {
    // The fastest of some: a child copies the pages that it writes, and a loaded machine may keep it waiting.
    std::chrono::duration<double, std::milli> least(kSeconds * 1000);
    Status status = ok_status();
    for (int i = 0; i < 10; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      status = try_run(*session);
      least = std::min<decltype(least)>(least, std::chrono::steady_clock::now() - begin);
    }
    if (least.count() > 10) return "it took " + std::to_string(least.count()) + " ms";
    if (status.kind() != ErrorKind::kDeviceLost) return "another kind: " + status.to_string();
    return status.to_string();
  });
  ASSERT_TRUE(said.has_value()) << "the child hung or crashed";
  EXPECT_NE(said->find("forked"), std::string::npos) << *said;
  EXPECT_NE(said->find("new process"), std::string::npos) << *said;
  EXPECT_TRUE(try_run(*session).ok()) << "the parent lost its device too";
}

TEST(DeviceFork, ASessionThatAChildMakesIsRefusedInTheSameWay) {
  const config::Config config = config_for({providers_dir()}, {provider()});
  ASSERT_NE(make_session(relu(), config), nullptr);
  const auto said = in_child([&] {
    const auto session = try_session(relu(), config);
    return session.ok() ? "it works" : session.status().to_string();
  });
  ASSERT_TRUE(said.has_value()) << "the child hung or crashed";
  EXPECT_TRUE(said->find("forked") != std::string::npos || *said == "it works") << *said;
}

TEST(DeviceFork, AChildDestroysWhatItInherits) {
  auto session = make_session(relu(), config_for({providers_dir()}, {provider()}));
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(try_run(*session).ok());
  const auto said = in_child([&] {
    session.reset();
    return std::string("destroyed");
  });
  EXPECT_EQ(said, "destroyed") << "the child hung or crashed";
  EXPECT_TRUE(try_run(*session).ok());
}

TEST(DeviceFork, StreamsAndMemoryThatAChildInheritsAreRefusedAndDestroyed) {
  auto pick = std::make_unique<Pick>("device");
  auto bound = std::make_unique<Bound>(*pick);
  bound->set({1, 2, 3}, {2, 1});
  Stream stream = pick->make_stream();
  ASSERT_TRUE(stream.record_begin().ok());
  ASSERT_TRUE(bound->run(stream).ok());
  runtime::Recording recording = *stream.record_end();
  Buffer staging = *Buffer::allocate(*pick->device().staging(), 64);
  ASSERT_TRUE(recording.run(stream).ok());
  const uint64_t point = *stream.point();
  const auto said = in_child([&] {
    const std::string out = stream.wait(point).to_string() + recording.run(stream).to_string();
    staging.reset();
    recording.reset();
    stream.reset();
    bound.reset();
    pick.reset();
    return out;
  });
  ASSERT_TRUE(said.has_value()) << "the child hung or crashed";
  EXPECT_NE(said->find("forked"), said->rfind("forked")) << "each call is refused: " << *said;
  ASSERT_TRUE(stream.wait(point).ok());
  EXPECT_EQ(bound->result(), (std::vector<float>{3, 2}));
}

}  // namespace
}  // namespace tenon::test
