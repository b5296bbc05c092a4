// Two devices in one session. The loader lists a driver once for each file that names it, so lavapipe becomes two devices.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

namespace fs = std::filesystem;

class VulkanTwoDevices : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const fs::path folder = fs::path(::testing::TempDir()) / ("tenon_vulkan_" + std::to_string(getpid()));
    fs::create_directory(folder);
    std::string files;
    for (const auto& entry : fs::directory_iterator("/usr/share/vulkan/icd.d")) {
      if (!entry.path().filename().string().starts_with("lvp_icd")) continue;
      for (const char* name : {"first.json", "second.json"}) {
        fs::copy_file(entry.path(), folder / name, fs::copy_options::overwrite_existing);
        files += (files.empty() ? "" : ":") + (folder / name).string();
      }
      break;
    }
    ASSERT_FALSE(files.empty()) << "mesa-vulkan-drivers is not installed";
    // Read when the provider makes its Vulkan instance, which no other test of this process does before.
    setenv("VK_DRIVER_FILES", files.c_str(), 1);
    setenv("VK_ICD_FILENAMES", files.c_str(), 1);
  }
};

TEST_F(VulkanTwoDevices, OfOneSessionPassValuesToEachOther) {
  GraphMaker m;
  auto y = m.input("x", GraphMaker::f32({4, 8}));
  std::vector<float> weights(64);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i * 7 % 11) / 8 - 0.6f;
  // All layers have the same weights, which each device uploads for itself.
  const auto w = m.constant("w", {8, 8}, weights);
  for (const std::string name : {"a", "b", "c", "d"}) y = m.node("MatMul", {y, w}, {}, name);
  m.output(y, "y");
  std::vector<float> values(32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 16 - 1;
  const auto cpu = make_session(m.bytes());
  ASSERT_NE(cpu, nullptr);
  const std::vector<float> wanted = floats(run(*cpu, {{"x", f32({4, 8}, values)}})[0]);

  for (const std::string memory : {"shared", "device"}) {
    config::Config config = config_for({providers_dir()}, {"vulkan/cpu:0", "vulkan/cpu:1", "cpu"});
    ASSERT_TRUE(config.set("provider.vulkan.options.memory", memory).ok());
    ASSERT_TRUE(
        config
            .set(
                "placement",
                R"([{match = {node = "a"}, provider = "vulkan/cpu:0"}, {match = {node = "b"}, provider = "vulkan/cpu:1"},
                             {match = {node = "c"}, provider = "vulkan/cpu:0"}, {match = {node = "d"}, provider = "vulkan/cpu:1"}])")
            .ok());
    const auto session = make_session(m.bytes(), config);
    ASSERT_NE(session, nullptr);
    const auto explanation = explained(*session);
    std::vector<std::string> instances;
    for (const auto& part : explanation["parts"]) instances.push_back(part["instance"]);
    EXPECT_EQ(instances,
              (std::vector<std::string>{"vulkan/cpu:0", "vulkan/cpu:1", "vulkan/cpu:0", "vulkan/cpu:1"}))
        << explanation.dump();
    // In, three times from one device to the other, and out.
    EXPECT_EQ(explanation["copies"].size(), 5u) << memory << explanation["copies"].dump();
    for (int turn = 0; turn < 3; ++turn) {
      const std::vector<float> got = floats(run(*session, {{"x", f32({4, 8}, values)}})[0]);
      ASSERT_EQ(got.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5f) << memory << " " << i;
    }
  }
}

}  // namespace
}  // namespace tenon::test
