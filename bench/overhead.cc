// The overhead of a Run beside the arithmetic. Chains of 1, 10 and 100 Adds of one element, each with its own
// run-time operand, run through bound slots and by name. Nothing can be folded or fused, so the plan has one
// step per Add.
//
// And the host's time for an island of 200 nodes on the tests' fake accelerator, whose times say nothing of a device: the
// time of a Run without the time within the provider's functions, the median of all Runs.
//
//   build/release/bin/tenon_bench --benchmark_filter=Overhead --benchmark_repetitions=5
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"
#ifdef TENON_FAKES_DIR
#include "tests/fakes/accelerator/counters.h"
#endif

namespace {

// Writes protobuf by hand, so that the benchmark needs no ONNX library, as an application of Tenon does not.
std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string number(int field, uint64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(value);
}
std::string bytes(int field, const std::string& content) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}

/// A ValueInfoProto: a name and the type float[1].
std::string value_info(const std::string& name) {
  const std::string shape = bytes(1, number(1, 1));                   // one dim of value 1
  const std::string type = bytes(1, number(1, 1) + bytes(2, shape));  // tensor_type: FLOAT, shape
  return bytes(1, name) + bytes(2, type);
}

/// y = x + a0 + a1 + ..., or x + x + x + ... if `own_operands` is false.
std::string chain_model(int length, bool own_operands = true) {
  std::string graph, inputs = bytes(11, value_info("x"));
  std::string last = "x";
  for (int i = 0; i < length; ++i) {
    const std::string operand = own_operands ? "a" + std::to_string(i) : "x";
    const std::string sum = i + 1 == length ? "y" : "s" + std::to_string(i);
    graph += bytes(1, bytes(1, last) + bytes(1, operand) + bytes(2, sum) +
                          bytes(3, "add" + std::to_string(i)) + bytes(4, "Add"));
    if (own_operands) inputs += bytes(11, value_info(operand));
    last = sum;
  }
  graph += bytes(2, "chain") + inputs + bytes(12, value_info("y"));
  const std::string opset = bytes(1, "") + number(2, 21);
  return number(1, 10) + bytes(7, graph) + bytes(8, opset);
}

tenon::Value one_element(float value) { return tenon::Value::tensor<float>({1}, {value}); }

/// A session, checked to have one step per Add.
class Chain {
 public:
  explicit Chain(int length) : session_(make(length)) {
    for (int i = 0; i <= length; ++i) inputs_.push_back(one_element(static_cast<float>(i)));
  }
  tenon::Session& session() { return session_; }
  std::vector<tenon::Value>& inputs() { return inputs_; }

 private:
  static tenon::Session make(int length) {
    const std::string model = chain_model(length);
    return tenon::Session::from_memory(model.data(), model.size());
  }
  tenon::Session session_;
  std::vector<tenon::Value> inputs_;
};

size_t count_steps(const tenon::Session& session) {
  const std::string plan = session.describe(TENON_DESCRIBE_PLAN);
  size_t steps = 0;
  for (size_t at = plan.find("\"kind\":\"run\""); at != std::string::npos;
       at = plan.find("\"kind\":\"run\"", at + 1))
    ++steps;
  return steps;
}

void OverheadSlots(benchmark::State& state) {
  const int length = static_cast<int>(state.range(0));
  Chain chain(length);
  tenon::Slots slots(chain.session());
  for (uint32_t i = 0; i < chain.inputs().size(); ++i) slots.bind_input(i, chain.inputs()[i].describe());
  slots.run();
  if (count_steps(chain.session()) != static_cast<size_t>(length)) {
    state.SkipWithError("the plan has another number of steps");
    return;
  }
  const tenon_api& api = tenon::api();
  for (auto _ : state) {
    if (api.slots_run(slots.get(), nullptr, nullptr) != TENON_OK) state.SkipWithError("a Run failed");
  }
  const float* y = static_cast<const float*>(slots.output(0).data);
  if (*y != static_cast<float>(length * (length + 1) / 2)) state.SkipWithError("the result is wrong");
  state.counters["steps"] = length;
}
BENCHMARK(OverheadSlots)->Arg(1)->Arg(10)->Arg(100);

void OverheadByName(benchmark::State& state) {
  const int length = static_cast<int>(state.range(0));
  Chain chain(length);
  std::vector<tenon::NamedValue> inputs = {{"x", chain.inputs()[0]}};
  for (int i = 0; i < length; ++i)
    inputs.push_back({"a" + std::to_string(i), chain.inputs()[static_cast<size_t>(i) + 1]});
  for (auto _ : state) benchmark::DoNotOptimize(chain.session().run(inputs));
  state.counters["steps"] = length;
}
BENCHMARK(OverheadByName)->Arg(1)->Arg(10)->Arg(100);

#ifdef TENON_FAKES_DIR
/// Each node is a claim of its own. The first Run records the island.
void OverheadIsland(benchmark::State& state) {
  const int length = static_cast<int>(state.range(0));
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tenon-bench." + std::to_string(::getpid()));
  const accelerator::CounterFile file(path.string());
  const std::string model = chain_model(length, false);
  tenon::Config config;
  config.set("discovery.search", "[\"" TENON_FAKES_DIR "/accelerator\"]");
  config.set("select.order", "[\"accelerator/npu:0\"]");
  config.set("provider.accelerator.options.max_nodes", "1");
  config.set("provider.accelerator.options.latency_us", "0");
  config.set("provider.accelerator.options.counters", "\"" + path.string() + "\"");
  const tenon::Session session = tenon::Session::from_memory(model.data(), model.size(), &config);
  tenon::Slots slots(session);
  const tenon::Value x = one_element(1);
  slots.bind_input(0, x.describe());
  slots.run();
  const accelerator::Counters& counters = file.counters();
  const uint64_t runs_before = counters.recording_runs;
  const tenon_api& api = tenon::api();
  std::vector<double> host_ns;  // per Run: one that the system interrupts between two calls says nothing
  for (auto _ : state) {
    const uint64_t inside_before = counters.inside_ns;
    const auto begin = std::chrono::steady_clock::now();
    if (api.slots_run(slots.get(), nullptr, nullptr) != TENON_OK) state.SkipWithError("a Run failed");
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    host_ns.push_back(took.count() - static_cast<double>(counters.inside_ns - inside_before));
  }
  if (counters.recording_runs - runs_before != static_cast<uint64_t>(state.iterations()) ||
      counters.recorded_runs != static_cast<uint64_t>(length))
    state.SkipWithError("a Run is not one recording");
  if (*static_cast<const float*>(slots.output(0).data) != static_cast<float>(length + 1))
    state.SkipWithError("the result is wrong");
  const auto middle = host_ns.begin() + static_cast<std::ptrdiff_t>(host_ns.size() / 2);
  std::nth_element(host_ns.begin(), middle, host_ns.end());
  state.counters["host_ns"] = *middle;
  std::filesystem::remove(path);
}
BENCHMARK(OverheadIsland)->Arg(1)->Arg(200);
#endif

}  // namespace
