// Tensors in memory of the fake accelerator as values: outputs that stay there, and inputs that come from there.
#include <gmock/gmock.h>

#include "host/device/device_value.h"
#include "host/session/slots.h"
#include "tests/unit/host/session/accelerator_case.h"

namespace tenon::test {
namespace {

using accelerator::Counters;
using session::NamedValue;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kCount = 1000;
constexpr uint64_t kBytes = kCount * sizeof(float);

session::RunOptions keeping() {
  session::RunOptions options;
  options.keep_outputs = true;
  return options;
}

ValueRef on_host(const ValueRef& value) {
  Result<ValueRef> out = runtime::to_host(value);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *out : ValueRef();
}

/// y = x + x with any number of rows.
std::string doubling() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim()}));
  m.output(m.node("Add", {x, x}, {}, "add"), "y");
  return m.bytes();
}

ValueRef ones(int64_t count = kCount) {
  return f32({count}, std::vector<float>(static_cast<size_t>(count), 1));
}

Status run_for(session::Session& session, const ValueRef& x, ValueRef* y,
               const session::RunOptions& options) {
  std::vector<ValueRef> outputs{*y};
  const std::vector<NamedValue> inputs{{"x", x}};
  Status status = session.run(options, inputs, {}, outputs);
  *y = outputs[0];
  return status;
}

const std::vector<Number> kHostCopies = {&Counters::copies_to_device, &Counters::copies_to_host,
                                         &Counters::copies_host, &Counters::bytes_copied};

TEST(DeviceValues, AChainOfRunsCopiesNothingBetweenHostAndDevice) {
  const FakeCounters counters;
  const auto session = make_session(doubling(), split({counters.option()}));
  ASSERT_NE(session, nullptr);
  ValueRef value = *session->upload(0, ones());
  ASSERT_TRUE(value->is_on_device());
  EXPECT_THAT(growth(counters, kHostCopies,
                     [&] {
                       for (int turn = 0; turn < 10; ++turn)
                         value = run(*session, {{"x", value}}, keeping())[0];
                     }),
              Each(0u));
  ASSERT_TRUE(value->is_on_device());
  EXPECT_FALSE(runtime::host_can_read(*value.get()));
  EXPECT_EQ(runtime::domain_of(*value.get()).device->id(), "accelerator/npu:0");
  EXPECT_THAT(floats(on_host(value)), Each(1024.0f));
}

TEST(DeviceValues, TheFirstInputAndTheLastOutputMayBeOnTheHost) {
  const FakeCounters counters;
  const auto session = make_session(doubling(), split({counters.option()}));
  ASSERT_NE(session, nullptr);
  const ValueRef x = ones();
  const ValueRef middle = run(*session, {{"x", x}}, keeping())[0];
  EXPECT_THAT(growth(counters, {&Counters::copies_to_device, &Counters::copies_to_host},
                     [&] {
                       EXPECT_THAT(floats(run(*session, {{"x", middle}})[0]), Each(4.0f));
                     }),
              ElementsAre(0u, 1u));
  EXPECT_THAT(floats(on_host(middle)), Each(2.0f));  // the Run did not change its input
}

TEST(DeviceValues, EachShapeAndEachPlaceHasItsPlan) {
  const auto session = make_session(doubling(), split());
  ASSERT_NE(session, nullptr);
  for (int turn = 0; turn < 2; ++turn) {
    for (const int64_t count : {3, 0, 70, 1}) {
      const ValueRef kept = run(*session, {{"x", ones(count)}}, keeping())[0];
      EXPECT_EQ(dims(kept), std::vector<int64_t>{count});
      const ValueRef again = run(*session, {{"x", kept}}, keeping())[0];
      EXPECT_EQ(floats(on_host(again)), std::vector<float>(static_cast<size_t>(count), 4)) << count;
      EXPECT_EQ(floats(run(*session, {{"x", kept}})[0]), std::vector<float>(static_cast<size_t>(count), 4));
    }
  }
}

TEST(DeviceValues, AScalarStaysToo) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({}));
  m.output(m.node("Add", {x, x}), "y");
  const auto session = make_session(m.bytes(), split());
  ASSERT_NE(session, nullptr);
  const ValueRef y = run(*session, {{"x", f32({}, {3})}}, keeping())[0];
  EXPECT_TRUE(y->is_on_device());
  EXPECT_TRUE(dims(y).empty());
  EXPECT_THAT(floats(on_host(run(*session, {{"x", y}}, keeping())[0])), ElementsAre(12));
}

TEST(DeviceValues, OutputsOfTheCpuAreInHostMemory) {
  const auto session = make_session(doubling());
  const ValueRef y = run(*session, {{"x", ones()}}, keeping())[0];
  EXPECT_FALSE(y->is_on_device());
  EXPECT_THAT(floats(y), Each(2.0f));
}

