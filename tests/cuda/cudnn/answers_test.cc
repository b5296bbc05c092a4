// The stand-in answers what NVIDIA's library answers without a device: about descriptors, and which graphs have engines.
#include "tests/cuda/local/answers.h"

namespace {

TEST(CudnnAnswers, AboutDescriptorsAreThoseRecordedOfNvidia) {
  answers::expect_same(answers::ask_stand_in("ask_cudnn"), answers::recorded("descriptors.txt"));
}

/// Heuristics of NVIDIA's library name an engine for these that then does not do them.
const answers::Lines kNamedInVain = {"bfloat, nhwc, three channels, bias addend relu,",
                                     "bfloat, nhwc, three channels, relu,"};

class CudnnEngines : public testing::TestWithParam<const char*> {};

TEST_P(CudnnEngines, ForGraphsAreThoseRecordedOfNvidia) {
  const std::string version = GetParam();
  answers::expect_same(answers::ask_stand_in("ask_engines", version),
                       answers::recorded("engines_" + version + ".txt"), kNamedInVain);
}
INSTANTIATE_TEST_SUITE_P(Versions, CudnnEngines, testing::Values("750", "800", "900"));

#ifdef NVIDIA
TEST(CudnnAnswers, AboutDescriptorsOfNvidiaAreStillThose) {
  answers::expect_same(answers::ask_nvidia("ask_cudnn"), answers::recorded("descriptors.txt"));
}

TEST(CudnnAnswers, AboutEnginesOfNvidiaAreStillThose) {
  answers::expect_same(answers::ask_nvidia("ask_engines", "900"), answers::recorded("engines_900.txt"));
}
#endif

}  // namespace
