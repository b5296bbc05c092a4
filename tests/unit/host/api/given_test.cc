// What an application gives a session in place of parts of its model, how it stops the making of one, profiles that it ends,
// and the functions for models in memory.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Config cpu() {
  Config config;
  config.set("discovery.search", "[\"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"").set("select.order", "[\"cpu\"]");
  return config;
}

/// y = x * w + b, where w is a constant and b an input that may be left out.
std::string affine() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("batch"), ir::Dim("width")}));
  const auto b = m.input("b", GraphMaker::f32({1}), GraphMaker::floats({1}, {10}));
  m.output(m.node("Add", {m.node("Mul", {x, m.constant("w", {1}, {2})}), b}), "y");
  return m.bytes();
}

Session open(const SessionOptions& options, const Config& config = cpu()) {
  const std::string bytes = affine();
  return Session::from_memory(bytes.data(), bytes.size(), &config, "", false, options);
}

std::optional<Error> error_of(const SessionOptions& options, const Config& config = cpu()) {
  try {
    open(options, config);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

const Value kX = Value::tensor<float>({1, 2}, {1, 3});

TEST(GivenInitializers, AreUsedInPlaceOfThoseOfTheModel) {
  int freed = 0;
  {
    const float memory[] = {5};
    const int64_t dims[] = {1};
    tenon_tensor tensor{};
    tensor.kind = TENON_KIND_TENSOR;
    tensor.dtype = TENON_FLOAT32;
    tensor.rank = 1;
    tensor.dims = dims;
    tensor.data = const_cast<float*>(memory);
    tenon_value* made = nullptr;
    ASSERT_EQ(api().value_wrap_read_only(
                  &tensor, [](void* count) { ++*static_cast<int*>(count); }, &freed, &made, nullptr),
              TENON_OK);
    SessionOptions options;
    options.initializers = {{"w", Value::adopt(made)}, {"b", Value::tensor<float>({1}, {-1})}};
    Session first = open(options), second = open(options);
    options.initializers.clear();
    EXPECT_THAT(first.run({{"x", kX}})["y"].data<float>(), ElementsAre(4, 14));
    EXPECT_THAT(second.run({{"x", kX}})["y"].data<float>(), ElementsAre(4, 14));
    EXPECT_THAT(second.run({{"x", kX}, {"b", Value::tensor<float>({1}, {0})}})["y"].data<float>(),
                ElementsAre(5, 15));
    EXPECT_THAT(second.input_default(1).data<float>(), ElementsAre(-1));
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 1);
}

TEST(GivenInitializers, ThatDoNotFitAreRefused) {
  SessionOptions options;
  options.initializers = {{"ww", Value::tensor<float>({1}, {5})}};
  std::optional<Error> error = error_of(options);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), TENON_NOT_FOUND);
  EXPECT_EQ(error->kind(), uint32_t{TENON_FAILURE_INVALID_INPUT});
  EXPECT_THAT(error->what(), HasSubstr("did you mean 'w'?"));
  options.initializers = {{"w", Value::tensor<double>({1}, {5})}};
  EXPECT_THAT(error_of(options)->what(),
              HasSubstr("the model has float32[1], but the value given for it is float64[1]"));
  options.initializers = {{"w", Value::tensor<float>({1}, {5})}, {"w", Value::tensor<float>({1}, {5})}};
  EXPECT_THAT(error_of(options)->what(), HasSubstr("initializer 'w' is given twice"));
}

TEST(GivenDims, FixShapes) {
  SessionOptions options;
  options.dims = {{"width", 2}};
  std::vector<std::string> log;
  options.log = [&](uint32_t level, std::string_view, std::string_view code, std::string_view text) {
    if (level <= TENON_LOG_WARNING) log.push_back(std::string(code) + ": " + std::string(text));
  };
  Session s = open(options);
  EXPECT_EQ(as_string(s.inputs()[0].type_text), "float32[batch,2]");
  EXPECT_EQ(as_string(s.outputs()[0].type_text), "float32[batch,2]");
  EXPECT_THAT(log, testing::IsEmpty());
  EXPECT_THAT(s.run({{"x", kX}})["y"].data<float>(), ElementsAre(12, 16));
  EXPECT_THROW(s.run({{"x", Value::tensor<float>({1, 3}, {1, 2, 3})}}), Error);
  options.dims = {{"widht", 2}};
  Session other = open(options);
  EXPECT_EQ(as_string(other.inputs()[0].type_text), "float32[batch,width]");
  EXPECT_THAT(log, ElementsAre("MODEL: a size is given for dim 'widht', which the model does not have"));
  options.dims = {{"width", -1}};
  EXPECT_THAT(error_of(options)->what(), HasSubstr("the size of dim 'width' is -1"));
}

TEST(LoadCancel, StopsTheMakingOfASession) {
  Cancel cancel;
  SessionOptions options;
  options.cancel = &cancel;
  EXPECT_FALSE(error_of(options));
  cancel.trigger();
  std::optional<Error> error = error_of(options);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), uint32_t{TENON_FAILURE_CANCELLED});
  EXPECT_THAT(error->what(), HasSubstr("the load was cancelled"));
  Config limited = cpu();
  limited.set("limits.load_time", "600");
  error = error_of(options, limited);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), uint32_t{TENON_FAILURE_CANCELLED}) << error->what();
}

