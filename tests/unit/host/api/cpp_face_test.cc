// What tenon.hpp adds over the table of tenon.h.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/onnx/onnx.h"
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
  config.set("discovery.scan", "\"off\"");
  config.set("select.order", "[\"cpu\"]");
  return config;
}

/// sum = x + y, product = x * y; `halves`: in float16.
Session session(bool halves = false) {
  GraphMaker m;
  const auto element = halves ? ir::ElementType::kFloat16 : ir::ElementType::kFloat32;
  const auto x = m.input("x", GraphMaker::type(element, {ir::Dim(2)}));
  const auto y = m.input("y", GraphMaker::type(element, {ir::Dim(2)}));
  m.output(m.node("Add", {x, y}), "sum");
  m.output(m.node("Mul", {x, y}), "product");
  const std::string bytes = m.bytes();
  const Config config = cpu();
  return Session::from_memory(bytes.data(), bytes.size(), &config);
}

Value pair(float a, float b) { return Value::tensor<float>({2}, {a, b}); }

TEST(CppFace, OutputsAreChosenAndPreallocated) {
  Session s = session();
  std::vector<NamedValue> wanted = {{"product", Value()}};
  s.run({{"x", pair(2, 3)}, {"y", pair(4, 5)}}, &wanted);
  EXPECT_THAT(wanted[0].value.data<float>(), ElementsAre(8, 15));

  const Value mine = pair(0, 0);
  const void* const memory = mine.data<float>().data();
  wanted = {{"sum", mine}, {"product", Value()}};
  s.run({{"x", pair(1, 1)}, {"y", pair(4, 5)}}, &wanted);
  EXPECT_EQ(wanted[0].value.data<float>().data(), memory);
  EXPECT_THAT(mine.data<float>(), ElementsAre(5, 6));
  EXPECT_THAT(wanted[1].value.data<float>(), ElementsAre(4, 5));

  wanted = {{"difference", Value()}};
  EXPECT_THROW(s.run({{"x", pair(1, 1)}, {"y", pair(4, 5)}}, &wanted), Error);
  wanted = {{"sum", Value::tensor<float>({3}, {0, 0, 0})}};
  EXPECT_THROW(s.run({{"x", pair(1, 1)}, {"y", pair(4, 5)}}, &wanted), Error) << "of another shape";
}

TEST(CppFace, RawBytesMayBeWritten) {
  Session s = session(true);
  constexpr uint16_t kOneAndTwo[] = {0x3C00, 0x4000};
  Value x = Value::empty_tensor(TENON_FLOAT16, std::vector<int64_t>{2});
  ASSERT_EQ(x.mutable_raw().size(), sizeof(kOneAndTwo));
  std::memcpy(x.mutable_raw().data(), kOneAndTwo, sizeof(kOneAndTwo));
  const Outputs outputs = s.run({{"x", x}, {"y", x}});
  uint16_t product[2];
  std::memcpy(product, outputs["product"].raw().data(), sizeof(product));
  EXPECT_THAT(product, ElementsAre(0x3C00, 0x4400));
  uint16_t sum[2];
  std::memcpy(sum, outputs["sum"].raw().data(), sizeof(sum));
  EXPECT_THAT(sum, ElementsAre(0x4000, 0x4400));
}

TEST(CppFace, SlotsAreBoundByName) {
  Session s = session();
  Slots slots(s);
  const Value x = pair(2, 3), y = pair(4, 5);
  Value product = pair(0, 0);
  slots.bind_input("y", y.describe());
  slots.bind_input("x", x.describe());
  slots.bind_output("product", product.describe());
  slots.run();
  EXPECT_THAT(product.data<float>(), ElementsAre(8, 15));
  const auto* sum = static_cast<const float*>(slots.output("sum").data);
  EXPECT_EQ(sum[0], 6);
  EXPECT_EQ(sum[1], 8);
  try {
    slots.bind_input("z", x.describe());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_INVALID_INPUT});
    EXPECT_THAT(error.what(), HasSubstr("there is no input 'z'"));
  }
}