/// y = x + x on npu:<device>.
std::string doubling_on(int device) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({kCount}));
  m.output(m.node("Add", {x, x}, {}, str_cat("add_on_", device)), "y");
  return m.bytes();
}

TEST(DeviceValues, AnotherDeviceOfTheProviderCopiesDirectlyWhereItCan) {
  for (int device = 1; device <= 2; ++device) {  // npu:2 refuses copies from peers
    const FakeCounters counters;
    const auto first = make_session(doubling(), split({counters.option()}));
    const auto second = make_session(doubling_on(device), spread({counters.option()}));
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    const ValueRef middle = run(*first, {{"x", ones()}}, keeping())[0];
    for (int turn = 0; turn < 2; ++turn) {
      ValueRef y;
      const std::vector<uint64_t> grown =
          growth(counters, {&Counters::copies_peer, &Counters::bytes_peer}, [&] {
            y = run(*second, {{"x", middle}}, keeping())[0];
          });
      const uint64_t copies = device == 1 ? 1 : 0;
      EXPECT_THAT(grown, ElementsAre(copies, copies * kBytes)) << device;
      EXPECT_EQ(runtime::domain_of(*y.get()).device->id(), str_cat("accelerator/npu:", device));
      EXPECT_THAT(floats(on_host(y)), Each(4.0f));
    }
  }
}

TEST(DeviceValues, AnotherProviderReadsACopy) {
  const auto first = make_session(doubling(), split());
  const auto second = make_session(doubling());
  ASSERT_NE(first, nullptr);
  const ValueRef middle = run(*first, {{"x", ones()}}, keeping())[0];
  EXPECT_THAT(floats(run(*second, {{"x", middle}})[0]), Each(4.0f));
}

TEST(DeviceValues, AValueOutlivesItsSessions) {
  auto session = make_session(doubling(), split());
  ASSERT_NE(session, nullptr);
  const ValueRef value = run(*session, {{"x", ones()}}, keeping())[0];
  session.reset();
  EXPECT_THAT(floats(on_host(value)), Each(2.0f));
  session = make_session(doubling(), split());
  EXPECT_THAT(floats(on_host(run(*session, {{"x", value}}, keeping())[0])), Each(4.0f));
}

TEST(DeviceValues, AValueIsWrittenInPlaceWhereverItIs) {
  const FakeCounters counters;
  const auto session = make_session(doubling(), split({counters.option()}));
  ASSERT_NE(session, nullptr);
  const ValueRef x = *session->upload(0, ones());
  ValueRef own = *session->upload(0, ones());
  const ValueRef before = own;
  EXPECT_THAT(growth(counters, kHostCopies, [&] { EXPECT_TRUE(run_for(*session, x, &own, {}).ok()); }),
              Each(0u));
  EXPECT_EQ(own.get(), before.get());
  EXPECT_THAT(floats(on_host(own)), Each(2.0f));
  ValueRef host = ones();
  ASSERT_TRUE(run_for(*session, own, &host, keeping()).ok());
  EXPECT_FALSE(host->is_on_device());
  EXPECT_THAT(floats(host), Each(4.0f));
  ValueRef wrong = *session->upload(0, ones(3));
  EXPECT_THAT(run_for(*session, x, &wrong, {}).to_string(), HasSubstr("output 'y' is float32[1000]"));
}

TEST(DeviceValues, MemoryOfAFreedValueIsNotTakenForThatOfTheNext) {
  const auto session = make_session(doubling(), split());
  ASSERT_NE(session, nullptr);
  for (int turn = 1; turn <= 20; ++turn) {
    const std::vector<float> x(static_cast<size_t>(kCount), static_cast<float>(turn));
    const ValueRef value = *session->upload(0, f32({kCount}, x));
    EXPECT_THAT(floats(on_host(run(*session, {{"x", value}}, keeping())[0])),
                Each(2 * static_cast<float>(turn)));
  }
}

TEST(DeviceValues, WhatDoesNotFitTheInputIsRefused) {
  const auto session = make_session(doubling(), split());
  ASSERT_NE(session, nullptr);
  const ValueRef value = *session->upload(0, ones());
  ValueRef y;
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2, 2}));
  m.output(m.node("Add", {x, x}), "y");
  const auto matrix = make_session(m.bytes(), split());
  EXPECT_THAT(run_for(*matrix, value, &y, {}).to_string(), HasSubstr("the rank differs"));
  EXPECT_THAT(session->upload(0, i64({1}, {1})).status().to_string(), HasSubstr("the element type differs"));
  EXPECT_THAT(session->upload(1, ones()).status().to_string(), HasSubstr("the number of inputs is 1"));
  tenon_value* elements[] = {value.get()};
  EXPECT_THAT(runtime::make_composite(TENON_KIND_SEQUENCE, TENON_FLOAT32, elements).status().to_string(),
              HasSubstr("value_to_host"));
  EXPECT_THAT(runtime::tensor_of(value).status().to_string(), HasSubstr("value_to_host"));
  const Result<tenon_tensor> read = runtime::readable_tensor(*value.get());
  EXPECT_EQ(read.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(read.status().to_string(), HasSubstr("value_to_host"));
}

