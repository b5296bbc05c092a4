// State pairs through a provider of devices, with tensors in the host's memory and in the device's.
#include "host/exec/frame_pool.h"
#include "tests/devices/device_case.h"
#include "tests/unit/host/session/decoder_case.h"

namespace tenon::test {
namespace {

/// The names of the values that the plans made so far copy.
std::vector<std::string> copied(const session::Session& session) {
  std::vector<std::string> out;
  const runtime::Executable& executable = *session.assembly()->executable;
  executable.frames().for_each_plan([&](const runtime::Plan& plan) {
    for (const runtime::PlanStep& step : plan.steps) {
      if (step.kind != runtime::StepKind::kCopy) continue;
      out.push_back(executable.graph().value(plan.slots[step.outputs[0]].value).name);
    }
  });
  return out;
}

TEST(DeviceState, SixtyFourTokensAreThoseOfTheFormWithoutState) {
  for (const std::string& memory : memories()) {
    const auto plain = make_session(decoder(), device_config(memory, {provider(), "cpu"}));
    const auto session = make_session(decoder(), with_pairs(device_config(memory, {provider(), "cpu"})));
    ASSERT_NE(session, nullptr);
    for (const int64_t prompt : {1, 7, 129}) {
      SCOPED_TRACE(memory + ", " + std::to_string(prompt) + " tokens");
      Text text(static_cast<unsigned>(prompt));
      Carried carried(plain);
      Kept kept(session);
      for (int turn = 0; turn <= 64; ++turn) {
        const auto inputs = text.next(turn == 0 ? prompt : 1);
        expect_near(kept.step(inputs), carried.step(inputs));
        for (const std::string& name : copied(*session)) {
          ASSERT_NE(name.substr(0, 4), "past") << name;
          ASSERT_NE(name.substr(0, 7), "present") << name;
        }
      }
      EXPECT_EQ(dims(*kept.state().read(0)), dims(carried.past_k));
      EXPECT_LE(kept.state().counts().allocations, 2 * 2 * 8u);
    }
  }
}

TEST(DeviceState, TwoSequencesOfOneSessionDoNotMix) {
  for (const std::string& memory : memories()) {
    const auto session = make_session(decoder(), with_pairs(device_config(memory, {provider(), "cpu"})));
    const auto plain = make_session(decoder(), device_config(memory, {provider(), "cpu"}));
    ASSERT_NE(session, nullptr);
    Text text(3);
    Carried carried[2] = {Carried(plain), Carried(plain)};
    Kept kept[2] = {Kept(session), Kept(session)};
    for (int turn = 0; turn < 20; ++turn) {
      for (int which = 0; which < 2; ++which) {
        const auto inputs = text.next(turn == 0 ? 2 + 3 * which : 1);
        expect_near(kept[which].step(inputs), carried[which].step(inputs));
      }
    }
  }
}

TEST(DeviceState, AFixedCacheIsUpdatedInPlace) {
  for (const std::string& memory : memories()) {
    const auto session = make_session(
        fixed_cache(false), with_pairs(device_config(memory, {provider(), "cpu"}), "[\"cache=next\"]"));
    ASSERT_NE(session, nullptr);
    Kept kept[2] = {Kept(session), Kept(session)};
    kept[1].step(row_at(0, {7, 8}));
    EXPECT_EQ(kept[0].step(row_at(1, {3, -4})), (std::vector<float>{0, 0, 3, 0, 0, 0})) << memory;
    EXPECT_EQ(kept[0].step(row_at(2, {5, 6})), (std::vector<float>{0, 0, 3, 0, 5, 6})) << memory;
    EXPECT_EQ(floats(*kept[0].state().read(0)), (std::vector<float>{0, 0, 3, -4, 5, 6})) << memory;
    EXPECT_EQ(floats(*kept[1].state().read(0)), (std::vector<float>{7, 8, 0, 0, 0, 0})) << memory;
    EXPECT_EQ(kept[0].state().counts().updated_in_place, 2u) << memory;
    EXPECT_EQ(kept[0].state().counts().allocations, 1u) << memory;
  }
}

}  // namespace
}  // namespace tenon::test
