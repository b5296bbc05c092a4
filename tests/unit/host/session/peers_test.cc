// Sessions over several devices of one provider: how values go between them, where the host waits, and whose failures
// they report.
#include <gmock/gmock.h>

#include "tests/unit/host/session/accelerator_case.h"

namespace tenon::test {
namespace {

using accelerator::Counters;
using session::NamedValue;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kCount = 1000;
constexpr uint64_t kBytes = kCount * sizeof(float);

/// y = (x + x) * (x + x), with the Mul on another device.
std::string two_devices(int device) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({kCount}));
  const auto a = m.node("Add", {x, x}, {}, "add");
  m.output(m.node("Mul", {a, a}, {}, str_cat("mul_on_", device)), "y");
  return m.bytes();
}

std::vector<NamedValue> counting() {
  std::vector<float> values;
  for (int64_t i = 0; i < kCount; ++i) values.push_back(static_cast<float>(i));
  return {{"x", f32({kCount}, values)}};
}

TEST(Peers, AValueGoesFromDeviceToDeviceAtOnce) {
  const FakeCounters counters;
  const auto session = make_session(two_devices(1), spread({counters.option()}));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(runner_of(*session, 1), "accelerator/npu:1");
  const auto inputs = counting();
  const auto wanted = reference(two_devices(1), inputs);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<ValueRef> outputs;
    EXPECT_THAT(growth(counters,
                       {&Counters::copies_to_device, &Counters::copies_peer, &Counters::bytes_peer,
                        &Counters::copies_to_host},
                       [&] { outputs = run(*session, inputs); }),
                ElementsAre(1, 1, kBytes, 1));
    expect_equal(outputs, wanted);
  }
}

TEST(Peers, WithoutPeerCopiesItGoesByWayOfTheHost) {
  const FakeCounters counters;
  const auto session = make_session(two_devices(2), spread({counters.option()}));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(runner_of(*session, 1), "accelerator/npu:2");
  const auto inputs = counting();
  const auto wanted = reference(two_devices(2), inputs);
  for (int turn = 0; turn < 3; ++turn) expect_equal(run(*session, inputs), wanted);
  EXPECT_EQ(counters.now().copies_peer, 0u);
}

/// There and back: npu:0, npu:1, npu:0.
std::string there_and_back() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({kCount}));
  const auto a = m.node("Add", {x, x}, {}, "add");
  const auto b = m.node("Mul", {a, a}, {}, "mul_on_1");
  m.output(m.node("Sub", {b, a}, {}, "sub"), "y");
  return m.bytes();
}

TEST(StreamWait, StreamsOfOneProviderWaitForEachOtherOnTheDevice) {
  const FakeCounters counters;
  const auto session = make_session(there_and_back(), spread({counters.option()}));
  ASSERT_NE(session, nullptr);
  const auto inputs = counting();
  const auto wanted = reference(there_and_back(), inputs);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<ValueRef> outputs;
    const std::vector<uint64_t> grown = growth(counters, {&Counters::point_waits, &Counters::stream_waits},
                                               [&] { outputs = run(*session, inputs); });
    EXPECT_EQ(grown[0], 2u) << "the host waits once for each stream, at the end";
    EXPECT_GE(grown[1], 2u);
    expect_equal(outputs, wanted);
  }
}

/// The failure of a Run on `op`, which comes late.
std::string late_failure(const std::string& op, const std::string& more = "max_nodes=1") {
  config::Config config =
      spread({"fault=\"late\"", "fault_op=\"" + op + "\"", "fault_after=1", "fault_times=1", more});
  EXPECT_TRUE(config.set("provider.accelerator.on_lost", "\"fail\"").ok());
  const auto session = make_session(there_and_back(), config);
  if (session == nullptr) return "no session";
  const auto inputs = counting();
  const auto wanted = reference(there_and_back(), inputs);
  expect_equal(run(*session, inputs), wanted);
  std::vector<ValueRef> outputs(1);
  const Status status = session->run({}, inputs, {}, outputs);
  EXPECT_FALSE(status.ok());
  // The failure is over: the streams are as good as before.
  for (int turn = 0; turn < 2; ++turn) expect_equal(run(*session, inputs), wanted);
  return status.to_string();
}

TEST(LateErrors, NameTheNodeThatFailed) {
  for (const auto& [op, node] :
       {std::pair("Add", "node 'add' (Add)"), std::pair("Mul", "node 'mul_on_1' (Mul)"),
        std::pair("Sub", "node 'sub' (Sub)")}) {
    SCOPED_TRACE(op);
    const std::string text = late_failure(op);
    EXPECT_THAT(text, HasSubstr("the injected fault 'late'"));
    EXPECT_THAT(text, HasSubstr(node));
    for (const char* other : {"'add'", "'mul_on_1'", "'sub'"}) {
      const bool is_other = std::string_view(node).find(other) == std::string_view::npos;
      EXPECT_EQ(text.find(other) == std::string::npos, is_other) << text;
    }
  }
}

TEST(LateErrors, NameItWithoutRecordings) {
  EXPECT_THAT(late_failure("Add", "record=\"no\""), HasSubstr("node 'add' (Add)"));
  EXPECT_THAT(late_failure("Mul", "record=\"no\""), HasSubstr("node 'mul_on_1' (Mul)"));
}

TEST(LateErrors, TheRunIsRepeatedElsewhere) {
  config::Config config = split({"fault=\"late\"", "fault_op=\"Mul\""});
  ASSERT_TRUE(config.set("provider.accelerator.on_lost", "\"next\"").ok());
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  m.output(m.node("Mul", {m.node("Add", {x, x}, {}, "add"), x}, {}, "mul"), "y");
  const auto session = make_session(m.bytes(), config);
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(floats(run(*session, {{"x", f32({2}, {1, 2})}})[0]), ElementsAre(2, 8));
  EXPECT_EQ(runner_of(*session), "cpu/cpu:0");
}

TEST(ConstantUpload, AValueKnownToThePlanGoesToTheDeviceOnce) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 2}));
  const auto to_float = ir::Attribute::of_int("to", TENON_FLOAT32);
  const auto known = m.node("Cast", {m.node("Shape", {x}, {}, "shape")}, {to_float}, "cast");
  m.output(m.node("Add", {x, known}, {}, "add"), "y");
  const FakeCounters counters;
  const auto session = make_session(m.bytes(), split({counters.option()}));
  ASSERT_NE(session, nullptr);
  const std::vector<NamedValue> inputs = {{"x", f32({3, 2}, {1, 2, 3, 4, 5, 6})}};
  EXPECT_THAT(floats(run(*session, inputs)[0]), ElementsAre(4, 4, 6, 6, 8, 8));
  EXPECT_EQ(counters.now().copies_to_device, 2u) << "x and the shape";
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_THAT(growth(counters, {&Counters::copies_to_device}, [&] { run(*session, inputs); }),
                ElementsAre(1))
        << "x";
  }
}

}  // namespace
}  // namespace tenon::test
