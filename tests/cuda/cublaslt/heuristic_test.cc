// Which algorithms are named for a product, and what they need.
#include <algorithm>

#include "calls.h"

namespace cublaslt_tests {
namespace {

class Asked {
 public:
  explicit Asked(const Call& call) : call_(call), d_(call) { cublasLtMatmulPreferenceCreate(&preference_); }
  ~Asked() { cublasLtMatmulPreferenceDestroy(preference_); }

  template <class T>
  void prefer(cublasLtMatmulPreferenceAttributes_t name, T value) {
    EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(preference_, name, &value, sizeof(value)),
              CUBLAS_STATUS_SUCCESS);
  }
  cublasStatus_t ask(int most = 8) {
    results.resize(static_cast<size_t>(std::max(most, 1)));
    int count = -1;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_.get(), d_.operation, d_.a, d_.b, d_.c, d_.d, preference_, most, results.data(), &count);
    results.resize(static_cast<size_t>(std::max(count, 0)));
    return status;
  }
  cublasStatus_t check(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulHeuristicResult_t* result) {
    return cublasLtMatmulAlgoCheck(handle_.get(), d_.operation, d_.a, d_.b, d_.c, d_.d, &algorithm, result);
  }
  cublasLtHandle_t handle() const { return handle_.get(); }
  std::vector<int> ids() const {
    std::vector<int> out;
    for (const auto& result : results) {
      int id = -1;
      cublasLtMatmulAlgoConfigGetAttribute(&result.algo, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof(id), nullptr);
      out.push_back(id);
    }
    return out;
  }
  /// Runs the call with an algorithm and that much workspace.
  cublasStatus_t run(const cublasLtMatmulAlgo_t& algorithm, size_t workspace) {
    Call call = call_;
    call.algorithm = &algorithm;
    call.workspace_bytes = workspace;
    Attempt run(call);
    const cublasStatus_t status = run.run(handle_.get());
    local_cuda_take_calls();
    return status;
  }

  std::vector<cublasLtMatmulHeuristicResult_t> results;

 private:
  const Call call_;
  const Handle handle_;
  Descriptors d_;
  cublasLtMatmulPreference_t preference_ = nullptr;
};

TEST(CublasLtHeuristic, NamesSeveralAlgorithmsOfWhichEachRuns) {
  for (const cudaDataType_t type : {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF}) {
    Asked asked(Call::of(type, 64, 48, 32));
    asked.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{32} << 20);
    ASSERT_EQ(asked.ask(), CUBLAS_STATUS_SUCCESS);
    EXPECT_GE(asked.results.size(), 2U);
    for (const auto& result : asked.results) {
      EXPECT_EQ(result.state, CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(asked.run(result.algo, result.workspaceSize), CUBLAS_STATUS_SUCCESS);
      if (result.workspaceSize == 0) continue;
      EXPECT_EQ(asked.run(result.algo, result.workspaceSize - 1), CUBLAS_STATUS_INVALID_VALUE);
      EXPECT_EQ(asked.run(result.algo, 0), CUBLAS_STATUS_INVALID_VALUE);
    }
    EXPECT_EQ(asked.ask(1), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(asked.results.size(), 1U);
  }
}

TEST(CublasLtHeuristic, HonoursTheWorkspaceAndTheAlignment) {
  Asked asked(Call::of(CUDA_R_16F, 64, 48, 32));
  ASSERT_EQ(asked.ask(), CUBLAS_STATUS_SUCCESS);
  for (const auto& result : asked.results)
    EXPECT_EQ(result.workspaceSize, 0U) << "none is allowed unless it is preferred";
  asked.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{32} << 20);
  ASSERT_EQ(asked.ask(), CUBLAS_STATUS_SUCCESS);
  const std::vector<int> aligned = asked.ids();
  asked.prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t{4});
  ASSERT_EQ(asked.ask(), CUBLAS_STATUS_SUCCESS);
  EXPECT_LT(asked.ids().size(), aligned.size());
  asked.prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t{1});
  EXPECT_EQ(asked.ask(), CUBLAS_STATUS_NOT_SUPPORTED);
  asked.prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t{3});
  EXPECT_EQ(asked.ask(), CUBLAS_STATUS_INVALID_VALUE);
  // Strides count as pointers do.
  Asked odd(Call::of(CUDA_R_16F, 63, 48, 32));
  odd.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{32} << 20);
  ASSERT_EQ(odd.ask(), CUBLAS_STATUS_SUCCESS);
  EXPECT_LT(odd.ids().size(), aligned.size());
}

