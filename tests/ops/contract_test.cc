// The contracts of all kernels can be read, whether a test compiles a node of theirs or not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tenon/ep.hpp"
#include "tests/support/paths.h"

namespace tenon::test {
namespace {

// As in tests/tools/contracts_test.py.
const std::vector<std::string> kFolders{"plugins/cpu/kernels"};

/// The texts of `.contract = "..." "..."` in a source.
std::vector<std::string> contracts_in(const std::string& source) {
  static const std::regex kField(R"re(\.contract\s*=\s*("[^"]*"(?:[\s\\]*"[^"]*")*))re"),
      kLiteral("\"([^\"]*)\"");
  std::vector<std::string> out;
  for (std::sregex_iterator field(source.begin(), source.end(), kField), end; field != end; ++field) {
    const std::string literals = (*field)[1];
    out.emplace_back();
    for (std::sregex_iterator part(literals.begin(), literals.end(), kLiteral); part != end; ++part)
      out.back() += (*part)[1];
  }
  return out;
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

TEST(Contracts, AllCanBeRead) {
  int count = 0;
  for (const std::string& folder : kFolders) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(source_dir() + "/" + folder)) {
      const std::string extension = file.path().extension();
      if (extension != ".cc" && extension != ".h") continue;
      for (const std::string& text : contracts_in(read(file.path()))) {
        ++count;
        try {
          const ep::Contract contract(text, [](std::string_view, int64_t otherwise) { return otherwise; });
          EXPECT_EQ(text.empty(), contract.inputs().empty()) << text;
        } catch (const ep::Error& e) {
          ADD_FAILURE() << file.path() << ": " << e.text;
        }
      }
    }
  }
  EXPECT_GE(count, 100);
}

TEST(Contracts, TextsAreJoined) {
  const std::string source =
      "TENON_KERNEL(A, .op_type = \"A\",\n  .contract = \"X: any; \"\n \"Y: = X\")  \\\n"
      "TENON_KERNEL(B, .contract = \"\")";
  EXPECT_EQ(contracts_in(source), (std::vector<std::string>{"X: any; Y: = X", ""}));
}

}  // namespace
}  // namespace tenon::test
