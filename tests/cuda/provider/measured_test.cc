// Which algorithm of a library does a product or a convolution: measured once for a device, and kept in the host's cache.
#include <cstdlib>
#include <filesystem>

#include "tests/cuda/provider/library_case.h"

namespace tenon::test {
namespace {

namespace fs = std::filesystem;

/// A cache of its own for all tests of this process, there before anything looks.
class OwnCache : public ::testing::Environment {
 public:
  void SetUp() override {
    std::string folder = fs::temp_directory_path() / "tenon_cuda_cache_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr) << folder;
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
    folder_ = folder;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  /// The host's part of it.
  static fs::path of_host() { return folder_ / "tenon"; }

 private:
  inline static fs::path folder_;
};
[[maybe_unused]] ::testing::Environment* const g_own_cache =
    ::testing::AddGlobalTestEnvironment(new OwnCache);

class CudaMeasured : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(OwnCache::of_host()); }

  /// Calls of the library in a session with two Runs.
  static int calls(const NodeModel& model, const std::string& function,
                   const std::vector<std::string>& options = {},
                   const std::vector<std::string>& settings = {}) {
    reset_cuda_calls();
    run_on_cuda(model, options, settings);
    return cuda_calls().of(function);
  }

  /// `kMost`: of what is not measured.
  static void expect_measured_once(const NodeModel& model, const std::string& function,
                                   const std::string& forced) {
    constexpr int kMost = 3;
    EXPECT_GT(calls(model, function), kMost) << "nothing was measured";
    EXPECT_LE(calls(model, function), kMost) << "not found in the cache: the device was closed meanwhile";
    fs::remove_all(OwnCache::of_host());
    EXPECT_LE(calls(model, function, {}, {"precision.deterministic=true"}), kMost);
    const int of_library = calls(model, function, {forced}, {"precision.deterministic=true"});
    EXPECT_TRUE(of_library > 0 && of_library <= kMost) << of_library;
    EXPECT_GT(calls(model, function), kMost) << "the cache is gone";
  }
};

TEST_F(CudaMeasured, ProductsOncePerDeviceAndCache) {
  const Numbers a = drawn(TENON_FLOAT32, {64, 64}, 1), b = drawn(TENON_FLOAT32, {64, 64}, 2);
  const NodeModel product{TENON_FLOAT32, {a, b}, "MatMul", {}};
  expect_measured_once(product, "cublasLtMatmul", "options.products=cublaslt");
  const Numbers few = drawn(TENON_FLOAT32, {8, 64}, 1);
  EXPECT_EQ(calls({TENON_FLOAT32, {few, b}, "MatMul", {}}, "cublasLtMatmul"), 0)
      << "own kernels do what takes less time than a launch";
}

#if TENON_CUDA_HAS_CUDNN
TEST_F(CudaMeasured, ConvolutionsOncePerDeviceAndCache) {
  const NodeModel convolution{TENON_FLOAT32,
                              {drawn(TENON_FLOAT32, {1, 4, 8, 8}, 1), drawn(TENON_FLOAT32, {4, 4, 3, 3}, 2)},
                              "Conv",
                              {}};
  expect_measured_once(convolution, "cudnnBackendExecute", "options.convolutions=cudnn");
}

TEST_F(CudaMeasured, StrictSessionsDoNotTryWinograd) {
  setenv("TENON_FAKE_CUDA_CC", "8.6", 1);  // cuDNN has such an engine there
  const NodeModel convolution{TENON_FLOAT32,
                              {drawn(TENON_FLOAT32, {1, 4, 8, 8}, 1), drawn(TENON_FLOAT32, {4, 4, 3, 3}, 2)},
                              "Conv",
                              {}};
  const int strict = calls(convolution, "cudnnBackendExecute", {}, {"precision.strict=true"});
  const int exact = calls(convolution, "cudnnBackendExecute");
  unsetenv("TENON_FAKE_CUDA_CC");
  EXPECT_GT(strict, 0);
  EXPECT_GT(exact, strict) << "what was measured for a strict session is not all for another";
}
#endif

TEST_F(CudaMeasured, WhatTheLibrariesMadeIsDestroyed) {
  const Numbers a = drawn(TENON_FLOAT32, {64, 64}, 1), b = drawn(TENON_FLOAT32, {64, 64}, 2);
  calls({TENON_FLOAT32, {a, b}, "MatMul", {}}, "");
  const CudaCalls of_products = cuda_calls();
  for (const std::string kind :
       {"cublasLt", "cublasLtMatmulDesc", "cublasLtMatrixLayout", "cublasLtMatmulPreference"}) {
    EXPECT_GT(of_products.of(kind + "Create"), 0) << kind;
    EXPECT_EQ(of_products.of(kind + "Create"), of_products.of(kind + "Destroy")) << kind;
  }
#if TENON_CUDA_HAS_CUDNN
  const Numbers x = drawn(TENON_FLOAT32, {1, 4, 8, 8}, 1), w = drawn(TENON_FLOAT32, {4, 4, 3, 3}, 2);
  calls({TENON_FLOAT32, {x, w}, "Conv", {}}, "");
  const CudaCalls of_convolutions = cuda_calls();
  EXPECT_GT(of_convolutions.of("cudnnCreate"), 0);
  EXPECT_EQ(of_convolutions.of("cudnnCreate"), of_convolutions.of("cudnnDestroy"));
  EXPECT_GT(of_convolutions.of("cudnnBackendCreateDescriptor"), 0);
  EXPECT_EQ(of_convolutions.of("cudnnBackendCreateDescriptor"),
            of_convolutions.of("cudnnBackendDestroyDescriptor"));
#endif
}

}  // namespace
}  // namespace tenon::test
