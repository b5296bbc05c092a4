// Models that are split over the fake accelerator (memory the host cannot touch, streams, bind) and the
// completing provider.
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "host/services/cores.h"
#include "host/services/trace.h"
#include "host/session/describe.h"
#include "host/session/slots.h"
#include "tests/unit/host/session/accelerator_case.h"

namespace tenon::test {
namespace {

using accelerator::Counters;
using testing::ElementsAre;
using testing::HasSubstr;

/// Parts: accelerator (Add, Mul), cpu (Softmax), accelerator (Sub, Relu), cpu (Transpose).
std::string mixed_model(ir::Dim rows = 2) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({rows, 2}));
  const auto sum = m.node("Add", {x, m.constant("c", {2}, {1, 2})}, {}, "add");
  const auto product = m.node("Mul", {sum, sum}, {}, "mul");
  const auto soft = m.node("Softmax", {product}, {ir::Attribute::of_int("axis", -1)}, "softmax");
  const auto less = m.node("Sub", {product, soft}, {}, "sub");
  const auto cut = m.node("Relu", {less}, {}, "relu");
  m.output(m.node("Transpose", {cut}, {ir::Attribute::of_ints("perm", {1, 0})}, "turn"), "y");
  m.output(sum, "sum");
  return m.bytes();
}

TEST(Accelerator, SplitModelGivesTheSameAsOneProvider) {
  const auto session = make_session(mixed_model(), split());
  ASSERT_NE(session, nullptr);
  for (float v : {0.F, 1.F, -3.F}) {
    const std::vector<session::NamedValue> inputs = {{"x", f32({2, 2}, {v, 1, 2, v})}};
    expect_equal(run(*session, inputs), reference(mixed_model(), inputs));
  }
}

TEST(Accelerator, PrepareIsToldTheShapesWithinAClaim) {
  const auto session = make_session(mixed_model(), split({"needs_values=true"}));
  ASSERT_NE(session, nullptr);
  const std::vector<session::NamedValue> inputs = {{"x", f32({2, 2}, {1, -2, 3, 4})}};
  expect_equal(run(*session, inputs), reference(mixed_model(), inputs));
}

TEST(Accelerator, ExplainListsPartsAndCopies) {
  const auto session = make_session(mixed_model(), split());
  ASSERT_NE(session, nullptr);
  const auto json = explained(*session);
  EXPECT_GE(json["parts"].size(), 3u);
  EXPECT_GE(json["copies"].size(), 3u);
  for (const auto& node : json["nodes"]) {
    if (node["name"] != "softmax") continue;
    EXPECT_EQ(node["provider"], "cpu");
    ASSERT_EQ(node["declines"].size(), 1u);
    EXPECT_THAT(node["declines"][0]["text"].get<std::string>(), HasSubstr("Softmax"));
  }
}

TEST(Accelerator, ShapesThatChange) {
  const std::string bytes = mixed_model(ir::Dim("rows"));
  const auto session = make_session(bytes, split());
  ASSERT_NE(session, nullptr);
  for (int64_t rows : {1, 4, 0, 4, 2}) {
    const std::vector<session::NamedValue> inputs = {
        {"x", f32({rows, 2}, std::vector<float>(static_cast<size_t>(rows) * 2, 3))}};
    expect_equal(run(*session, inputs), reference(bytes, inputs));
  }
}

TEST(Accelerator, StaticClaimsAreCompiledForEachShape) {
  const std::string bytes = mixed_model(ir::Dim("rows"));
  const auto session = make_session(bytes, split({"static_claims=true"}));
  ASSERT_NE(session, nullptr);
  for (int64_t rows : {1, 4, 1}) {
    const std::vector<session::NamedValue> inputs = {
        {"x", f32({rows, 2}, std::vector<float>(static_cast<size_t>(rows) * 2, 3))}};
    expect_equal(run(*session, inputs), reference(bytes, inputs));
  }
}

