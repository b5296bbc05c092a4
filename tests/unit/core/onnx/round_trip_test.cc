// Every model at hand: what is loaded, saved and loaded again is the same.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "core/onnx/onnx.h"
#include "tests/support/paths.h"

namespace tenon::onnx {
namespace {

namespace fs = std::filesystem;

std::string text_of(const ir::Model& model) {
  std::string text = to_text(model.graph);
  for (const ir::Function& function : model.functions) text += to_text(function.body);
  for (const auto& [key, value] : model.metadata) text += key + "=" + value + "\n";
  for (const auto& [domain, version] : model.opset_imports)
    text += domain + ":" + std::to_string(version) + "\n";
  return text + std::to_string(model.ir_version);
}

/// Where the models of other projects are; see tools/test.
fs::path shared_models() {
  const char* folder = std::getenv("TENON_TEST_DATA");
  return (folder ? fs::path(folder) : fs::path(test::source_dir()) / ".." / "shared") / "models";
}

void expect_round_trip(const fs::path& path) {
  SCOPED_TRACE(path.string());
  auto model = load(path.string());
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  Status sound = verify(model->graph);
  EXPECT_TRUE(sound.ok()) << sound.to_string();
  auto bytes = save_bytes(*model);
  ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
  auto again = load_bytes(bytes->data(), bytes->size());
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(text_of(*again), text_of(*model));
}

/// `count` models are expected below the folder.
void expect_round_trips(const fs::path& folder, size_t count) {
  if (!fs::is_directory(folder)) {
    std::cout << "not run: " << count << " models (" << folder.string() << " is absent)\n";
    GTEST_SKIP();
  }
  size_t found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    ++found;
    expect_round_trip(entry.path());
  }
  EXPECT_GE(found, count);
}

TEST(RoundTrip, OurOwnModel) {
  expect_round_trip(fs::path(test::source_dir()) / "tests/data/digits/digits.onnx");
}

TEST(RoundTrip, PublishedModels) { expect_round_trips(shared_models(), 35); }

TEST(RoundTrip, NodeCases) {
  expect_round_trips(fs::path(test::source_dir()) / "build/conformance/node", 1884);
}

}  // namespace
}  // namespace tenon::onnx
