// Tensors in memory of a device through the C API and its C++ face.
#include <gmock/gmock.h>

#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string doubling() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  m.output(m.node("Add", {x, x}), "y", GraphMaker::f32({2}));
  return m.bytes();
}

Config on_device() {
  Config config;
  config.set("discovery.search", "[\"" + fakes_dir() + "/accelerator\", \"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"").set("select.order", "[\"accelerator/npu:0\", \"cpu\"]");
  return config;
}

std::vector<float> numbers(const Value& value) {
  const Value host = value.to_host();
  const std::span<const float> data = host.data<float>();
  return {data.begin(), data.end()};
}

template <class Body>
std::string text_of_error(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class DeviceValuesApi : public testing::Test {
 protected:
  RunOptions keeping() const {
    RunOptions options;
    options.keep_outputs = true;
    return options;
  }
  Value twice(const Value& x) { return session.run({{"x", x}}, keeping())["y"]; }

  const std::string bytes = doubling();
  const Config config = on_device();
  Session session = Session::from_memory(bytes.data(), bytes.size(), &config);
  const Value x = Value::tensor<float>({2}, {1, -3});
};

TEST_F(DeviceValuesApi, AValueTellsItsPlaceAndIsReadOnTheHost) {
  const Value y = twice(session.to_device(0, x));
  EXPECT_EQ(y.place().device, "accelerator/npu:0");
  EXPECT_THAT(y.place().domain, HasSubstr("accelerator/npu:0"));
  EXPECT_FALSE(y.place().host_can_read);
  EXPECT_EQ(y.dtype(), uint32_t{TENON_FLOAT32});
  EXPECT_THAT(y.dims(), ElementsAre(2));
  EXPECT_EQ(y.element_count(), 2u);
  EXPECT_THAT(text_of_error([&] { y.data<float>(); }), HasSubstr("to_host()"));
  tenon_tensor tensor{};
  EXPECT_EQ(api().value_tensor(y.get(), &tensor), TENON_FAILED_PRECONDITION);
  EXPECT_THAT(numbers(twice(y)), ElementsAre(4, -12));
  EXPECT_EQ(x.place().device, "");
  EXPECT_EQ(x.place().domain, "host");
  EXPECT_TRUE(x.place().host_can_read);
  EXPECT_EQ(x.to_host().get(), x.get());
  const Value placed = session.to_device(0, y);
  EXPECT_EQ(placed.get(), y.get());
}

TEST_F(DeviceValuesApi, SubmittedRunsKeepAndTakeThem) {
  Value value = session.to_device(0, x);
  for (int turn = 0; turn < 3; ++turn) value = session.submit({{"x", value}}, keeping()).wait()["y"];
  EXPECT_EQ(value.place().device, "accelerator/npu:0");
  EXPECT_THAT(numbers(value), ElementsAre(8, -24));
}

TEST_F(DeviceValuesApi, SlotsTakeAndKeepThem) {
  Slots slots(session);
  slots.keep_output("y");
  Value value = x;
  for (int turn = 0; turn < 3; ++turn) {
    slots.bind_input("x", value);
    if (turn == 1) {
      slots.submit().wait();
    } else {
      slots.run();
    }
    value = slots.output_value("y");
  }
  EXPECT_EQ(value.place().device, "accelerator/npu:0");
  EXPECT_THAT(numbers(value), ElementsAre(8, -24));
  EXPECT_THAT(text_of_error([&] { slots.run(keeping()); }), HasSubstr("slots_keep_output"));
  EXPECT_THAT(text_of_error([&] { slots.submit(keeping()); }), HasSubstr("slots_keep_output"));
  EXPECT_THAT(text_of_error([&] { slots.keep_output(7); }), HasSubstr("the number of outputs is 1"));
  EXPECT_THAT(text_of_error([&] { slots.output("y"); }), HasSubstr("slots_output_value"));
  slots.keep_output("y", false);
  slots.run();
  EXPECT_EQ(slots.output_value("y").place().device, "");
}

TEST_F(DeviceValuesApi, WhatNeedsHostMemoryRefusesThem) {
  const Value y = session.to_device(0, x);
  EXPECT_THAT(text_of_error([&] { y.to_dlpack(); }), HasSubstr("value_to_host"));
  tenon_value* elements[] = {y.get()};
  tenon_value* made = nullptr;
  tenon_error error{};
  error.struct_size = sizeof error;
  EXPECT_EQ(api().value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, elements, 1, &made, &error),
            TENON_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("value_to_host"));
  const std::string file = testing::TempDir() + "/device_value.pb";
  EXPECT_EQ(api().value_write_pb(as_str(file), as_str("y"), y.get(), &error), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("value_to_host"));
  const Value strings = Value::strings({1}, {"a"});
  EXPECT_THAT(text_of_error([&] { session.to_device(0, strings); }), HasSubstr("element type differs"));
  tenon_value_place place{};
  EXPECT_EQ(api().value_place(y.get(), &place, &error), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("struct_size"));
}

}  // namespace
}  // namespace tenon::test
