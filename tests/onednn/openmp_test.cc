// Which OpenMP runtime works for oneDNN: the provider's own, or that which the application brought along. CTest runs all
// tests of this executable again with libgomp, and with oneDNN, loaded before anything else.
#include <dlfcn.h>

#include <filesystem>
#include <fstream>

#include "tests/onednn/onednn_case.h"

namespace tenon::test {
namespace {

/// Threads of this process; with a name, those of that name.
size_t threads(const std::string& name = {}) {
  size_t n = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::getline(std::ifstream(task.path() / "comm"), found);
    n += name.empty() || found == name ? 1 : 0;
  }
  return n;
}

std::string large_product() {
  std::mt19937 random(1);
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({256, 256}));
  m.output(m.node("MatMul", {x, m.constant("w", {256, 256}, noise(random, 256 * 256))}), "y");
  return m.bytes();
}

TEST(OneDnnOpenMp, OneThreadIsTheCallers) {
  std::mt19937 random(2);
  const std::string bytes = large_product();
  const ValueRef x = image(random, {256, 256});
  const auto session = make_session(bytes, onednn({"threads.count=1"}));
  ASSERT_NE(session, nullptr);
  const size_t before = threads();
  run(*session, {{"x", x}});
  EXPECT_EQ(threads(), before);
}

TEST(OneDnnOpenMp, MoreThreadsAreOursUnlessTheApplicationHasARuntime) {
  std::mt19937 random(3);
  const bool has_runtime = dlsym(RTLD_DEFAULT, "GOMP_parallel") != nullptr;
  const std::string bytes = large_product();
  const ValueRef x = image(random, {256, 256});
  compare(bytes, {{"x", x}}, onednn({"threads.count=2"}), 1e-4f, "two threads");
  if (has_runtime) {
    EXPECT_EQ(threads("tenon-onednn"), 0u);
  } else {
    EXPECT_GE(threads("tenon-onednn"), 1u);
  }
}

}  // namespace
}  // namespace tenon::test