TEST(Accelerator, DataDependentValuesGoToTheDeviceAndBack) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  const auto picked = m.node("Gather", {x, m.node("NonZero", {x})});
  const auto doubled = m.node("Add", {picked, picked});
  m.output(m.node("Softmax", {m.node("Relu", {doubled})}), "y");
  m.output(doubled, "doubled");
  const auto session = make_session(m.bytes(), split());
  ASSERT_NE(session, nullptr);
  for (const std::vector<float>& data : {std::vector<float>{0, 1, 2}, {0, 0, 0}, {1, 2, 3}}) {
    const std::vector<session::NamedValue> inputs = {{"x", f32({3}, data)}};
    expect_equal(run(*session, inputs), reference(m.bytes(), inputs));
  }
}

TEST(Accelerator, StepsWithShapesOfTheRunWaitOnceForAll) {
  constexpr int kLength = 10;
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  auto v = m.node("Gather", {x, m.node("NonZero", {x})});
  for (int i = 0; i < kLength; ++i)
    v = m.node(i % 2 == 0 ? "Add" : "Neg", i % 2 == 0 ? std::vector{v, v} : std::vector{v});
  m.output(v, "y");
  const FakeCounters counters;
  const auto session = make_session(m.bytes(), split({"max_nodes=1", counters.option(), "latency_us=100"}));
  ASSERT_NE(session, nullptr);
  for (const std::vector<float>& data : {std::vector<float>{0, 1, 2}, {0, 0, 0}, {1, 2, 3}}) {
    const std::vector<session::NamedValue> inputs = {{"x", f32({3}, data)}};
    std::vector<ValueRef> outputs;
    const std::vector<uint64_t> grown =
        growth(counters, {&Counters::runs, &Counters::point_waits}, [&] { outputs = run(*session, inputs); });
    EXPECT_EQ(grown[0], kLength) << "each node is a claim, and none is recorded";
    EXPECT_LE(grown[1], 3u) << "for the upload, for the download and at the end";
    expect_equal(outputs, reference(m.bytes(), inputs));
  }
}

TEST(Accelerator, BodiesOfControlFlowUseIt) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  GraphMaker body;
  body.input("i", GraphMaker::i64({}));
  const auto go = body.input("go", GraphMaker::boolean({}));
  const auto carried = body.input("carried", GraphMaker::f32({2}));
  body.output(body.node("Identity", {go}), "go_on", GraphMaker::boolean({}));
  body.output(body.node("Add", {carried, body.capture(x, "outer")}), "next", GraphMaker::f32({2}));
  const auto out =
      m.node("Loop", {m.scalar("trips", 5), ir::kNone, x}, {ir::Attribute::of_graph("body", body.graph)});
  m.output(m.node("Mul", {out, out}), "y");
  const auto session = make_session(m.bytes(), split());
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(floats(run(*session, {{"x", f32({2}, {1, 2})}})[0]), ElementsAre(36, 144));
}

TEST(Accelerator, TwoDevicesInOneSession) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2}));
  const auto a = m.node("Add", {x, x}, {}, "first");
  const auto b = m.node("Mul", {a, x}, {}, "second");
  m.output(m.node("Sub", {b, a}, {}, "third"), "y");
  config::Config config = accelerated({"accelerator/npu:0", "accelerator/npu:1", "cpu"});
  ASSERT_TRUE(
      config
          .apply_toml("[[placement]]\nmatch = { node = \"second\" }\nprovider = \"accelerator/npu:1\"\n",
                      "test")
          .ok());
  const auto session = make_session(m.bytes(), config);
  ASSERT_NE(session, nullptr);
  const auto json = explained(*session);
  EXPECT_EQ(json["nodes"][1]["instance"], "accelerator/npu:1");
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_THAT(floats(run(*session, {{"x", f32({2}, {3, 4})}})[0]), ElementsAre(12, 24));
  }
}

