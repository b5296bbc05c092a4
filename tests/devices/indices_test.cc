// Indices are read on the device: one that is out of range is an error of the Run that brought it, and of no other.
#include <pthread.h>

#include "tests/devices/device_case.h"

namespace tenon::test {
namespace {

/// y = relu(x)[i], z = y + y: the wait comes two nodes after the index.
std::string model() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({3})), i = m.input("i", GraphMaker::i64({2}));
  const auto y = m.node("Gather", {m.node("Relu", {x}), i});
  m.output(m.node("Add", {y, y}), "z");
  return m.bytes();
}

Status try_run(session::Session& session, int64_t first, int64_t second, std::vector<float>* out) {
  std::vector<ValueRef> outputs(1);
  const std::vector<session::NamedValue> inputs{{"x", f32({3}, {1, 2, 3})}, {"i", i64({2}, {first, second})}};
  Status status = session.run({}, inputs, {}, outputs);
  if (status.ok()) *out = floats(outputs[0]);
  return status;
}

TEST(DeviceIndices, OneOutOfRangeFailsItsRunAndNoOther) {
  for (const std::string& memory : memories()) {
    const auto session = make_session(model(), device_config(memory));
    ASSERT_NE(session, nullptr);
    for (const int64_t bad : {int64_t{3}, int64_t{-4}, INT64_MAX, INT64_MIN}) {
      std::vector<float> out;
      const Status status = try_run(*session, 1, bad, &out);
      ASSERT_FALSE(status.ok()) << memory << " " << bad;
      EXPECT_EQ(status.kind(), ErrorKind::kInvalidInput) << status.to_string();
      for (const std::string& part :
           {std::string("Gather"), "index " + std::to_string(bad), std::string("axis of 3")})
        EXPECT_NE(status.to_string().find(part), std::string::npos) << status.to_string();
      ASSERT_TRUE(try_run(*session, -1, 0, &out).ok()) << memory;
      EXPECT_EQ(out, (std::vector<float>{6, 2})) << memory;
    }
  }
}

/// The thread has no room for a compiler's stack.
TEST(DeviceStack, ASessionIsMadeOnASmallOne) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t{128} << 10), 0);
  pthread_t thread{};
  const auto body = [](void* raw) -> void* {
    const auto session = make_session(model(), device_config("auto"));
    std::vector<float> out;
    *static_cast<bool*>(raw) = session != nullptr && try_run(*session, 0, 2, &out).ok() && out[1] == 6;
    return nullptr;
  };
  bool worked = false;
  ASSERT_EQ(pthread_create(&thread, &attributes, body, &worked), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_TRUE(worked);
}

}  // namespace
}  // namespace tenon::test
