// The table of tenon.h, as an application uses it through tenon.hpp.
#include <gmock/gmock.h>
#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/base/sanitizer.h"
#include "host/device/host_api.h"
#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

Config cpu() {
  Config config;
  config.set("discovery.search", "[\"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"");
  config.set("select.order", "[\"cpu\"]");
  return config;
}

/// y = relu(x + 1)
std::string model() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  m.output(m.node("Relu", {m.node("Add", {x, m.constant("one", {1}, {1})}, {}, "plus")}, {}, "cut"), "y");
  return m.bytes();
}
Session session() {
  const std::string bytes = model();
  const Config config = cpu();
  return Session::from_memory(bytes.data(), bytes.size(), &config);
}

TEST(Api, TableIsWhole) {
  ASSERT_NE(tenon_get_api(TENON_API_VERSION), nullptr);
  EXPECT_EQ(tenon_get_api(TENON_API_VERSION + 1), nullptr);
  const tenon_api& table = api();
  EXPECT_EQ(table.struct_size, sizeof(tenon_api));
  const auto* functions = reinterpret_cast<void* const*>(&table.runtime_version);
  const size_t count = (sizeof(tenon_api) - offsetof(tenon_api, runtime_version)) / sizeof(void*);
  for (size_t i = 0; i < count; ++i) EXPECT_NE(functions[i], nullptr) << "function " << i;
  EXPECT_FALSE(as_string(table.runtime_version()).empty());
}

TEST(Api, RunsAModel) {
  Session s = session();
  const Outputs outputs = s.run({{"x", Value::tensor<float>({3}, {1, -5, 2})}});
  EXPECT_THAT(outputs["y"].data<float>(), ElementsAre(2, 0, 3));
  EXPECT_EQ(as_string(s.inputs()[0].type_text), "float32[n]");
  EXPECT_EQ(as_string(s.inputs()[0].dim_names[0]), "n");
  EXPECT_EQ(s.inputs()[0].dims[0], TENON_DIM_UNKNOWN);
}

TEST(Api, OutputsGivenAreWrittenInPlace) {
  Session s = session();
  const Value x = Value::tensor<float>({2}, {1, 2});
  Value mine = Value::tensor<float>({2}, {0, 0});
  const tenon_named_value input{as_str("x"), x.get()};
  const tenon_str name = as_str("y");
  tenon_value* output = mine.get();
  ASSERT_EQ(api().run(s.get(), nullptr, &input, 1, &name, 1, &output, nullptr), TENON_OK);
  EXPECT_EQ(output, mine.get());
  EXPECT_THAT(mine.data<float>(), ElementsAre(2, 3));
}

TEST(Api, ErrorsTellKindPlaceAndCure) {
  Session s = session();
  try {
    s.run({{"X", Value::tensor<float>({1}, {1})}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), TENON_FAILURE_INVALID_INPUT);
    EXPECT_THAT(error.message(), HasSubstr("did you mean 'x'"));
  }
  try {
    cpu().set("select.ordr", "[]");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), TENON_FAILURE_CONFIG);
    EXPECT_THAT(error.message(), HasSubstr("order"));
  }
  std::optional<Error> error;
  EXPECT_FALSE(Session::try_make("/nowhere/m.onnx", cpu(), &error).has_value());
  ASSERT_TRUE(error.has_value());
  EXPECT_THAT(error->what(), HasSubstr("/nowhere/m.onnx"));
  EXPECT_EQ(error->code(), TENON_NOT_FOUND);
}

TEST(Api, NullsAreRefused) {
  tenon_session* out = nullptr;
  EXPECT_NE(api().session_create_from_memory(nullptr, 0, 0, {nullptr, 0}, nullptr, nullptr, &out, nullptr),
            TENON_OK);
  EXPECT_NE(api().run(nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr, nullptr), TENON_OK);
  EXPECT_NE(api().slots_create(nullptr, nullptr, nullptr), TENON_OK);
  EXPECT_NE(api().config_describe(nullptr, nullptr, nullptr), TENON_OK);
  EXPECT_EQ(api().session_input_count(nullptr), 0u);
  api().session_release(nullptr);
  api().config_release(nullptr);
  api().slots_release(nullptr);
  api().cancel_release(nullptr);
  api().text_release(nullptr);
}

TEST(Api, SmallerStructsOfAnOlderCallerAreServed) {
  Session s = session();
  alignas(8) unsigned char room[sizeof(tenon_io_info)];
  std::memset(room, 0xAB, sizeof(room));
  auto* info = reinterpret_cast<tenon_io_info*>(room);
  info->struct_size = offsetof(tenon_io_info, dims);
  ASSERT_EQ(api().session_input(s.get(), 0, info), TENON_OK);
  EXPECT_EQ(info->dtype, TENON_FLOAT32);
  EXPECT_EQ(info->struct_size, offsetof(tenon_io_info, dims));
  EXPECT_EQ(room[offsetof(tenon_io_info, dims)], 0xAB);
}

