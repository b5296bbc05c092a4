// Providers of all kinds in one session.
#include <set>

#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

config::Config order(const std::vector<std::string>& providers, const std::string& memory) {
  config::Config config = config_for({providers_dir()}, providers);
  EXPECT_TRUE(config.set("provider.vulkan.options.memory", memory).ok());
  return config;
}

/// Four layers, each of which can run anywhere.
std::string layers() {
  GraphMaker m;
  auto y = m.input("x", GraphMaker::f32({4, 8}));
  for (const std::string name : {"a", "b", "c", "d"}) {
    std::vector<float> weights(64);
    for (size_t i = 0; i < 64; ++i) weights[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5) / 8;
    y = m.node("MatMul", {y, m.constant("w" + name, {8, 8}, weights)}, {}, name);
  }
  m.output(y, "y");
  return m.bytes();
}

ValueRef ramp() {
  std::vector<float> values(32);
  for (size_t i = 0; i < 32; ++i) values[i] = static_cast<float>(i) / 16 - 1;
  return f32({4, 8}, values);
}

TEST(VulkanTogether, FourProvidersInOneModel) {
  const auto cpu = make_session(layers());
  ASSERT_NE(cpu, nullptr);
  const std::vector<float> wanted = floats(run(*cpu, {{"x", ramp()}})[0]);
  for (const std::string memory : {"shared", "device"}) {
    config::Config config = order({"vulkan", "opencl", "onednn", "cpu"}, memory);
    ASSERT_TRUE(config.set("provider.onednn.options.claim", "all").ok());
    ASSERT_TRUE(
        config
            .set("placement",
                 R"([{match = {node = "a"}, provider = "onednn"}, {match = {node = "b"}, provider = "vulkan"},
                             {match = {node = "c"}, provider = "opencl"}, {match = {node = "d"}, provider = "cpu"}])")
            .ok());
    const auto session = make_session(layers(), config);
    ASSERT_NE(session, nullptr);
    std::set<std::string> providers;
    const auto explanation = explained(*session);
    for (const auto& node : explanation["nodes"]) providers.insert(node["provider"]);
    EXPECT_EQ(providers, (std::set<std::string>{"cpu", "onednn", "opencl", "vulkan"}));
    // Into and out of memory that Vulkan made; the others read the host's.
    EXPECT_EQ(explanation["copies"].size(), 2u) << explanation["copies"].dump();
    for (int turn = 0; turn < 3; ++turn) {
      const std::vector<float> got = floats(run(*session, {{"x", ramp()}})[0]);
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5f) << memory << " " << i;
    }
  }
}

}  // namespace
}  // namespace tenon::test