TEST(Accelerator, ValuesGoBetweenThreeDevicesAndTheHost) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  const auto a = m.node("Add", {x, x}, {}, "on_0");
  const auto b = m.node("Mul", {a, x}, {}, "on_1");
  const auto c = m.node("Sub", {b, a}, {}, "on_2");
  const auto d = m.node("Mul", {m.node("Abs", {c}, {}, "on_host"), b}, {}, "on_1_again");
  m.output(m.node("Add", {d, a}, {}, "on_0_again"), "y");
  m.output(c, "c");
  const std::vector<std::string> order = {"accelerator/npu:0", "accelerator/npu:1", "accelerator/npu:2",
                                          "cpu"};
  config::Config config = accelerated(order);
  std::string rules;
  for (int device = 1; device <= 2; ++device) {
    rules += str_cat("[[placement]]\nmatch = { node = \"on_", device,
                     ".*\" }\nprovider = \"accelerator/npu:", device, "\"\nrequired = true\n");
  }
  ASSERT_TRUE(config.apply_toml(rules, "test").ok());
  const auto session = make_session(m.bytes(), config);
  ASSERT_NE(session, nullptr);
  const auto json = explained(*session);
  std::set<std::string> instances, between;
  for (const auto& node : json["nodes"]) instances.insert(node["instance"].get<std::string>());
  EXPECT_EQ(instances.size(), 4u);
  for (const auto& copy : json["copies"]) {
    between.insert(copy["from"].get<std::string>().substr(0, 17) + ">" +
                   copy["to"].get<std::string>().substr(0, 17));
  }
  for (const char* pair : {"host>accelerator/npu:0", "accelerator/npu:0>accelerator/npu:1",
                           "accelerator/npu:1>accelerator/npu:2", "accelerator/npu:2>host"}) {
    EXPECT_EQ(between.count(pair), 1u) << pair << json["copies"].dump(1);
  }
  for (int64_t n : {1, 5, 2}) {
    const std::vector<session::NamedValue> inputs = {
        {"x", f32({n}, std::vector<float>(static_cast<size_t>(n), 1.5F))}};
    expect_equal(run(*session, inputs), reference(m.bytes(), inputs));
  }
}

TEST(Accelerator, SlotsRebindWhenMemoryMoves) {
  session::Slots slots(make_session(mixed_model(), split()));
  std::vector<std::vector<float>> inputs = {{1, 2, 3, 4}, {0, 0, 0, 0}};
  const std::vector<int64_t> shape = {2, 2};
  for (int turn = 0; turn < 4; ++turn) {
    std::vector<float>& data = inputs[static_cast<size_t>(turn) % 2];
    tenon_tensor tensor{};
    tensor.kind = TENON_KIND_TENSOR;
    tensor.dtype = TENON_FLOAT32;
    tensor.rank = 2;
    tensor.dims = shape.data();
    tensor.data = data.data();
    tensor.byte_size = 16;
    ASSERT_TRUE(slots.bind_input(0, tensor).ok());
    ASSERT_TRUE(slots.run({}).ok());
    const auto* sum = static_cast<const float*>(slots.output(1)->data);
    EXPECT_EQ(std::vector<float>(sum, sum + 4),
              (std::vector<float>{data[0] + 1, data[1] + 2, data[2] + 1, data[3] + 2}));
  }
}

TEST(Accelerator, ManyThreadsGetTheirOwnResults) {
  const std::string bytes = mixed_model(ir::Dim("rows"));
  const auto session = make_session(bytes, split({"latency_us=0"}));
  ASSERT_NE(session, nullptr);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<session::NamedValue> inputs = {{"x", f32({2, 2}, {float(t), 1, 2, float(-t)})}};
      const auto wanted = floats(run(*session, inputs)[0]);
      for (int turn = 0; turn < 50; ++turn) wrong += floats(run(*session, inputs)[0]) != wanted;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Accelerator, FailuresDuringARunAreReportedAndSurvived) {
  for (const char* fault : {"run", "late", "lost"}) {
    SCOPED_TRACE(fault);
    config::Config config = split({std::string("fault=\"") + fault + "\"", "fault_after=2"});
    ASSERT_TRUE(config.set("provider.accelerator.on_lost", "\"fail\"").ok());
    const auto session = make_session(mixed_model(), config);
    ASSERT_NE(session, nullptr);
    const std::vector<session::NamedValue> inputs = {{"x", f32({2, 2}, {1, 2, 3, 4})}};
    std::vector<ValueRef> outputs(2);
    EXPECT_TRUE(session->run({}, inputs, {}, outputs).ok());
    outputs.assign(2, ValueRef());
    const Status status = session->run({}, inputs, {}, outputs);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.to_string(), HasSubstr("accelerator"));
    EXPECT_EQ(status.kind() == ErrorKind::kDeviceLost, std::string_view(fault) == "lost")
        << status.to_string();
  }
}

