// Values over memory that must not be written, and copies.
#include <gmock/gmock.h>

#include <cstring>

#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Config cpu() {
  Config config;
  config.set("discovery.search", "[\"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"").set("select.order", "[\"cpu\"]");
  return config;
}

Session make_session(const GraphMaker& maker) {
  const std::string bytes = maker.bytes();
  const Config config = cpu();
  return Session::from_memory(bytes.data(), bytes.size(), &config);
}

/// y = relu(x), and beside it the input itself and a constant.
Session session_of_relu() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  m.output(m.node("Relu", {x}), "y");
  m.output(m.node("Identity", {x}), "same");
  m.output(m.constant("fixed", {2}, {3, 4}), "fixed");
  return make_session(m);
}

TEST(ReadOnlyValues, AreInputsAndNoOutputs) {
  Session session = session_of_relu();
  const std::vector<float> memory = {-1, 2};
  const Value x = Value::view_read_only<float>({2}, memory);
  EXPECT_TRUE(x.is_read_only());
  EXPECT_EQ(x.data<float>().data(), memory.data());
  std::vector<NamedValue> outputs = {{"y", x}};
  try {
    session.run({{"x", x}}, &outputs);
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_INVALID_INPUT});
    EXPECT_THAT(error.what(), HasSubstr("the value given for output 'y' is read-only"));
  }
  outputs[0].value = Value();
  session.run({{"x", x}}, &outputs);
  EXPECT_THAT(outputs[0].value.data<float>(), ElementsAre(0, 2));
  EXPECT_THAT(memory, ElementsAre(-1, 2));
}

TEST(ReadOnlyValues, TheirMemoryIsFreedOnce) {
  int freed = 0;
  const int64_t dims[] = {2};
  const float memory[] = {1, 2};
  tenon_tensor tensor{};
  tensor.kind = TENON_KIND_TENSOR;
  tensor.dtype = TENON_FLOAT32;
  tensor.rank = 1;
  tensor.dims = dims;
  tensor.data = const_cast<float*>(memory);
  tenon_value* value = nullptr;
  ASSERT_EQ(api().value_wrap_read_only(
                &tensor, [](void* count) { ++*static_cast<int*>(count); }, &freed, &value, nullptr),
            TENON_OK);
  api().value_retain(value);
  api().value_release(value);
  EXPECT_EQ(freed, 0);
  api().value_release(value);
  EXPECT_EQ(freed, 1);
}

TEST(ReadOnlyValues, WhoeverMayWriteAnOutputHarmsNobody) {
  Session session = session_of_relu();
  for (int round = 0; round < 2; ++round) {
    const Value x = Value::tensor<float>({2}, {-1, 2});
    Outputs outputs = session.run({{"x", x}});
    EXPECT_THAT(outputs["same"].data<float>(), ElementsAre(-1, 2));
    EXPECT_THAT(outputs["fixed"].data<float>(), ElementsAre(3, 4)) << "an earlier round wrote into the model";
    for (NamedValue& output : outputs) {
      if (output.value.is_read_only()) continue;
      for (float& element : output.value.mutable_data<float>()) element = 99;
    }
    EXPECT_THAT(x.data<float>(), ElementsAre(-1, 2));
  }
}

TEST(ReadOnlyValues, OthersAreNot) {
  EXPECT_FALSE(Value::tensor<float>({1}, {1}).is_read_only());
  EXPECT_FALSE(Value::view<float>({1}, std::vector<float>{1}).is_read_only());
  const Value element = Value::view_read_only<float>({0}, {});
  EXPECT_TRUE(element.is_read_only());
  tenon_value* items[] = {element.get()};
  tenon_value* made = nullptr;
  ASSERT_EQ(api().value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, items, 1, &made, nullptr), TENON_OK);
  EXPECT_FALSE(Value::adopt(made).is_read_only());
}

TEST(ValueCopies, HaveTheirOwnMemory) {
  std::vector<float> memory = {1, 2, 3};
  Value copy = Value::view_read_only<float>({3}, memory).copy();
  EXPECT_FALSE(copy.is_read_only());
  memory = {7, 7, 7};
  EXPECT_THAT(copy.data<float>(), ElementsAre(1, 2, 3));
  copy.mutable_data<float>()[0] = 5;
  EXPECT_EQ(memory[0], 7);
}