TEST(Api, DescriptionsAreJson) {
  Session s = session();
  s.run({{"x", Value::tensor<float>({3}, {1, -5, 2})}});
  const json explain = json::parse(s.describe(TENON_DESCRIBE_EXPLAIN));
  EXPECT_EQ(explain["nodes"].size(), 2u);
  EXPECT_EQ(explain["nodes"][0]["name"], "plus");
  EXPECT_EQ(explain["nodes"][0]["provider"], "cpu");
  const json plan = json::parse(s.describe(TENON_DESCRIBE_PLAN));
  ASSERT_EQ(plan["plans"].size(), 1u);
  EXPECT_EQ(plan["plans"][0]["signature"], "x[3]");
  EXPECT_EQ(plan["plans"][0]["steps"].size(), 2u);
  const json described = json::parse(s.describe(TENON_DESCRIBE_MODEL));
  EXPECT_EQ(described["opsets"]["ai.onnx"], 21);
  EXPECT_EQ(described["operators"]["Relu"], 1);
  EXPECT_THROW(s.describe(99), Error);
  EXPECT_FALSE(json::parse(describe_providers(cpu(), false)).empty());
  EXPECT_EQ(json::parse(cpu().describe())["select.order"]["origin"], "config_set");
  const std::string described_config = cpu().set("threads.count", "2", "--threads").describe();
  EXPECT_EQ(json::parse(described_config)["threads.count"]["origin"], "--threads");
}

TEST(Api, TheLogTellsWhichProviderWasTakenAndWhatItSays) {
  std::string log;
  set_log(
      [](void* context, uint32_t level, tenon_str provider, tenon_str code, tenon_str message) {
        *static_cast<std::string*>(context) += std::to_string(level) + "|" + as_string(provider) + "|" +
                                               as_string(code) + "|" + as_string(message) + "\n";
      },
      &log);
  session();
  EXPECT_THAT(log, HasSubstr("3||PROVIDER|accepted: cpu "));
  runtime::host_api()->log(nullptr, TENON_LOG_WARNING, as_str("SLOW"), as_str("it is warm here"));
  EXPECT_THAT(log, HasSubstr("2||SLOW|it is warm here\n"));
  set_log(nullptr);
  log.clear();
  session();
  EXPECT_EQ(log, "");
}

TEST(Api, ARunCanBeTracedAndStopped) {
  Session s = session();
  std::string trace;
  RunOptions options;
  options.trace = &trace;
  s.run({{"x", Value::tensor<float>({3}, {1, -5, 2})}}, options);
  const json events = json::parse(trace)["traceEvents"];
  EXPECT_EQ(std::count_if(events.begin(), events.end(), [](const json& event) { return event["ph"] == "X"; }),
            2);

  Cancel cancel;
  options = {};
  options.cancel = &cancel;
  s.run({{"x", Value::tensor<float>({3}, {1, -5, 2})}}, options);
  cancel.trigger();
  try {
    s.run({{"x", Value::tensor<float>({3}, {1, -5, 2})}}, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), TENON_FAILURE_CANCELLED);
  }
}

TEST(Api, CreatingASessionReportsProgressAndCanBeStopped) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("tenon_api_test_" + std::to_string(getpid()) + ".onnx");
  const std::string bytes = model();
  FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  std::vector<std::string> stages;
  double last = 0;
  SessionOptions options;
  options.progress = [&](double fraction, std::string_view stage) {
    EXPECT_GE(fraction, last);
    last = fraction;
    stages.emplace_back(stage);
    return true;
  };
  Session s(path, cpu(), options);
  EXPECT_EQ(last, 1.0);
  EXPECT_THAT(stages, testing::IsSupersetOf({"read", "providers", "transform", "compile"}));
  try {
    options.progress = [](double, std::string_view stage) { return stage != "transform"; };
    Session stopped(path, cpu(), options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), TENON_FAILURE_CANCELLED);
  }
  std::filesystem::remove(path);
}

TEST(Api, ValuesGoToFilesAndBack) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("tenon_api_test_" + std::to_string(getpid()) + ".pb");
  const Value tensor = Value::tensor<float>({2}, {1.5, -2});
  const Value words = Value::strings({2}, {"one", "zwei"});
  const auto round_trip = [&](const Value& value, std::string_view type) {
    detail::Check check;
    check(api().value_write_pb(as_str(path), as_str("v"), value.get(), check.out()));
    tenon_io_info like{};
    like.struct_size = sizeof(like);
    like.type_text = as_str(type);
    tenon_value* read = nullptr;
    check(api().value_read_pb(as_str(path), &like, &read, check.out()));
    return Value::adopt(read);
  };
  EXPECT_THAT(round_trip(tensor, "float32[2]").data<float>(), ElementsAre(1.5, -2));
  EXPECT_EQ(round_trip(words, "string[2]").string_at(1), "zwei");
  tenon_value* elements[] = {tensor.get(), tensor.get()};
  tenon_value* made = nullptr;
  ASSERT_EQ(api().value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, elements, 2, &made, nullptr), TENON_OK);
  const Value sequence = round_trip(Value::adopt(made), "seq(float32[?...])");
  EXPECT_EQ(sequence.kind(), TENON_KIND_SEQUENCE);
  EXPECT_EQ(sequence.size(), 2u);
  EXPECT_THAT(sequence[1].data<float>(), ElementsAre(1.5, -2));
  std::filesystem::remove(path);
}

