// State pairs: values that stay where the model uses them between Runs.
#include <gmock/gmock.h>

#include "tests/unit/host/session/accelerator_case.h"
#include "tests/unit/host/session/decoder_case.h"

namespace tenon::test {
namespace {

using accelerator::Counters;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kTokens = 64;

/// The decoder on the cpu provider, and on the accelerator.
std::vector<config::Config> places(const std::vector<std::string>& options = {}) {
  return {cpu_config(), split(options)};
}

TEST(State, SixtyFourTokensAreThoseOfTheFormWithoutState) {
  for (const config::Config& config : places()) {
    const auto plain = make_session(decoder(), config);
    const auto session = make_session(decoder(), with_pairs(config));
    ASSERT_NE(session, nullptr);
    for (const int64_t prompt : {1, 7, 129}) {
      SCOPED_TRACE(str_cat(prompt, " tokens on ", runner_of(*session)));
      Text text(static_cast<unsigned>(prompt));
      Carried carried(plain);
      Kept kept(session);
      for (int turn = 0; turn <= kTokens; ++turn) {
        const auto inputs = text.next(turn == 0 ? prompt : 1);
        ASSERT_EQ(kept.step(inputs), carried.step(inputs)) << "token " << turn;
      }
      EXPECT_EQ(floats(*kept.state().read(0)), floats(carried.past_k));
      EXPECT_EQ(dims(*kept.state().read(1)), dims(carried.past_v));
    }
  }
}

TEST(State, WhatATokenCopiesDoesNotGrowWithThePast) {
  const FakeCounters counters;
  const auto session = make_session(decoder(), with_pairs(split({counters.option()})));
  ASSERT_NE(session, nullptr);
  Text text(1);
  Kept kept(session);
  kept.step(text.next(7));
  std::vector<uint64_t> bytes, within;
  for (int turn = 0; turn < kTokens; ++turn) {
    const auto inputs = text.next(1);
    const auto grown =
        growth(counters, {&Counters::bytes_copied, &Counters::copies_within}, [&] { kept.step(inputs); });
    bytes.push_back(grown[0]);
    within.push_back(grown[1]);
  }
  EXPECT_THAT(bytes, Each(3 * 4 * sizeof(float))) << "q and k of a token, and its y";
  EXPECT_THAT(within, Each(0));
}

TEST(State, MemoryThatGrowsIsRarelyAllocated) {
  for (const config::Config& config : places()) {
    const auto session = make_session(decoder(), with_pairs(config));
    ASSERT_NE(session, nullptr);
    Text text(1);
    Kept kept(session);
    for (int turn = 0; turn < 256; ++turn) kept.step(text.next(1));
    const session::State::Counts& counts = kept.state().counts();
    EXPECT_EQ(counts.alternated, 2 * 256u);
    EXPECT_EQ(counts.updated_in_place, 0u);
    EXPECT_LE(counts.allocations, 2 * 2 * 8u) << "two blocks of each pair, each time twice as large";
    const uint64_t before = counts.allocations;
    ASSERT_TRUE(kept.state().reset().ok());
    kept.step(text.next(100));
    EXPECT_EQ(counts.allocations, before) << "the next sequence has the memory of the one before";
  }
}

TEST(State, TwoSequencesOfOneSessionDoNotMix) {
  for (const config::Config& config : places()) {
    const auto plain = make_session(decoder(), config);
    const auto session = make_session(decoder(), with_pairs(config));
    ASSERT_NE(session, nullptr);
    Text text(3);
    Carried carried[2] = {Carried(plain), Carried(plain)};
    Kept kept[2] = {Kept(session), Kept(session)};
    for (int turn = 0; turn < 20; ++turn) {
      for (int which = 0; which < 2; ++which) {
        const auto inputs = text.next(turn == 0 ? 2 + 3 * which : 1);
        ASSERT_EQ(kept[which].step(inputs), carried[which].step(inputs)) << turn << " of " << which;
      }
    }
  }
}

TEST(State, ARunWithoutOneUsesThatOfTheSession) {
  const auto plain = make_session(decoder());
  const auto session = make_session(decoder(), with_pairs(cpu_config()));
  ASSERT_NE(session, nullptr);
  Text text(4);
  Carried carried(plain);
  Kept other(session);
  for (int turn = 0; turn < 5; ++turn) {
    const auto inputs = text.next(1);
    EXPECT_EQ(floats(run(*session, inputs)[0]), carried.step(inputs));
    other.step(inputs);
  }
}

TEST(State, SlotsUseItToo) {
  for (const config::Config& config : places()) {
    const auto plain = make_session(decoder(), config);
    const auto session = make_session(decoder(), with_pairs(config));
    ASSERT_NE(session, nullptr);
    Text text(5);
    Carried carried(plain);
    Kept kept(session);
    session::Slots slots(session);
    for (int turn = 0; turn < 20; ++turn) {
      const auto inputs = text.next(turn == 0 ? 7 : 1);
      ASSERT_TRUE(slots.bind_input(0, inputs[0].value->tensor).ok());
      ASSERT_TRUE(slots.bind_input(1, inputs[1].value->tensor).ok());
      const Status status = slots.run(kept.options());
      ASSERT_TRUE(status.ok()) << status.to_string();
      const tenon_tensor y = *slots.output(0);
      const auto* data = static_cast<const float*>(y.data);
      ASSERT_EQ(std::vector<float>(data, data + y.byte_size / sizeof(float)), carried.step(inputs)) << turn;
    }
    EXPECT_FALSE(slots.bind_input(2, f32({4, 0}, {})->tensor).ok()) << "those of pairs are not shown";
    EXPECT_FALSE(slots.output(1).ok());
  }
}

TEST(State, AFixedCacheIsUpdatedInPlace) {
  const auto session = make_session(fixed_cache(false), with_pairs(cpu_config(), "[\"cache=next\"]"));
  ASSERT_NE(session, nullptr);
  Kept kept(session);
  EXPECT_THAT(kept.step(row_at(1, {3, -4})), ElementsAre(0, 0, 3, 0, 0, 0)) << "it begins with zeros";
  EXPECT_THAT(kept.step(row_at(2, {5, 6})), ElementsAre(0, 0, 3, 0, 5, 6));
  EXPECT_THAT(floats(*kept.state().read(0)), ElementsAre(0, 0, 3, -4, 5, 6));
  EXPECT_EQ(kept.state().counts().updated_in_place, 2u);
  EXPECT_EQ(kept.state().counts().alternated, 0u);
  EXPECT_EQ(kept.state().counts().allocations, 1u);
}

TEST(State, AFixedCacheThatIsReadAgainAlternates) {
  const auto session = make_session(fixed_cache(true), with_pairs(cpu_config(), "[\"cache=next\"]"));
  ASSERT_NE(session, nullptr);
  Kept kept(session);
  EXPECT_THAT(kept.step(row_at(1, {3, -4})), ElementsAre(0, 0, 3, -4, 0, 0));
  EXPECT_THAT(kept.step(row_at(1, {1, 1})), ElementsAre(0, 0, 4, -3, 0, 0));
  EXPECT_THAT(kept.step(row_at(0, {1, 1})), ElementsAre(1, 1, 2, 2, 0, 0));
  EXPECT_EQ(kept.state().counts().updated_in_place, 0u);
  EXPECT_EQ(kept.state().counts().alternated, 3u);
  EXPECT_EQ(kept.state().counts().allocations, 2u) << "no room to grow";
}

TEST(State, AFailedRunSpoilsOnlyWhatItUpdatesInPlace) {
  for (const bool alternates : {false, true}) {
    SCOPED_TRACE(alternates);
    const auto session = make_session(fixed_cache(alternates), with_pairs(cpu_config(), "[\"cache=next\"]"));
    ASSERT_NE(session, nullptr);
    Kept kept(session);
    kept.step(row_at(1, {3, 4}));
    EXPECT_FALSE(kept.try_step(row_at(9, {1, 1})).ok());
    const Status after = kept.try_step(row_at(0, {1, 1}));
    if (alternates) {
      EXPECT_TRUE(after.ok()) << after.to_string();
      EXPECT_THAT(floats(*kept.state().read(0)), ElementsAre(1, 1, 3, 4, 0, 0));
      continue;
    }
    EXPECT_EQ(after.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(after.to_string(), HasSubstr("in place; call state_reset"));
    ASSERT_TRUE(kept.state().reset().ok());
    EXPECT_THAT(kept.step(row_at(0, {1, 1})), ElementsAre(1, 1, 0, 0, 0, 0));
  }
}

TEST(State, BeginsWithTheDefaultOfTheInput) {
  GraphMaker m;
  const auto total = m.input("total", GraphMaker::f32({2}), GraphMaker::floats({2}, {10, 20}));
  const auto x = m.input("x", GraphMaker::f32({2}));
  m.output(m.node("Add", {total, x}), "sum", GraphMaker::f32({2}));
  const auto session = make_session(m.bytes(), with_pairs(cpu_config(), "[\"total=sum\"]"));
  ASSERT_NE(session, nullptr);
  Kept kept(session);
  EXPECT_FALSE(kept.state().read(0).ok()) << "there has been no Run";
  for (int turn = 0; turn < 2; ++turn)
    ASSERT_TRUE(
        session->run(kept.options(), std::vector<session::NamedValue>{{"x", f32({2}, {1, 2})}}, {}, {}).ok());
  EXPECT_THAT(floats(*kept.state().read(0)), ElementsAre(12, 24));
  EXPECT_THAT(kept.state().read(1).status().to_string(), HasSubstr("there is no state pair 1"));
}

TEST(State, ADimOfAnInputThatIsGivenIsThatOfTheFirstValue) {
  GraphMaker m;
  const ir::Dim batch("batch");
  const auto past = m.input("past", GraphMaker::f32({batch, ir::Dim("past")}));
  const auto x = m.input("x", GraphMaker::f32({batch, ir::Dim("new")}));
  m.output(m.node("Concat", {past, x}, {ir::Attribute::of_int("axis", 1)}), "all",
           GraphMaker::f32({batch, ir::Dim("all")}));
  const auto session = make_session(m.bytes(), with_pairs(cpu_config(), "[\"past=all\"]"));
  ASSERT_NE(session, nullptr);
  const auto feed = [&](const ValueRef& x) {
    return session->run({}, std::vector<session::NamedValue>{{"x", x}}, {}, {});
  };
  ASSERT_TRUE(feed(f32({2, 1}, {1, 2})).ok());
  ASSERT_TRUE(feed(f32({2, 2}, {3, 4, 5, 6})).ok());
  EXPECT_THAT(feed(f32({3, 1}, {0, 0, 0})).to_string(), HasSubstr("dim 'batch'"));
}

// ---- loss of a device ----

config::Config faulty(const std::string& fault, const std::string& on_lost) {
  config::Config config = split({"fault=\"" + fault + "\"", "fault_after=3", "fault_times=1"});
  const Status status = config.set("provider.accelerator.on_lost", on_lost);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return with_pairs(config);
}

TEST(State, IsLostWithItsDeviceUntilItIsReset) {
  for (const char* policy : {"next", "restart"}) {
    SCOPED_TRACE(policy);
    const auto plain = make_session(decoder());
    const auto session = make_session(decoder(), faulty("lost", policy));
    ASSERT_NE(session, nullptr);
    Kept kept(session);
    Text text(6);
    for (int turn = 0; turn < 3; ++turn) kept.step(text.next(1));
    for (int turn = 0; turn < 2; ++turn) {
      const Status status = kept.try_step(text.next(1));
      EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
      EXPECT_THAT(status.to_string(), HasSubstr("the state was lost with device 'accelerator/npu:0'; call "
                                                "state_reset and feed the sequence again"));
    }
    EXPECT_THAT(kept.state().read(0).status().to_string(), HasSubstr("the state was lost"));
    Kept other(session);
    other.step(text.next(1));
    ASSERT_TRUE(kept.state().reset().ok());
    Carried carried(plain);
    for (int turn = 0; turn < 4; ++turn) {
      const auto inputs = text.next(2);
      expect_near(kept.step(inputs), carried.step(inputs));
    }
  }
}

TEST(State, GoesOnWhenTheRunIsRepeatedAndTheDeviceIsNotLost) {
  for (const char* policy : {"next", "restart"}) {
    SCOPED_TRACE(policy);
    const auto plain = make_session(decoder());
    const auto session = make_session(decoder(), faulty("run", policy));
    ASSERT_NE(session, nullptr);
    Kept kept(session);
    Carried carried(plain);
    Text text(7);
    for (int turn = 0; turn < 8; ++turn) {
      const auto inputs = text.next(1);
      expect_near(kept.step(inputs), carried.step(inputs));
    }
    EXPECT_EQ(runner_of(*session), std::string(policy) == "next" ? "cpu/cpu:0" : "accelerator/npu:0");
  }
}

TEST(State, StaysWithinTheLimitOfTheDevice) {
  config::Config config = with_pairs(split());
  ASSERT_TRUE(config.set("memory.device_limit", "4096").ok());
  const auto session = make_session(decoder(), config);
  ASSERT_NE(session, nullptr);
  Kept kept(session);
  Text text(8);
  Status status;
  for (int turn = 0; turn < 200 && status.ok(); ++turn) status = kept.try_step(text.next(1));
  EXPECT_EQ(status.kind(), ErrorKind::kLimitExceeded) << status.to_string();
  EXPECT_THAT(status.to_string(), HasSubstr("memory.device_limit, which is 4096"));
  EXPECT_THAT(status.to_string(), HasSubstr("the state of 'past_"));
}

// ---- errors ----

TEST(State, PairsThatDoNotFitTheModelAreRefused) {
  GraphMaker m;
  const auto a = m.input("a", GraphMaker::f32({2}));
  m.input("whole", GraphMaker::i64({2}));
  const auto same = m.input("same", GraphMaker::f32({ir::Dim("rows"), 2}));
  m.output(m.node("Neg", {a}), "b", GraphMaker::f32({2}));
  m.output(m.node("Relu", {a}), "c", GraphMaker::f32({2}));
  m.output(m.node("Tanh", {same}), "same_b", GraphMaker::f32({ir::Dim("rows"), 2}));
  const std::pair<const char*, const char*> rows[] = {
      {"['x=b']", "the model has no input 'x'"},
      {"['a=x']", "the model has no output 'x'"},
      {"['x*=b*']", "no input of the model has such a name"},
      {"['a*=b*x']", "the model has no output 'bx'"},
      {"['a=b', 'a=c']", "names input 'a' twice"},
      {"['whole=b']", "their element types differ"},
      {"['a=same_b']", "their ranks differ"},
      {"['same=same_b']", "the first Run cannot know its dim 0"},
  };
  for (const auto& [pairs, text] : rows) {
    config::Config config = cpu_config();
    ASSERT_TRUE(config.apply_toml(str_cat("state.pairs = ", pairs), "test.toml").ok()) << pairs;
    const auto session = try_session(m.bytes(), config);
    ASSERT_FALSE(session.ok()) << pairs;
    EXPECT_EQ(session.error().kind(), ErrorKind::kConfig);
    EXPECT_THAT(session.error().to_string(), HasSubstr("test.toml:1: 'state.pairs' ")) << pairs;
    EXPECT_THAT(session.error().to_string(), HasSubstr(text)) << pairs;
  }
}

TEST(State, ItsValuesAreNeitherGivenNorAskedFor) {
  const auto session = make_session(decoder(), with_pairs(cpu_config()));
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(session->shown_inputs(), ElementsAre(0, 1));
  EXPECT_THAT(session->shown_outputs(), ElementsAre(0));
  Text text(9);
  auto inputs = text.next(1);
  std::vector<ValueRef> outputs(1);
  const std::vector<std::string_view> names = {"present_k"};
  EXPECT_THAT(session->run({}, inputs, names, outputs).to_string(),
              HasSubstr("output 'present_k' is one of"));
  inputs.push_back({"past_k", f32({4, 0}, {})});
  EXPECT_THAT(session->run({}, inputs, {}, outputs).to_string(), HasSubstr("input 'past_k' is one of"));
}

TEST(State, IsOfOneSessionAndInOneRun) {
  const auto session = make_session(decoder(), with_pairs(cpu_config()));
  const auto other = make_session(decoder(), with_pairs(cpu_config()));
  const auto plain = make_session(decoder());
  ASSERT_NE(session, nullptr);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(plain->make_state().status().code(), StatusCode::kFailedPrecondition);
  Text text(10);
  std::vector<session::NamedValue> inputs = text.next(1);
  std::vector<ValueRef> outputs(1);
  Kept kept(session);
  EXPECT_THAT(other->run(kept.options(), inputs, {}, outputs).to_string(), HasSubstr("another session"));

  std::vector<runtime::Argument> arguments(session->inputs().size());
  arguments[0] = runtime::Argument(inputs[0].value);
  arguments[1] = runtime::Argument(inputs[1].value);
  {
    session::StateUse use;
    ASSERT_TRUE(session->use_state(kept.options(), arguments, &use).ok());
    EXPECT_EQ(kept.try_step(inputs).code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(kept.state().reset().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(kept.state().read(0).status().to_string(), HasSubstr("in use by another Run"));
  }
  EXPECT_TRUE(kept.try_step(inputs).ok());
}

}  // namespace
}  // namespace tenon::test
