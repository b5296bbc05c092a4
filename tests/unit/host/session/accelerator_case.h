// Sessions over the fake accelerator, and the numbers of what it did.
#pragma once

#include <unistd.h>

#include <filesystem>

#include "tests/fakes/accelerator/counters.h"
#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {

/// `options`: "key=value", options of the fake.
inline config::Config accelerated(const std::vector<std::string>& order,
                                  const std::vector<std::string>& options = {}) {
  config::Config config = config_for({fakes_dir() + "/accelerator", providers_dir()}, order);
  for (const std::string& option : options) {
    const Status status = assign(config, "provider.accelerator.options." + option);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  return config;
}
/// What the first device does not take runs on the cpu.
inline config::Config split(const std::vector<std::string>& options = {}) {
  return accelerated({"accelerator/npu:0", "cpu"}, options);
}
/// As split(), and nodes whose name ends with "on_1" or "on_2" run on that device.
inline config::Config spread(const std::vector<std::string>& options = {}) {
  config::Config config =
      accelerated({"accelerator/npu:0", "accelerator/npu:1", "accelerator/npu:2", "cpu"}, options);
  std::string rules;
  for (int device = 1; device <= 2; ++device) {
    rules += str_cat("[[placement]]\nmatch = { node = \".*on_", device,
                     "\" }\nprovider = \"accelerator/npu:", device, "\"\nrequired = true\n");
  }
  const Status status = config.apply_toml(rules, "test");
  EXPECT_TRUE(status.ok()) << status.to_string();
  return config;
}

/// What the cpu provider computes.
inline std::vector<ValueRef> reference(const std::string& bytes,
                                       const std::vector<session::NamedValue>& inputs) {
  return run(*make_session(bytes), inputs);
}

inline void expect_equal(const std::vector<ValueRef>& got, const std::vector<ValueRef>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t o = 0; o < got.size(); ++o) {
    EXPECT_EQ(dims(got[o]), dims(wanted[o]));
    EXPECT_EQ(floats(got[o]), floats(wanted[o]));
  }
}

/// "accelerator/npu:0".
inline std::string runner_of(const session::Session& session, size_t node = 0) {
  return explained(session)["nodes"][node]["instance"].get<std::string>();
}

/// The file of the option `counters`. It goes with the object.
class FakeCounters {
 public:
  FakeCounters()
      : path_(str_cat(testing::TempDir(), "/tenon-counters.",
                      testing::UnitTest::GetInstance()->current_test_info()->name(), ".", ::getpid())),
        file_(path_) {}
  ~FakeCounters() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  FakeCounters(const FakeCounters&) = delete;
  FakeCounters& operator=(const FakeCounters&) = delete;

  std::string option() const { return "counters=\"" + path_ + "\""; }
  const accelerator::Counters& now() const { return file_.counters(); }
  /// Ends work that hangs, as a test must before its session ends: what still hangs then keeps the device open, for the
  /// tests behind it too.
  void let_go() const { file_.counters().let_go = 1; }

 private:
  std::string path_;
  accelerator::CounterFile file_;
};

using Number = accelerator::Counters::Number accelerator::Counters::*;

/// How much some numbers grow while `body` is called.
template <class Body>
std::vector<uint64_t> growth(const FakeCounters& counters, const std::vector<Number>& numbers, Body body) {
  std::vector<uint64_t> out;
  for (const Number number : numbers) out.push_back(counters.now().*number);
  body();
  for (size_t i = 0; i < numbers.size(); ++i) out[i] = counters.now().*numbers[i] - out[i];
  return out;
}

}  // namespace tenon::test
