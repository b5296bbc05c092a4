// The tests of hostile rows, and the process that they run in.
#include "tests/ops/hostile_rows.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ep-sdk/cts/child.h"
#include "tenon/ep/negotiate.hpp"
#include "tests/support/paths.h"

namespace tenon::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kWorker = "TENON_HOSTILE_WORKER";
constexpr const char* kVariant = "TENON_HOSTILE_VARIANT";
constexpr const char* kManifest = "TENON_OPS_MANIFEST";
constexpr bool kIsSanitized = ep::own_sanitizer() != TENON_SANITIZER_NONE;
constexpr double kRowSeconds = kIsSanitized ? 300 : 60;
constexpr int kMostCrashes = 6;  // of one row

struct Row {
  MiniHost* host;
  NodeCase node;
};

/// By number.
std::map<size_t, Row>& rows() {
  static std::map<size_t, Row> all;
  return all;
}

const std::vector<StatedKernel>& kernels_of(const MiniHost& host) {
  static std::map<const MiniHost*, std::vector<StatedKernel>> known;
  const auto at = known.find(&host);
  return at != known.end() ? at->second : known[&host] = stated_kernels(host);
}

struct Plan {
  bool is_covered = false;
  std::vector<Variant> variants;
};

Plan plan_of(const MiniHost& host, const NodeCase& node) {
  const auto contracts = contracts_of(kernels_of(host), node);
  return {contracts.has_value(), variants_of(node, contracts.value_or(std::vector<ep::Contract>()))};
}

/// Sets an environment variable while it lives.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Setting() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

std::unique_ptr<Child> start_worker(const std::string& manifest) {
  const Setting worker(kWorker, "1"), chosen(kManifest, manifest), report("GTEST_OUTPUT", "");
  const Setting shards("GTEST_TOTAL_SHARDS", "1"),
      shard("GTEST_SHARD_INDEX", "0");  // else only one shard has the worker
  return std::make_unique<Child>(std::vector<std::string>{"--gtest_filter=DISABLED_HostileWorker.Serves",
                                                          "--gtest_also_run_disabled_tests"});
}

/// One process per provider.
std::unique_ptr<Child>& worker_of(const std::string& manifest) {
  static std::map<std::string, std::unique_ptr<Child>> workers;
  std::unique_ptr<Child>& out = workers[manifest];
  if (out == nullptr) out = start_worker(manifest);
  return out;
}

struct Verdict {
  bool is_covered = false;
  int variants = 0;
  std::vector<std::pair<int, std::string>> failures;  // of which variant
};

void read_answer(const std::string& line, Verdict& verdict) {
  const Json json = Json::parse(line);
  verdict.is_covered = json.at("covered");
  verdict.variants = json.at("variants");
  for (const Json& failure : json.at("failures")) verdict.failures.emplace_back(failure.at(0), failure.at(1));
}

/// All variants of a row, in its provider's process, which begins anew after each that crashes.
Verdict ask_worker(const std::string& manifest, size_t number) {
  Verdict verdict;
  int next = 0;
  for (int crashes = 0; crashes < kMostCrashes; ++crashes) {
    std::unique_ptr<Child>& worker = worker_of(manifest);
    worker->send(std::to_string(number) + " " + std::to_string(next));
    const std::optional<std::string> line = worker->receive(kRowSeconds);
    if (line) {
      read_answer(*line, verdict);
      return verdict;
    }
    const bool ended = worker->finish(0.2);
    int at = -1;
    std::istringstream(worker->last_activity()) >> at;
    const std::string how =
        ended ? worker->obituary() : "no answer within " + std::to_string(kRowSeconds) + " s";
    const std::string words = worker->last_words();
    verdict.failures.emplace_back(at,
                                  worker->last_activity() + ": " + how + (words.empty() ? "" : "; " + words));
    worker.reset();
    next = at + 1;
  }
  verdict.failures.emplace_back(next, "and more of them");
  return verdict;
}

class HostileTest : public testing::Test {
 public:
  HostileTest(MiniHost& host, OpTable table, NodeCase node, size_t number)
      : host_(host), table_(std::move(table)), node_(std::move(node)), number_(number) {}