/// A file: only Session(path) takes options.
std::string model_file() {
  ir::Model model;
  GraphMaker m;
  m.output(m.node("Relu", {m.input("x", GraphMaker::f32({ir::Dim(2)}))}), "y");
  model.graph = m.graph;
  model.graph.name = "test";
  model.opset_imports[""] = 21;
  model.ir_version = 10;
  model.metadata = {{"author", "nobody"}, {"labels", "a,b"}};
  const std::string path = testing::TempDir() + "/cpp_face_" + std::to_string(getpid()) + ".onnx";
  EXPECT_TRUE(onnx::save(model, path).ok());
  return path;
}

TEST(CppFace, ASessionTellsItsProvidersAndMetadata) {
  Session s(model_file(), cpu());
  const std::vector<InstanceInfo> instances = s.instances();
  ASSERT_EQ(instances.size(), 1u);
  EXPECT_EQ(instances[0].instance, "cpu/cpu:0");
  EXPECT_EQ(instances[0].provider, "cpu");
  EXPECT_THAT(instances[0].version, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(instances[0].library, HasSubstr("tenon_ep_cpu"));
  EXPECT_THAT(s.metadata(), ElementsAre(testing::Pair("author", "nobody"), testing::Pair("labels", "a,b")));
  tenon_instance_info info{};
  info.struct_size = sizeof(info);
  EXPECT_NE(api().session_instance(s.get(), 1, &info), TENON_OK);
  tenon_str key, value;
  EXPECT_NE(api().session_metadata(s.get(), 2, &key, &value), TENON_OK);
}

TEST(CppFace, TheProvidersFoundAreListed) {
  const auto cpu_of = [](const std::vector<ProviderInfo>& all) {
    const auto found =
        std::find_if(all.begin(), all.end(), [](const auto& each) { return each.id == "cpu"; });
    return found == all.end() ? ProviderInfo{} : *found;
  };
  Config config = cpu();
  const ProviderInfo usable = cpu_of(list_providers(config, false));
  EXPECT_EQ(usable.verdict, uint32_t{TENON_PROVIDER_USABLE});
  EXPECT_EQ(usable.version, Session(model_file(), config).instances()[0].version);
  EXPECT_THAT(usable.library, HasSubstr("tenon_ep_cpu"));
  EXPECT_EQ(usable.refusal + usable.reason + usable.cure, "");
  config.set("discovery.deny", "[\"cpu\"]");
  const ProviderInfo refused = cpu_of(list_providers(config, false));
  EXPECT_EQ(refused.verdict, uint32_t{TENON_PROVIDER_REFUSED});
  EXPECT_EQ(refused.refusal, "E_DISABLED");
  EXPECT_THAT(refused.reason, HasSubstr("discovery.deny"));
  EXPECT_NE(refused.cure, "");
}

TEST(CppFace, ASessionHasALogOfItsOwn) {
  Config config = cpu();
  config.set("placement",
             "[{provider = \"cpu\", match = {op = [\"Conv\"]}}]");  // matches nothing, which is a warning
  std::vector<std::string> mine, others;
  SessionOptions options;
  options.log = [&](uint32_t, std::string_view, std::string_view code, std::string_view) {
    mine.emplace_back(code);
  };
  Session logged(model_file(), config, options);
  EXPECT_THAT(mine, testing::Contains("PLACEMENT"));
  const size_t lines = mine.size();
  options.log = [&](uint32_t, std::string_view, std::string_view code, std::string_view) {
    others.emplace_back(code);
  };
  Session other(model_file(), config, options);
  EXPECT_EQ(mine.size(), lines) << "what another session logs";
  EXPECT_THAT(others, testing::Contains("PLACEMENT"));
}

}  // namespace
}  // namespace tenon::test