#if defined(__GLIBC__)
/// Bytes that malloc has given out.
size_t allocated() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

/// y = x + w, where w has 16 MiB of its own in the model.
std::string large_model() {
  GraphMaker m;
  constexpr int64_t kElements = 4 << 20;
  const auto x = m.input("x", GraphMaker::f32({1}));
  const auto w = m.constant("w", {kElements}, std::vector<float>(kElements, 2));
  m.output(m.node("Slice", {m.node("Add", {x, w}), m.ints("from", {0}), m.ints("to", {1})}), "y");
  return m.bytes();
}

TEST(Api, KeepSavesTheCopyOfTheModel) {
  const std::string bytes = large_model();
  const Config config = cpu();
  const auto taken = [&](bool keep) {
    const size_t before = allocated();
    Session s = Session::from_memory(bytes.data(), bytes.size(), &config, {}, keep);
    const size_t after = allocated();
    EXPECT_THAT(s.run({{"x", Value::tensor<float>({1}, {3})}})["y"].data<float>(), ElementsAre(5));
    return static_cast<double>(after - before);
  };
  taken(false);  // what the process allocates once
  const double copied = taken(false), kept = taken(true);
  if (kHostSanitizer == TENON_SANITIZER_NONE) {  // the others replace malloc, and count for themselves
    EXPECT_GT(copied - kept, 0.9 * static_cast<double>(bytes.size())) << copied << " and " << kept;
  }
}
#endif

TEST(Api, WithoutKeepTheMemoryMayGo) {
  std::string bytes = model();
  const Config config = cpu();
  Session s = Session::from_memory(bytes.data(), bytes.size(), &config);
  std::fill(bytes.begin(), bytes.end(), '\xFF');
  EXPECT_THAT(s.run({{"x", Value::tensor<float>({1}, {3})}})["y"].data<float>(), ElementsAre(4));
}

/// What a struct of the C API says is done or refused.
TEST(Api, OptionsThatWouldBePassedOverAreRefused) {
  const auto kind_and_text = [](const auto& call) {
    try {
      detail::Check check;
      check(call(check.out()));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_INVALID_INPUT});
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::string bytes = model();
  const Config config = cpu();
  const auto create = [&](tenon_session_options options) {
    return kind_and_text([&](tenon_error* error) {
      tenon_session* session = nullptr;
      const tenon_status status = api().session_create_from_memory(bytes.data(), bytes.size(), 0, {},
                                                                   config.get(), &options, &session, error);
      api().session_release(session);
      return status;
    });
  };
  tenon_session_options options{};
  EXPECT_THAT(create(options), HasSubstr("struct_size of options is 0; set it to the size"));
  options.struct_size = sizeof options;
  EXPECT_EQ(create(options), "accepted");
  options.flags = 6;
  EXPECT_THAT(create(options), HasSubstr("flags of options has unknown bits: 6"));

  Session s = session();
  const auto run = [&](tenon_run_options run_options) {
    const Value x = Value::tensor<float>({1}, {3});
    const tenon_named_value input{as_str("x"), x.get()};
    return kind_and_text([&](tenon_error* error) {
      tenon_value* output = nullptr;
      const tenon_status status = api().run(s.get(), &run_options, &input, 1, nullptr, 0, &output, error);
      api().value_release(output);
      return status;
    });
  };
  tenon_run_options run_options{};
  EXPECT_THAT(run(run_options), HasSubstr("struct_size of options is 0"));
  run_options.struct_size = sizeof run_options;
  EXPECT_EQ(run(run_options), "accepted");
  run_options.deadline_ns = -1;
  EXPECT_THAT(run(run_options), HasSubstr("deadline_ns is -1; it must be 0 (no deadline) or positive"));
}

TEST(Api, AConfigIsTriedOutWithoutAModel) {
  Config config = cpu();
  json report = json::parse(config.check());
  EXPECT_TRUE(report["errors"].empty()) << report.dump();
  EXPECT_THAT(report["instances"].get<std::vector<std::string>>(), ElementsAre("cpu/cpu:0"));
  config.set("provider.cpu.options.speed", "9");
  config.set("transforms.disable", "[\"nothing_like_it\"]");
  config.set("profiling.file", "/nonexistent/trace.json");
  config.set("select.order", "[\"cpu\", \"absent\"]");
  report = json::parse(config.check());
  EXPECT_THAT(report["errors"].dump(),
              testing::AllOf(HasSubstr("provider.cpu.options.speed"), HasSubstr("nothing_like_it"),
                             HasSubstr("/nonexistent/trace.json"), HasSubstr("absent")));
  EXPECT_EQ(report["errors"].size(), 4u) << "each mistake once: " << report.dump();
}

}  // namespace
}  // namespace tenon::test