TEST(DeviceValues, TheLimitOfTheDeviceHoldsForEachValue) {
  config::Config config = split();
  ASSERT_TRUE(config.set("memory.device_limit", "2000").ok());
  const auto session = make_session(doubling(), config);
  ASSERT_NE(session, nullptr);
  const Result<ValueRef> value = session->upload(0, ones());
  EXPECT_EQ(value.status().kind(), ErrorKind::kLimitExceeded);
  EXPECT_THAT(value.status().to_string(), HasSubstr("memory.device_limit is 2000"));
}

TEST(DeviceValues, AValueOfALostDeviceSaysSoInEachUse) {
  config::Config config = split({"fault=\"lost\"", "fault_after=1"});
  ASSERT_TRUE(config.set("provider.accelerator.on_lost", "\"next\"").ok());
  const auto session = make_session(doubling(), config);
  ASSERT_NE(session, nullptr);
  const ValueRef value = run(*session, {{"x", ones()}}, keeping())[0];
  ASSERT_TRUE(value->is_on_device());
  ValueRef y;
  // The Run is repeated on the cpu, but its input is gone.
  for (int turn = 0; turn < 2; ++turn) {
    const Status status = run_for(*session, value, &y, {});
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
    EXPECT_EQ(status.kind(), ErrorKind::kDeviceLost);
    EXPECT_THAT(status.to_string(), HasSubstr("lost with device 'accelerator/npu:0'; make it again"));
  }
  EXPECT_THAT(runtime::to_host(value).status().to_string(), HasSubstr("make it again"));
  EXPECT_THAT(session->upload(0, value).status().to_string(), HasSubstr("make it again"));
  session::Slots slots(session);
  EXPECT_THAT(slots.bind_value(0, value).to_string(), HasSubstr("make it again"));
  EXPECT_THAT(floats(run(*session, {{"x", ones()}})[0]), Each(2.0f));  // the session goes on
}

/// y = the elements of x that are not 0, twice; their number is known only during the Run.
std::string counted() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim()}));
  const auto at = m.node("Reshape", {m.node("NonZero", {x}), m.ints("all", {-1})});
  const auto some = m.node("Gather", {x, at});
  m.output(m.node("Add", {some, some}, {}, "add"), "y");
  return m.bytes();
}

TEST(DeviceValues, AnOutputWhoseShapeOnlyTheRunTellsStays) {
  const auto session = make_session(counted(), split({"ops=\"Add\""}));
  ASSERT_NE(session, nullptr);
  for (int turn = 0; turn < 2; ++turn) {
    const ValueRef y = run(*session, {{"x", f32({4}, {1, 0, 3, 0})}}, keeping())[0];
    EXPECT_TRUE(y->is_on_device());
    EXPECT_THAT(floats(on_host(y)), ElementsAre(2, 6));
    EXPECT_THAT(floats(on_host(run(*session, {{"x", y}}, keeping())[0])), ElementsAre(4, 12));
    const ValueRef none = run(*session, {{"x", f32({2}, {0, 0})}}, keeping())[0];
    EXPECT_EQ(dims(none), std::vector<int64_t>{0});
    EXPECT_TRUE(floats(on_host(none)).empty());
  }
}

TEST(DeviceValues, SlotsChainRunsWithoutCopies) {
  const FakeCounters counters;
  const auto session = make_session(doubling(), split({counters.option()}));
  ASSERT_NE(session, nullptr);
  session::Slots slots(session);
  ASSERT_TRUE(slots.keep_output(0, true).ok());
  ValueRef value = *session->upload(0, ones());
  EXPECT_THAT(growth(counters, kHostCopies,
                     [&] {
                       for (int turn = 0; turn < 10; ++turn) {
                         ASSERT_TRUE(slots.bind_value(0, value).ok());
                         const Status status = slots.run({});
                         ASSERT_TRUE(status.ok()) << status.to_string();
                         value = *slots.output_value(0);
                       }
                     }),
              Each(0u));
  EXPECT_THAT(floats(on_host(value)), Each(1024.0f));
  EXPECT_THAT(slots.output(0).status().to_string(), HasSubstr("slots_output_value"));
}

