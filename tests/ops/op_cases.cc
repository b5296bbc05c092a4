#include "tests/ops/op_cases.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/ops/hostile_rows.h"
#include "tests/support/paths.h"

namespace tenon::test {
namespace {

std::vector<std::unique_ptr<MiniHost>>& hosts() {
  static std::vector<std::unique_ptr<MiniHost>> list;
  return list;
}

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
      if (actual.size() != row_.outputs.size()) {
        ADD_FAILURE() << actual.size() << " outputs, where " << row_.outputs.size() << " are expected ("
                      << how << ")\n"
                      << place();
        return;
      }
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
    } catch (const CallFailed& failed) {
      // Each provider has words of its own; the row's are those of the one that completes the others.
      EXPECT_NE(failed.status, TENON_INTERNAL) << failed.what() << "\n" << place();
      const std::string part = hosts()[provider_]->completes() ? row_.error : "";
      EXPECT_NE(std::string(failed.what()).find(part), std::string::npos) << failed.what() << "\n" << place();
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
    const uint64_t limit = is_hostile_process() ? kHostileMemory : 0;
    hosts().push_back(std::make_unique<MiniHost>(manifest, options(), limit));
    return true;
  } catch (const std::exception& e) {
    const std::string text = e.what();
    testing::RegisterTest("Load", manifest.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [text]() -> testing::Test* { return new LoadFailure(text); });
    return false;
  }
}

void add_claims_test(const std::string& provider);

/// Whether a provider has a device wherever tests run. cuda has one only where its stand-ins are in the loader's way.
bool needs_no_name(const std::string& manifest) {
  return std::filesystem::path(manifest).filename() != "cuda.tenon.json";
}

/// The providers that are built, or the manifest that TENON_OPS_MANIFEST names. Loaded once, in order.
const std::vector<std::string>& providers() {
  static const std::vector<std::string> ids = [] {
    const char* chosen = std::getenv("TENON_OPS_MANIFEST");
    std::vector<std::string> out;
    for (const std::string& path :
         chosen != nullptr ? std::vector<std::string>{chosen} : manifests_in(providers_dir())) {
      if (chosen == nullptr && !needs_no_name(path)) continue;
      if (!load(path)) continue;
      out.push_back(hosts().back()->provider());
      add_contracts_test(*hosts().back());
      add_claims_test(out.back());
    }
    return out;
  }();
  return ids;
}

/// The rows that each provider claims, "Conv_11.bias"; of one that completes the others, those of operators that the host
/// lowers. By provider.
std::map<std::string, std::set<std::string>>& claimed() {
  static std::map<std::string, std::set<std::string>> rows;
  return rows;
}

/// tests/ops/claimed_<provider>.txt, with the options of the instances in its name.
std::string claims_file(const std::string& provider) {
  std::string name = provider;
  for (const std::string& option : options()) name += "_" + option;
  std::replace(name.begin(), name.end(), '=', '_');
  return source_dir() + "/tests/ops/claimed_" + name + ".txt";
}

/// A provider that claims other rows than the checked-in list says has lost tests, or gained some that nobody knows of.
class ClaimsTest : public testing::Test {
 public:
  explicit ClaimsTest(std::string provider) : provider_(std::move(provider)) {}

  void TestBody() override {
    const std::string path = claims_file(provider_);
    const std::set<std::string>& now = claimed()[provider_];
    if (std::getenv("TENON_WRITE_CLAIMS") != nullptr) {
      std::ofstream out(path);
      for (const std::string& row : now) out << row << "\n";
      ASSERT_TRUE(out.good()) << path;
      return;
    }
    std::ifstream in(path);
    std::set<std::string> listed;
    for (std::string row; std::getline(in, row);) listed.insert(row);
    ASSERT_TRUE(in.eof()) << path << " cannot be read\n" << cure();
    EXPECT_EQ(difference_of(listed, now), "") << "are claimed no longer\n" << cure();
    EXPECT_EQ(difference_of(now, listed), "") << "are claimed and not listed\n" << cure();
  }

 private:
  static std::string difference_of(const std::set<std::string>& all, const std::set<std::string>& others) {
    std::string out;
    for (const std::string& row : all) out += others.count(row) == 0 ? row + "\n" : "";
    return out;
  }
  std::string cure() const {
    return "when that is meant: TENON_WRITE_CLAIMS=1 ops_tests --gtest_filter=claims." + provider_ +
           " writes the list anew";
  }
  std::string provider_;
};

void add_claims_test(const std::string& provider) {
  testing::RegisterTest("claims", provider.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [=]() -> testing::Test* { return new ClaimsTest(provider); });
}

/// One row for one provider.
void add_row(size_t p, const OpTable& table, bool fails, const OpCase& row, size_t number) {
  const std::string op = table.op_type + "_" + std::to_string(table.since_version);
  MiniHost& host = *hosts()[p];
  // A provider that need not have a kernel is asked first: it has the tests of what it takes.
  const NodeCase node{table.op_type,  table.domain, table.since_version,
                      row.attributes, row.inputs,   row.outputs};
  if ((!host.completes() || table.is_lowered) && !host.claims(node)) return;
  if (!host.completes() || table.is_lowered) claimed()[host.provider()].insert(op + "." + row.name);
  testing::RegisterTest((host.provider() + "/" + op).c_str(), row.name.c_str(), nullptr, nullptr, table.file,
                        table.line, [=]() -> testing::Test* { return new OpTest(p, table, row, fails); });
  if (!fails) add_hostile_row(host, table, row, number);
}

}  // namespace

bool add_op_cases(const OpTable& table, bool fails, std::vector<OpCase> cases) {
  static size_t number = 0;
  for (const OpCase& row : cases) {
    for (size_t p = 0; p < providers().size(); ++p) add_row(p, table, fails, row, number);
    ++number;
  }
  return true;
}

}  // namespace tenon::test
