// Two devices in one session: they copy to each other. The tests have entries of their own in tests/cuda/CMakeLists.txt, where the
// stand-ins have two devices that reach each other's memory (TENON_FAKE_CUDA_PEER), or do not.
#include <cstdlib>

#include "tests/cuda/provider/cuda_case.h"

namespace tenon::test {
namespace {

constexpr const char* kPlaces =
    R"([{match = {node = "a"}, provider = "cuda/gpu:0"}, {match = {node = "b"}, provider = "cuda/gpu:1"},
        {match = {node = "c"}, provider = "cuda/gpu:0"}, {match = {node = "d"}, provider = "cuda/gpu:1"}])";

TEST(CudaTwoDevices, OfOneSessionPassValuesToEachOther) {
  const char* const peers = std::getenv("TENON_FAKE_CUDA_PEER");
  ASSERT_NE(peers, nullptr)
      << "set TENON_FAKE_CUDA_DEVICES=2 and TENON_FAKE_CUDA_PEER, as the entries of ctest do";
  GraphMaker m;
  auto y = m.input("x", GraphMaker::f32({4, 8}));
  // All layers have the same weights, which each device uploads for itself.
  const auto w = m.constant("w", {8, 8}, spread(64));
  for (const std::string name : {"a", "b", "c", "d"}) y = m.node("MatMul", {y, w}, {}, name);
  m.output(y, "y");
  const ValueRef x = f32({4, 8}, spread(32));
  const std::vector<float> wanted = floats(run(*make_session(m.bytes()), {{"x", x}})[0]);

  config::Config config = cuda_config({"cuda/gpu:0", "cuda/gpu:1"});
  ASSERT_TRUE(config.set("placement", kPlaces).ok());
  const auto session = make_session(m.bytes(), config);
  ASSERT_NE(session, nullptr);
  const auto explanation = explained(*session);
  std::vector<std::string> instances;
  for (const auto& part : explanation["parts"]) instances.push_back(part["instance"]);
  EXPECT_EQ(instances, (std::vector<std::string>{"cuda/gpu:0", "cuda/gpu:1", "cuda/gpu:0", "cuda/gpu:1"}));
  // In, three times from one device to the other, and out.
  EXPECT_EQ(explanation["copies"].size(), 5u) << explanation["copies"].dump();
  reset_cuda_calls();
  for (int turn = 0; turn < 3; ++turn)
    expect_close(floats(run(*session, {{"x", x}})[0]), wanted, "turn " + std::to_string(turn));
  // Recorded or not, each is enqueued at least once.
  if (std::string(peers) == "1") {
    EXPECT_GE(cuda_calls().of("cuMemcpyPeerAsync"), 3);
    EXPECT_LE(cuda_calls().bytes_of("cuMemcpyDtoHAsync"), 3 * 32 * sizeof(float)) << "the host is in between";
  }
}

}  // namespace
}  // namespace tenon::test