TEST(ValueCopies, TakeAllElementsOfAllKinds) {
  std::vector<float> memory = {1};
  const Value keys = Value::strings({2}, {"a", "bc"});
  const Value inner = Value::view<float>({1}, memory);
  const auto make = [](uint32_t kind, std::vector<tenon_value*> elements) {
    tenon_value* made = nullptr;
    EXPECT_EQ(api().value_make(kind, TENON_FLOAT32, elements.data(), elements.size(), &made, nullptr),
              TENON_OK);
    return Value::adopt(made);
  };
  const Value list = make(TENON_KIND_SEQUENCE, {inner.get(), inner.get()});
  const Value map = make(TENON_KIND_MAP, {keys.get(), list.get()});
  const Value copy = make(TENON_KIND_OPTIONAL, {map.get()}).copy();
  memory[0] = 9;
  EXPECT_EQ(copy.kind(), uint32_t{TENON_KIND_OPTIONAL});
  ASSERT_EQ(copy.size(), 1u);
  EXPECT_EQ(copy[0].kind(), uint32_t{TENON_KIND_MAP});
  EXPECT_EQ(copy[0][0].string_at(1), "bc");
  EXPECT_NE(copy[0][0].get(), keys.get());
  ASSERT_EQ(copy[0][1].size(), 2u);
  EXPECT_EQ(copy[0][1][1].data<float>()[0], 1);
  const Value none = make(TENON_KIND_OPTIONAL, {}).copy();
  EXPECT_EQ(none.kind(), uint32_t{TENON_KIND_OPTIONAL});
  EXPECT_EQ(none.size(), 0u);
}

TEST(Defaults, AreGivenReadOnly) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  const auto bias = m.input("bias", GraphMaker::f32({2}), GraphMaker::floats({2}, {10, 20}));
  m.output(m.node("Add", {x, bias}), "y");
  Session session = make_session(m);
  ASSERT_EQ(session.inputs()[1].has_default, 1u);
  const Value fallback = session.input_default(1);
  EXPECT_THAT(fallback.data<float>(), ElementsAre(10, 20));
  EXPECT_TRUE(fallback.is_read_only());
  EXPECT_THROW(session.input_default(0), Error);
  const Value one = Value::tensor<float>({2}, {1, 1});
  EXPECT_THAT(session.run({{"x", one}})["y"].data<float>(), ElementsAre(11, 21));
  EXPECT_THAT(session.run({{"x", one}, {"bias", one}})["y"].data<float>(), ElementsAre(2, 2));
}

TEST(ConfigText, StandsInForTheFile) {
  const Config toml = Config::from_text("[threads]\ncount = 3\n", "cell 7");
  EXPECT_THAT(toml.describe(), HasSubstr("cell 7:2"));
  const Config json = Config::from_text("\n {\"threads\": {\"count\": 5}}");
  EXPECT_THAT(json.describe(), HasSubstr("config text"));
  try {
    Config::from_text("[threads]\ncuont = 3\n", "cell 7");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_CONFIG});
    EXPECT_THAT(error.what(), HasSubstr("cell 7:2"));
    EXPECT_THAT(error.what(), HasSubstr("count"));
  }
  EXPECT_THROW(Config::from_text(std::string(1 << 21, '#')), Error);
  Config later = Config::from_text("[threads]\ncount = 3\n");
  later.set("threads.count", "4");
  EXPECT_THAT(later.describe(), HasSubstr("\"value\":4"));
}

TEST(ConfigText, ReplacesTheFileOfTheEnvironment) {
  ASSERT_EQ(setenv("TENON_CONFIG", "/nowhere/tenon.toml", 1), 0);
  EXPECT_THROW(Config(), Error);
  EXPECT_NO_THROW(Config::from_text(""));
  ASSERT_EQ(unsetenv("TENON_CONFIG"), 0);
}

TEST(ModelInfo, IsThatOfTheFile) {
  GraphMaker m;
  m.output(m.node("Relu", {m.input("x", GraphMaker::f32({2}))}), "y");
  m.model.opset_imports["com.acme"] = 3;
  const Session session = make_session(m);
  const ModelInfo info = session.model();
  EXPECT_EQ(info.producer_name, "test");
  EXPECT_EQ(info.graph_name, "test");
  EXPECT_THAT(info.opsets, ElementsAre(testing::Pair("ai.onnx", 21), testing::Pair("com.acme", 3)));
}

}  // namespace
}  // namespace tenon::test
