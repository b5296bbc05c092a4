// Sessions on the provider cuda, and the calls that they make.
#pragma once

#include <cmath>

#include "tests/cuda/provider/interposed.h"
#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {

inline config::Config cuda_config(const std::vector<std::string>& order = {"cuda"},
                                  const std::vector<std::string>& options = {}) {
  config::Config config = config_for({providers_dir()}, order);
  for (const std::string& option : options) {
    const Status status = assign(config, "provider.cuda." + option);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  return config;
}

/// Numbers that are neither all the same nor all positive.
inline std::vector<float> spread(size_t count) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11) / 16;
  return out;
}

inline void expect_close(const std::vector<float>& got, const std::vector<float>& wanted,
                         const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted[i], 2e-5f * (1 + std::abs(wanted[i]))) << what << ", element " << i;
}

/// What enqueues work, in order to say that nothing else did.
inline const std::vector<std::string>& enqueuing() {
  static const std::vector<std::string> names{
      "cuLaunchKernel",      "cuLaunchHostFunc",        "cuMemcpyHtoDAsync",  "cuMemcpyDtoHAsync",
      "cuMemcpyDtoDAsync",   "cuMemcpyPeerAsync",       "cuMemsetD8Async",    "cuStreamBeginCapture",
      "cuMemAlloc",          "cuMemAllocFromPoolAsync", "cuMemHostAlloc",     "cuGraphInstantiateWithFlags",
      "nvrtcCompileProgram", "cublasLtMatmul",          "cudnnBackendExecute"};
  return names;
}

}  // namespace tenon::test