TEST(Accelerator, ClaimThatDoesNotCompileGoesToTheNext) {
  const auto session = make_session(mixed_model(), split({"fault=\"compile\""}));
  ASSERT_NE(session, nullptr);
  const auto json = explained(*session);
  for (const auto& node : json["nodes"]) EXPECT_EQ(node["provider"], "cpu");
  EXPECT_EQ(json["nodes"][0]["declines"][0]["code"], "compile_failed");
  const std::vector<session::NamedValue> inputs = {{"x", f32({2, 2}, {1, 2, 3, 4})}};
  expect_equal(run(*session, inputs), reference(mixed_model(), inputs));

  config::Config strict = split({"fault=\"compile\""});
  ASSERT_TRUE(strict.set("select.on_compile_failed", "\"error\"").ok());
  const auto refused = try_session(mixed_model(), strict);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_string(), HasSubstr("'add'"));
}

/// Events of a Run by track and category.
std::map<std::string, int> count_events(runtime::Trace& trace) {
  std::map<std::string, int> out;
  for (const runtime::Trace::Event& event : trace.take()) ++out[event.provider + " " + event.category];
  return out;
}

TEST(Accelerator, AnIslandIsOneSubmissionAndOneWait) {
  const auto session = make_session(mixed_model(), split());
  ASSERT_NE(session, nullptr);
  runtime::Trace trace;
  session::RunOptions options;
  options.trace = &trace;
  run(*session, {{"x", f32({2, 2}, {1, 2, 3, 4})}}, options);
  const auto events = count_events(trace);
  // Two islands, each with its copies in and out on the stream; Softmax and Transpose between them. The host copies what
  // is the caller's: x and sum.
  EXPECT_EQ(events.at("accelerator/npu:0 enqueue"), 2);
  EXPECT_EQ(events.at("accelerator/npu:0 submit"), 2);
  EXPECT_EQ(events.at("accelerator/npu:0 wait"), 2);
  EXPECT_EQ(events.at(" copy"), 2);
  EXPECT_EQ(events.at("cpu/cpu:0 run"), 2);
}

TEST(Accelerator, TheTraceFileHoldsCompilesStepsAndCopies) {
  const std::string path =
      (std::filesystem::temp_directory_path() / str_cat("tenon-", runtime::current_process_id(), ".json"))
          .string();
  {
    config::Config config = split();
    ASSERT_TRUE(config.set("profiling.file", "\"" + path + "\"").ok());
    const auto session = make_session(mixed_model(), config);
    ASSERT_NE(session, nullptr);
    run(*session, {{"x", f32({2, 2}, {1, 2, 3, 4})}});
  }
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file);
  std::filesystem::remove(path);
  std::map<std::string, int> count;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "X") ++count[event["cat"].get<std::string>()];
  }
  EXPECT_EQ(count["compile"], 4) << "one for each part";
  EXPECT_EQ(count["run"], 2);
  EXPECT_EQ(count["enqueue"], 2);
  EXPECT_EQ(count["submit"], 2);
  EXPECT_EQ(count["wait"], 2);
  EXPECT_EQ(count["copy"], 2) << "x and sum";
  EXPECT_EQ(count["load"], 3) << "read, transform, partition and compile";
}

}  // namespace
}  // namespace tenon::test
