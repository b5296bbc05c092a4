#include "tests/ops/op_cases.h"

#include <gtest/gtest.h>

#include "tests/support/paths.h"

namespace tenon::test {
namespace {

std::vector<std::unique_ptr<MiniHost>>& hosts() {
  static std::vector<std::unique_ptr<MiniHost>> list;
  return list;
}

/// Closes all providers before the process ends, while their drivers still work.
class CloseHosts : public testing::Environment {
 public:
  void TearDown() override { hosts().clear(); }
};
[[maybe_unused]] const testing::Environment* const kCloseHosts =
    testing::AddGlobalTestEnvironment(new CloseHosts);

class OpTest : public testing::Test {
 public:
  OpTest(size_t provider, OpTable table, OpCase row, bool fails)
      : provider_(provider), table_(std::move(table)), row_(std::move(row)), fails_(fails) {}

  void TestBody() override {
    const NodeCase node = make_node();
    if (fails_) return expect_failure(node);
    check(node, Placement::kApart, "run-time inputs");
    NodeCase constants = node;
    for (size_t i = 1; i < constants.inputs.size(); ++i) {
      if (constants.inputs[i].kind == TENON_KIND_TENSOR) constants.inputs[i].constant = true;
    }
    check(constants, Placement::kApart, "constant inputs");
    check(node, Placement::kShared, "outputs over inputs");
    if (!hosts()[provider_]->completes()) return;
    watch(node, "run-time inputs");
    watch(constants, "constant inputs");
  }

 private:
  NodeCase make_node() const {
    return {table_.op_type, table_.domain, table_.since_version, row_.attributes, row_.inputs, row_.outputs};
  }

  std::string place() const {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    return std::string("reproduce: ops_tests --gtest_filter=") + info->test_suite_name() + "." +
           info->name() + "\n" + table_.file + ":" + std::to_string(table_.line);
  }

  void check(const NodeCase& node, Placement placement, const char* how) const {
    try {
      const std::vector<Tensor> actual = hosts()[provider_]->run(node, placement);
      for (size_t i = 0; i < actual.size(); ++i) {
        const std::string text = difference(actual[i], row_.outputs[i]);
        if (!text.empty()) ADD_FAILURE() << "output " << i << ": " << text << " (" << how << ")\n" << place();
      }
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what() << " (" << how << ")\n" << place();
    }
  }

  /// Rule R41.
  void watch(const NodeCase& node, const char* how) const {
    try {
      const Watched seen = hosts()[provider_]->watch_run(node);
      if (seen.allocations != 0 || seen.locks != 0) {
        ADD_FAILURE() << "R41: the third Run takes memory " << seen.allocations << " times and a mutex "
                      << seen.locks << " times (" << how << ")\n"
                      << place();
      }
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what() << " (" << how << ", watched)\n" << place();
    }
  }

  void expect_failure(const NodeCase& node) const {
    try {
      hosts()[provider_]->run(node, Placement::kApart);
      ADD_FAILURE() << "no error\n" << place();
    } catch (const std::exception& e) {
      EXPECT_NE(std::string(e.what()).find(row_.error), std::string::npos) << e.what() << "\n" << place();
    }
  }

  size_t provider_;
  OpTable table_;
  OpCase row_;
  bool fails_;
};

/// A library that does not load is a test that fails, not the end of all others.
class LoadFailure : public testing::Test {
 public:
  explicit LoadFailure(std::string text) : text_(std::move(text)) {}
  void TestBody() override { ADD_FAILURE() << text_; }

 private:
  std::string text_;
};

/// TENON_OPS_OPTIONS: options for the instances, "name=text", separated by spaces.
std::vector<std::string> options() {
  const char* given = std::getenv("TENON_OPS_OPTIONS");
  std::istringstream words(given == nullptr ? "" : given);
  std::vector<std::string> out;
  for (std::string word; words >> word;) out.push_back(word);
  return out;
}

/// Providers end before the statics of their drivers do.
class EndOfHosts : public testing::Environment {
 public:
  void TearDown() override { hosts().clear(); }
};
[[maybe_unused]] testing::Environment* const g_end_of_hosts =
    testing::AddGlobalTestEnvironment(new EndOfHosts);

bool load(const std::string& manifest) {
  try {
    hosts().push_back(std::make_unique<MiniHost>(manifest, options()));
    return true;
  } catch (const std::exception& e) {
    const std::string text = e.what();
    testing::RegisterTest("Load", manifest.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [text]() -> testing::Test* { return new LoadFailure(text); });
    return false;
  }
}

/// The providers that are built, or the manifest that TENON_OPS_MANIFEST names. Loaded once, in order.
const std::vector<std::string>& providers() {
  static const std::vector<std::string> ids = [] {
    const char* chosen = std::getenv("TENON_OPS_MANIFEST");
    std::vector<std::string> out;
    for (const std::string& path :
         chosen != nullptr ? std::vector<std::string>{chosen} : manifests_in(providers_dir())) {
      if (load(path)) out.push_back(hosts().back()->provider());
    }
    return out;
  }();
  return ids;
}

}  // namespace

bool add_op_cases(const OpTable& table, bool fails, std::vector<OpCase> cases) {
  for (size_t p = 0; p < providers().size(); ++p) {
    const std::string suite =
        providers()[p] + "/" + table.op_type + "_" + std::to_string(table.since_version);
    for (const OpCase& row : cases) {
      // A provider that does not complete the others is asked first: it has the tests of what it takes.
      const NodeCase node{table.op_type,  table.domain, table.since_version,
                          row.attributes, row.inputs,   row.outputs};
      if (!hosts()[p]->completes() && (fails || !hosts()[p]->claims(node))) continue;
      testing::RegisterTest(suite.c_str(), row.name.c_str(), nullptr, nullptr, table.file, table.line,
                            [=]() -> testing::Test* { return new OpTest(p, table, row, fails); });
    }
  }
  return true;
}

}  // namespace tenon::test
