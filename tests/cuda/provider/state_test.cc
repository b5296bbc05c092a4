// State pairs: what a step of a decoder copies between host and device is its own token, however long the cache is.
#include "tests/cuda/provider/cuda_case.h"
#include "tests/unit/host/session/decoder_case.h"

namespace tenon::test {
namespace {

constexpr uint64_t kToken = 4 * sizeof(float);  // each of q, k and y
constexpr uint64_t kBesides = 64;               // reports of indices

TEST(CudaState, AStepCopiesItsTokenAndNothingElse) {
  const auto plain = make_session(decoder(), cuda_config({"cuda", "cpu"}));
  const auto session = make_session(decoder(), with_pairs(cuda_config({"cuda", "cpu"})));
  ASSERT_TRUE(plain != nullptr && session != nullptr);
  const auto explanation = explained(*session);
  for (const auto& node : explanation["nodes"]) EXPECT_EQ(node["provider"], "cuda") << node.dump();
  for (const int64_t prompt : {1, 100}) {
    SCOPED_TRACE(std::to_string(prompt) + " tokens");
    Text text(static_cast<unsigned>(prompt));
    Carried carried(plain);
    Kept kept(session);
    for (int turn = 0; turn <= 64; ++turn) {
      const auto inputs = text.next(turn == 0 ? prompt : 1);
      reset_cuda_calls();
      const std::vector<float> got = kept.step(inputs);
      const CudaCalls calls = cuda_calls();
      expect_near(got, carried.step(inputs));
      if (turn == 0) continue;
      // The first step also brings constants.
      const uint64_t up = calls.bytes_of("cuMemcpyHtoDAsync"), down = calls.bytes_of("cuMemcpyDtoHAsync");
      ASSERT_LE(up, 2 * kToken + kBesides) << "turn " << turn;
      ASSERT_LE(down, kToken + kBesides) << "turn " << turn;
      ASSERT_GT(up + down + static_cast<uint64_t>(calls.of("cuGraphLaunch")), 0u) << "nothing was counted";
    }
    EXPECT_EQ(dims(*kept.state().read(0)), dims(carried.past_k));
  }
}

}  // namespace
}  // namespace tenon::test
