// Tensors that stay in memory of the OpenCL device between Runs, with its tensors in the host's memory and in its own.
#include "host/device/device_value.h"
#include "host/session/slots.h"
#include "tests/devices/device_case.h"

namespace tenon::test {
namespace {

TEST(DeviceValues, AChainOfRunsIsThatOfTheHost) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2, 3}));
  m.output(m.node("Relu", {m.node("Add", {x, x})}), "y");
  for (const std::string& memory : memories()) {
    const auto session = make_session(m.bytes(), device_config(memory));
    ASSERT_NE(session, nullptr);
    const ValueRef start = f32({2, 3}, {1, -2, 3, 0, 5, 0.5f});
    session::RunOptions keep;
    keep.keep_outputs = true;
    ValueRef kept = *session->upload(0, start), plain = start;
    session::Slots slots(session);
    ASSERT_TRUE(slots.keep_output(0, true).ok());
    ValueRef of_slots = start;
    for (int turn = 0; turn < 10; ++turn) {
      kept = run(*session, {{"x", kept}}, keep)[0];
      plain = run(*session, {{"x", plain}})[0];
      ASSERT_TRUE(slots.bind_value(0, of_slots).ok());
      ASSERT_TRUE(slots.run({}).ok());
      of_slots = *slots.output_value(0);
    }
    EXPECT_EQ(kept->is_on_device(), !in_place(memory));
    EXPECT_EQ(of_slots->is_on_device(), !in_place(memory));
    EXPECT_EQ(floats(*runtime::to_host(kept)), floats(plain)) << memory;
    EXPECT_EQ(floats(*runtime::to_host(of_slots)), floats(plain)) << memory;
  }
}

TEST(DeviceValues, TheCpuReadsThem) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({3}));
  m.output(m.node("Add", {x, x}), "y");
  for (const std::string& memory : memories()) {
    const auto session = make_session(m.bytes(), device_config(memory));
    const auto cpu = make_session(m.bytes());
    ASSERT_NE(session, nullptr);
    session::RunOptions keep;
    keep.keep_outputs = true;
    const ValueRef kept = run(*session, {{"x", f32({3}, {1, 2, 3})}}, keep)[0];
    EXPECT_EQ(floats(run(*cpu, {{"x", kept}})[0]), (std::vector<float>{4, 8, 12})) << memory;
  }
}

}  // namespace
}  // namespace tenon::test