TEST(DeviceValues, ValuesTakenOfSlotsDoNotChange) {
  for (const bool keep : {false, true}) {
    const auto session = make_session(doubling(), split());
    ASSERT_NE(session, nullptr);
    session::Slots slots(session);
    ASSERT_TRUE(slots.keep_output(0, keep).ok());
    std::vector<ValueRef> taken;
    for (int turn = 1; turn <= 3; ++turn) {
      ASSERT_TRUE(slots.bind_value(0, f32({2}, {static_cast<float>(turn), 0})).ok());
      ASSERT_TRUE(slots.run({}).ok());
      taken.push_back(*slots.output_value(0));
    }
    for (int turn = 1; turn <= 3; ++turn) {
      const ValueRef& value = taken[static_cast<size_t>(turn) - 1];
      EXPECT_EQ(value->is_on_device(), keep);
      EXPECT_THAT(floats(on_host(value)), ElementsAre(2.0f * static_cast<float>(turn), 0)) << keep;
    }
    // Without counts of the application the slots use their memory again.
    taken.clear();
    ASSERT_TRUE(slots.run({}).ok());
    const tenon_value* first = slots.output_value(0)->get();
    ASSERT_TRUE(slots.run({}).ok());
    EXPECT_EQ(slots.output_value(0)->get(), first);
  }
}

TEST(DeviceValues, SlotsChangeBetweenMemoryAndValues) {
  const auto session = make_session(doubling(), split());
  ASSERT_NE(session, nullptr);
  session::Slots slots(session);
  const ValueRef host = f32({2}, {1, 2}), device = *session->upload(0, f32({2}, {3, 4}));
  const ValueRef y = f32({2}, {0, 0});
  ASSERT_TRUE(slots.bind_output(0, y->tensor).ok());
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(slots.bind_input(0, host->tensor).ok());
    ASSERT_TRUE(slots.run({}).ok());
    EXPECT_THAT(floats(y), ElementsAre(2, 4));
    ASSERT_TRUE(slots.bind_value(0, device).ok());
    ASSERT_TRUE(slots.run({}).ok());
    EXPECT_THAT(floats(y), ElementsAre(6, 8));
  }
  EXPECT_EQ(slots.output_value(0).status().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(slots.keep_output(0, true).ok());
  EXPECT_EQ(slots.output_value(0).status().code(), StatusCode::kFailedPrecondition);  // no Run yet
  ASSERT_TRUE(slots.run({}).ok());
  EXPECT_THAT(floats(on_host(*slots.output_value(0))), ElementsAre(6, 8));
  ASSERT_TRUE(slots.bind_output(0, y->tensor).ok());
  ASSERT_TRUE(slots.bind_value(0, host).ok());
  ASSERT_TRUE(slots.run({}).ok());
  EXPECT_THAT(floats(y), ElementsAre(2, 4));
}

/// sum = total + x on the device, y = relu(sum).
TEST(DeviceValues, TheyGoTogetherWithStatePairs) {
  GraphMaker m;
  const auto total = m.input("total", GraphMaker::f32({2}));
  const auto x = m.input("x", GraphMaker::f32({2}));
  const auto sum = m.node("Add", {total, x}, {}, "add");
  m.output(sum, "sum");
  m.output(m.node("Relu", {sum}, {}, "relu"), "y");
  config::Config config = split();
  ASSERT_TRUE(config.set("state.pairs", "[\"total=sum\"]").ok());
  const auto session = make_session(m.bytes(), config);
  ASSERT_NE(session, nullptr);
  const ValueRef value = *session->upload(0, f32({2}, {1, -1}));
  for (int turn = 1; turn <= 3; ++turn) {
    const ValueRef y = run(*session, {{"x", value}}, keeping())[0];
    EXPECT_TRUE(y->is_on_device());
    EXPECT_THAT(floats(on_host(y)), ElementsAre(static_cast<float>(turn), 0));
  }
}

TEST(DeviceValues, OneValueAsTwoOutputsAndAnInputAsAnOutput) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  const auto sum = m.node("Add", {x, x}, {}, "add");
  m.output(sum, "y");
  m.output(m.node("Identity", {sum}), "z");
  m.output(m.node("Identity", {x}), "same");
  const auto session = make_session(m.bytes(), split());
  ASSERT_NE(session, nullptr);
  const ValueRef value = *session->upload(0, f32({2}, {1, 5}));
  for (const auto& options : {keeping(), session::RunOptions()}) {
    const std::vector<ValueRef> outputs = run(*session, {{"x", value}}, options);
    EXPECT_THAT(floats(on_host(outputs[0])), ElementsAre(2, 10));
    EXPECT_THAT(floats(on_host(outputs[1])), ElementsAre(2, 10));
    EXPECT_THAT(floats(on_host(outputs[2])), ElementsAre(1, 5));
  }
}

}  // namespace
}  // namespace tenon::test
