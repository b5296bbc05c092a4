#include "tests/ops/op_cases.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "tenon/detail/dispatch.hpp"
#include "tests/support/paths.h"

namespace tenon::test {
namespace {

struct Tolerance {
  double relative, absolute;
};

Tolerance tolerance_of(uint32_t dtype) {
  switch (dtype) {
    case TENON_FLOAT64:
      return {1e-7, 1e-9};
    case TENON_FLOAT32:
      return {1e-5, 1e-6};
    case TENON_FLOAT16:
      return {2.5e-3, 1e-3};
    case TENON_BFLOAT16:
      return {2e-2, 1e-2};
    default:
      return {0, 0};
  }
}

bool close(double actual, double expected, Tolerance tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  return std::fabs(actual - expected) <= tolerance.absolute + tolerance.relative * std::fabs(expected);
}

template <class T>
double number(T x) {
  return static_cast<double>(static_cast<ep::Compute<T>>(x));
}

std::string tensor_difference(const Tensor& actual, const Tensor& expected) {
  std::ostringstream out;
  ep::dispatch(ep::kNumericTypes + ep::kBoolType + ep::kFloat8Types + ep::kSmallIntTypes + ep::kScalingTypes,
               expected.dtype, [&]<class T>() {
                 for (int64_t i = 0; i < expected.size() && out.str().empty(); ++i) {
                   const T a = ep::load_element<T>(actual.bytes.data(), i),
                           e = ep::load_element<T>(expected.bytes.data(), i);
                   const bool same =
                       ep::kIsInteger<T> ? a == e : close(number(a), number(e), tolerance_of(expected.dtype));
                   if (!same) out << "element " << i << " is " << +number(a) << ", expected " << +number(e);
                 }
               });
  return out.str();
}

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

/// Providers end before the statics of their drivers do.
class EndOfHosts : public testing::Environment {
 public:
  void TearDown() override { hosts().clear(); }
};
[[maybe_unused]] testing::Environment* const g_end_of_hosts =
    testing::AddGlobalTestEnvironment(new EndOfHosts);

bool load(const std::string& manifest) {
  try {
    hosts().push_back(std::make_unique<MiniHost>(manifest));
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

std::string difference(const Tensor& actual, const Tensor& expected) {
  if (actual.kind != expected.kind) return "kind " + std::to_string(actual.kind);
  if (expected.kind == TENON_KIND_NONE) return {};
  if (expected.kind != TENON_KIND_TENSOR) {
    if (actual.elements.size() != expected.elements.size())
      return std::to_string(actual.elements.size()) + " elements";
    for (size_t i = 0; i < expected.elements.size(); ++i) {
      const std::string text = difference(actual.elements[i], expected.elements[i]);
      if (!text.empty()) return "element " + std::to_string(i) + ": " + text;
    }
    return {};
  }
  if (actual.dtype != expected.dtype) return std::string("element type ") + ep::dtype_name(actual.dtype);
  if (actual.dims != expected.dims) return "shape " + ep::shape_text(actual.dims);
  if (expected.dtype != TENON_STRING) return tensor_difference(actual, expected);
  for (size_t i = 0; i < expected.strings.size(); ++i) {
    if (actual.strings[i] != expected.strings[i])
      return "element " + std::to_string(i) + " is '" + actual.strings[i] + "'";
  }
  return {};
}

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