TEST(CublasLtHeuristic, AnAlgorithmRefusesPointersItIsNotFor) {
  Call call = Call::of(CUDA_R_16F, 64, 48, 32);
  Asked asked(call);
  ASSERT_EQ(asked.ask(1), CUBLAS_STATUS_SUCCESS);
  const cublasLtMatmulAlgo_t fastest = asked.results[0].algo;
  uint32_t alignment = 0;
  ASSERT_EQ(cublasLtMatmulAlgoCapGetAttribute(&fastest, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, &alignment,
                                              sizeof(alignment), nullptr),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(alignment, 16U);
  call.algorithm = &fastest;
  call.b.misaligned = 2;
  EXPECT_EQ(Attempt(call).run(asked.handle()), CUBLAS_STATUS_INVALID_VALUE);
  call.algorithm = nullptr;  // the library takes another one
  EXPECT_EQ(Attempt(call).run(asked.handle()), CUBLAS_STATUS_SUCCESS);
  local_cuda_take_calls();
}

TEST(CublasLtHeuristic, OfWhatIsWrongIsTheError) {
  Call call = Call::of(CUDA_R_32F, 8, 8, 8);
  call.a.leading = 7;
  EXPECT_EQ(Asked(call).ask(), CUBLAS_STATUS_INVALID_VALUE);
  call = Call::of(CUDA_R_32F, 8, 8, 8);
  call.a.type = CUDA_R_16F;
  EXPECT_EQ(Asked(call).ask(), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(Asked(Call::of(CUDA_R_32F, 8, 8, 8)).ask(0), CUBLAS_STATUS_INVALID_VALUE);
}

TEST(CublasLtHeuristic, IsLimitedToAnAlgorithmOrItsArithmetic) {
  Asked asked(Call::of(CUDA_R_16F, 64, 48, 32));
  asked.prefer(CUBLASLT_MATMUL_PREF_IMPL_MASK, uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA});
  ASSERT_EQ(asked.ask(), CUBLAS_STATUS_SUCCESS);
  const int simt = asked.ids().at(0);
  asked.prefer(CUBLASLT_MATMUL_PREF_IMPL_MASK, ~uint64_t{0});
  asked.prefer(CUBLASLT_MATMUL_PREF_SEARCH_MODE, uint32_t{CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID});
  asked.results.assign(8, {});
  for (auto& result : asked.results)
    ASSERT_EQ(cublasLtMatmulAlgoInit(asked.handle(), CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F,
                                     CUDA_R_16F, CUDA_R_16F, simt, &result.algo),
              CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(asked.ask(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(asked.ids(), std::vector<int>{simt});
}

TEST(CublasLtAlgorithm, IsMadeAndSetUpByHand) {
  Asked asked(Call::of(CUDA_R_32F, 8, 8, 64));
  int ids[8], count = 0;
  ASSERT_EQ(cublasLtMatmulAlgoGetIds(asked.handle(), CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                     CUDA_R_32F, CUDA_R_32F, 8, ids, &count),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(count, 2) << "float is multiplied exactly by ordinary arithmetic alone";
  cublasLtMatmulAlgo_t algorithm;
  ASSERT_EQ(cublasLtMatmulAlgoInit(asked.handle(), CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                   CUDA_R_32F, CUDA_R_32F, ids[1], &algorithm),
            CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t result;
  ASSERT_EQ(asked.check(algorithm, &result), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result.workspaceSize, 0U);
  const auto set = [&](cublasLtMatmulAlgoConfigAttributes_t name, auto value) {
    return cublasLtMatmulAlgoConfigSetAttribute(&algorithm, name, &value, sizeof(value));
  };
  EXPECT_EQ(set(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, int32_t{2}), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(asked.check(algorithm, &result), CUBLAS_STATUS_INVALID_VALUE)
      << "parts need a scheme to add them up";
  EXPECT_EQ(set(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(asked.check(algorithm, &result), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result.workspaceSize, 2 * 8 * 8 * 4U);
  EXPECT_EQ(asked.run(algorithm, result.workspaceSize), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(set(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, int32_t{100}), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(asked.check(algorithm, &result), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(set(CUBLASLT_ALGO_CONFIG_ID, int32_t{0}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(set(CUBLASLT_ALGO_CONFIG_TILE_ID, int64_t{0}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtMatmulAlgoInit(asked.handle(), CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                   CUDA_R_32F, CUDA_R_32F, 12345, &algorithm),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(asked.run(cublasLtMatmulAlgo_t{}, 0), CUBLAS_STATUS_INVALID_VALUE);
}

TEST(CublasLtAlgorithm, IsForItsTypes) {
  Asked halves(Call::of(CUDA_R_16F, 16, 16, 16)), floats(Call::of(CUDA_R_32F, 16, 16, 16));
  ASSERT_EQ(halves.ask(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(floats.run(halves.results[0].algo, 0), CUBLAS_STATUS_INVALID_VALUE);
}

TEST(CublasLtAlgorithm, OverwritesItsWorkspace) {
  Call call = Call::of(CUDA_R_32F, 16, 16, 64);
  Asked asked(call);
  asked.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{1} << 20);
  ASSERT_EQ(asked.ask(), CUBLAS_STATUS_SUCCESS);
  const auto with = std::find_if(asked.results.begin(), asked.results.end(),
                                 [](const auto& r) { return r.workspaceSize > 0; });
  ASSERT_NE(with, asked.results.end());
  call.algorithm = &with->algo;
  call.workspace_bytes = with->workspaceSize + 4;
  Attempt run(call);
  std::memset(run.workspace(), 1, call.workspace_bytes);
  ASSERT_EQ(run.run(asked.handle()), CUBLAS_STATUS_SUCCESS);
  const auto* const bytes = static_cast<const unsigned char*>(run.workspace());
  EXPECT_EQ(bytes[0], 0xcd);
  EXPECT_EQ(bytes[with->workspaceSize - 1], 0xcd);
  EXPECT_EQ(bytes[with->workspaceSize], 1) << "no more than it said";
  local_cuda_take_calls();
}

}  // namespace
}  // namespace cublaslt_tests
