// The stand-in answers what NVIDIA's library answers without a device: versions, texts, descriptors' rules.
#include "tests/cuda/local/answers.h"

namespace {

TEST(CublasLtAnswers, AreThoseRecordedOfNvidia) {
  answers::expect_same(answers::ask_stand_in("ask_cublaslt"), answers::recorded("answers.txt"));
}

#ifdef NVIDIA
TEST(CublasLtAnswers, OfNvidiaAreStillThose) {
  answers::expect_same(answers::ask_nvidia("ask_cublaslt"), answers::recorded("answers.txt"));
}
#endif

}  // namespace