TEST(LoadCancel, IsSeenBetweenStages) {
  Cancel cancel;
  SessionOptions options;
  options.cancel = &cancel;
  std::vector<std::string> stages;
  options.progress = [&](double, std::string_view stage) {
    stages.emplace_back(stage);
    if (stage == "transform") cancel.trigger();
    return true;
  };
  EXPECT_EQ(error_of(options)->kind(), uint32_t{TENON_FAILURE_CANCELLED});
  EXPECT_THAT(stages, Not(testing::Contains("ready")));
}

std::string content(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Profile, IsWrittenWhenItIsEnded) {
  const std::string path = testing::TempDir() + "/tenon_profile_" + std::to_string(getpid()) + ".json";
  Config config = cpu();
  config.set("profiling.file", "\"" + path + "\"");
  {
    Session s = open({}, config);
    s.run({{"x", kX}});
    EXPECT_EQ(content(path), "");
    EXPECT_EQ(s.end_profile(), path);
    const std::string ended = content(path);
    EXPECT_THAT(ended, AllOf(HasSubstr("\"traceEvents\""), HasSubstr("\"run\"")));
    s.run({{"x", kX}});
    Session other = open({}, config);
    EXPECT_EQ(other.end_profile(), path);
    EXPECT_GT(content(path).size(), ended.size()) << "sessions share the file";
    try {
      s.end_profile();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), TENON_FAILED_PRECONDITION);
      EXPECT_THAT(error.what(), HasSubstr("was ended before"));
    }
  }
  const std::string last = content(path);
  size_t runs = 0;
  for (size_t at = 0; (at = last.find("(Mul)\",\"cat\":\"run\"", at)) != std::string::npos; ++at) ++runs;
  EXPECT_EQ(runs, 1u) << last;
  std::filesystem::remove(path);
  Session without = open({});
  try {
    without.end_profile();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("set profiling.file"));
  }
}

TEST(ModelsInMemory, AreDescribedAndOptimized) {
  const std::string folder = testing::TempDir() + "/tenon_memory_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::string bytes = affine();
  std::ofstream(folder + "/m.onnx", std::ios::binary) << bytes;
  const Config config = cpu();
  detail::Check check;
  tenon_text *of_file = nullptr, *of_memory = nullptr;
  check(api().model_describe(as_str(folder + "/m.onnx"), config.get(), &of_file, check.out()));
  check(api().model_describe_from_memory(bytes.data(), bytes.size(), as_str(""), config.get(), &of_memory,
                                         check.out()));
  std::string expected = detail::take_text(of_file);
  expected.replace(expected.find(folder), folder.size() + 7, "");
  EXPECT_EQ(detail::take_text(of_memory), expected);
  const std::string a = folder + "/a.onnx", b = folder + "/b.onnx";
  check(api().model_optimize(as_str(folder + "/m.onnx"), config.get(), as_str(a), check.out()));
  check(api().model_optimize_from_memory(bytes.data(), bytes.size(), as_str(""), config.get(), as_str(b),
                                         check.out()));
  EXPECT_NE(content(a), "");
  EXPECT_EQ(content(a), content(b));
  tenon_error error{};
  error.struct_size = sizeof(error);
  EXPECT_NE(api().model_describe_from_memory("abc", 3, as_str(""), config.get(), &of_memory, &error),
            TENON_OK);
  EXPECT_EQ(api().error_kind(&error), uint32_t{TENON_FAILURE_INVALID_MODEL});
  std::filesystem::remove_all(folder);
}

TEST(ValueWrites, CopyIntoTheMemoryOfAnotherValue) {
  std::vector<float> memory = {1, 2};
  Value to = Value::view<float>({2}, memory);
  to.write(Value::tensor<float>({2}, {3, 4}));
  EXPECT_THAT(memory, ElementsAre(3, 4));
  struct Case {
    Value to, from;
    const char* text;
  };
  for (const Case& each :
       {Case{to, Value::tensor<float>({1, 2}, {5, 6}), "to is float32[2], but from is float32[1,2]"},
        Case{to, Value::tensor<int32_t>({2}, {5, 6}), "to is float32[2], but from is int32[2]"},
        Case{Value::strings({1}, {"a"}), Value::strings({1}, {"b"}), "only a numeric tensor"},
        Case{Value::view_read_only<float>({2}, memory), Value::tensor<float>({2}, {5, 6}),
             "to is read-only"}}) {
    try {
      Value(each.to).write(each.from);
      ADD_FAILURE() << each.text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(each.text));
    }
  }
  EXPECT_THAT(memory, ElementsAre(3, 4));
}

TEST(ValueWrites, ReachMemoryOfADevice) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  m.output(m.node("Add", {x, x}), "y", GraphMaker::f32({2}));
  Config config;
  config.set("discovery.search", "[\"" + fakes_dir() + "/accelerator\", \"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"").set("select.order", "[\"accelerator/npu:0\", \"cpu\"]");
  const std::string bytes = m.bytes();
  Session s = Session::from_memory(bytes.data(), bytes.size(), &config);
  Value on_device = s.to_device(0, Value::tensor<float>({2}, {1, 2}));
  ASSERT_NE(on_device.place().device, "");
  on_device.write(Value::tensor<float>({2}, {10, 20}));
  EXPECT_THAT(s.run({{"x", on_device}})["y"].data<float>(), ElementsAre(20, 40));
  Value back = Value::tensor<float>({2}, {0, 0});
  back.write(on_device);
  EXPECT_THAT(back.data<float>(), ElementsAre(10, 20));
  EXPECT_THAT(on_device.copy().data<float>(), ElementsAre(10, 20));
}

}  // namespace
}  // namespace tenon::test