  void TestBody() override {
    if (const char* only = std::getenv(kVariant)) return run_here(static_cast<size_t>(std::atoi(only)));
    const Verdict verdict = ask_worker(host_.manifest(), number_);
    for (const auto& [variant, text] : verdict.failures) ADD_FAILURE() << text << "\n" << place(variant);
    if (verdict.failures.empty() && !verdict.is_covered)
      GTEST_SKIP() << "the kernel states no contract; " << verdict.variants << " variants did no harm";
  }

 private:
  void run_here(size_t variant) const {
    const Plan plan = plan_of(host_, node_);
    ASSERT_LT(variant, plan.variants.size());
    std::cout << plan.variants[variant].text << std::endl;
    const std::string text = try_variant(host_, plan.variants[variant]);
    EXPECT_EQ(text, "") << place(static_cast<int>(variant));
  }

  std::string place(int variant) const {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    return std::string("reproduce: ") + kVariant + "=" + std::to_string(variant) +
           " ops_tests --gtest_filter=" + info->test_suite_name() + "." + info->name() + "\n" + table_.file +
           ":" + std::to_string(table_.line);
  }

  MiniHost& host_;
  OpTable table_;
  NodeCase node_;
  size_t number_;
};

/// Requests that nobody can serve fail at once, instead of filling the machine. Sanitizers need the whole address space.
void limit_memory() {
  if (kIsSanitized) return;
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS,
            &limit);  // the hard limit stays: what stands in for a device is a child that lifts its own
  limit.rlim_cur = pages * 4096 + (rlim_t{4} << 30);
  setrlimit(RLIMIT_AS, &limit);
}

std::string serve(const Row& row, size_t first) {
  const Plan plan = plan_of(*row.host, row.node);
  Json failures = Json::array();
  for (size_t v = first; v < plan.variants.size(); ++v) {
    const Variant& variant = plan.variants[v];
    report_activity(std::to_string(v) + " (" + variant.text + ")");
    const std::string text = try_variant(*row.host, variant);
    if (!text.empty()) failures.push_back({v, variant.text + ": " + text});
  }
  return Json{{"covered", plan.is_covered}, {"variants", plan.variants.size()}, {"failures", failures}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

/// A worker: rows come in by number, verdicts go out.
TEST(DISABLED_HostileWorker, Serves) {
  if (std::getenv(kWorker) == nullptr) GTEST_SKIP() << "this is what other tests start a process for";
  limit_memory();
  for (size_t number, first; std::cin >> number >> first;) say(serve(rows().at(number), first));
}

/// Every kernel of a library states a contract that can be read.
class ContractsTest : public testing::Test {
 public:
  explicit ContractsTest(const MiniHost& host) : host_(host) {}

  void TestBody() override {
    for (const StatedKernel& kernel : stated_kernels(host_)) {
      const std::string name = host_.provider() + " " + kernel.domain + (kernel.domain.empty() ? "" : ".") +
                               kernel.op_type + " since " + std::to_string(kernel.since);
      EXPECT_FALSE(kernel.contract.empty())
          << name << " states no contract; write it beside TENON_KERNEL, see contract.hpp";
      EXPECT_NO_THROW(
          ep::Contract(kernel.contract, [](std::string_view, int64_t otherwise) { return otherwise; }))
          << name << ": " << kernel.contract;
    }
  }

 private:
  const MiniHost& host_;
};

}  // namespace

void add_contracts_test(MiniHost& host) {
  const MiniHost* const known = &host;
  testing::RegisterTest("contracts", host.provider().c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [=]() -> testing::Test* { return new ContractsTest(*known); });
}

bool is_hostile_process() { return std::getenv(kWorker) != nullptr || std::getenv(kVariant) != nullptr; }

void add_hostile_row(MiniHost& host, const OpTable& table, const OpCase& row, size_t number) {
  const NodeCase node{table.op_type,  table.domain, table.since_version,
                      row.attributes, row.inputs,   row.outputs};
  rows()[number] = {&host, node};
  const std::string suite =
      "hostile/" + host.provider() + "/" + table.op_type + "_" + std::to_string(table.since_version);
  MiniHost* const known = &host;
  testing::RegisterTest(suite.c_str(), row.name.c_str(), nullptr, nullptr, table.file, table.line,
                        [=]() -> testing::Test* { return new HostileTest(*known, table, node, number); });
}

}  // namespace tenon::test
