// Providers of all kinds in one session.
#include <set>

#include "tests/cuda/provider/cuda_case.h"

namespace tenon::test {
namespace {

/// Five layers, each of which can run anywhere.
std::string layers() {
  GraphMaker m;
  auto y = m.input("x", GraphMaker::f32({4, 8}));
  for (const std::string name : {"a", "b", "c", "d", "e"})
    y = m.node("MatMul", {y, m.constant("w" + name, {8, 8}, spread(64))}, {}, name);
  m.output(y, "y");
  return m.bytes();
}

constexpr const char* kPlaces =
    R"([{match = {node = "a"}, provider = "onednn"}, {match = {node = "b"}, provider = "vulkan"},
        {match = {node = "c"}, provider = "cuda"}, {match = {node = "d"}, provider = "opencl"},
        {match = {node = "e"}, provider = "cpu"}])";

TEST(CudaTogether, FiveProvidersInOneModel) {
  const ValueRef x = f32({4, 8}, spread(32));
  const std::vector<float> wanted = floats(run(*make_session(layers()), {{"x", x}})[0]);
  for (const std::string memory : {"shared", "device"}) {
    config::Config config = cuda_config({"cuda", "vulkan", "opencl", "onednn", "cpu"});
    ASSERT_TRUE(config.set("provider.onednn.options.claim", "all").ok());
    ASSERT_TRUE(config.set("provider.vulkan.options.memory", memory).ok());
    ASSERT_TRUE(config.set("placement", kPlaces).ok());
    const auto session = make_session(layers(), config);
    ASSERT_NE(session, nullptr);
    std::set<std::string> providers;
    const auto explanation = explained(*session);
    for (const auto& node : explanation["nodes"]) providers.insert(node["provider"]);
    EXPECT_EQ(providers, (std::set<std::string>{"cpu", "cuda", "onednn", "opencl", "vulkan"}));
    // Into memory that Vulkan made, from there into the GPU's, and out of it; the others read the host's.
    EXPECT_EQ(explanation["copies"].size(), 3u) << memory << explanation["copies"].dump();
    for (int turn = 0; turn < 3; ++turn) expect_close(floats(run(*session, {{"x", x}})[0]), wanted, memory);
  }
}

}  // namespace
}  // namespace tenon::test
