// What Runs and sessions cost in calls of NVIDIA's libraries.
#include <gmock/gmock.h>

#include "tests/cuda/provider/cuda_case.h"

namespace tenon::test {
namespace {

using Id = GraphMaker::Id;

/// Products, rows and element-wise nodes: kernels of the provider and work of a library.
std::string layers(int count, int64_t width = 8) {
  GraphMaker m;
  const auto n = static_cast<size_t>(width);
  const Id w = m.constant("w", {width, width}, spread(n * n)), b = m.constant("b", {width}, spread(n));
  Id y = m.input("x", GraphMaker::f32({4, width}));
  for (int layer = 0; layer < count; ++layer)
    y = m.node("Tanh", {m.node("Softmax", {m.node("Gemm", {y, w, b})})});
  m.output(y, "y");
  return m.bytes();
}

/// `called`: functions that the first Run has to call, so that their absence from later ones says something.
void expect_later_runs_are_one_launch(const std::string& model, const std::vector<std::string>& options,
                                      const ValueRef& x, const std::vector<std::string>& called) {
  const auto session = make_session(model, cuda_config({"cuda"}, options));
  ASSERT_NE(session, nullptr);
  reset_cuda_calls();
  const std::vector<float> first = floats(run(*session, {{"x", x}})[0]);
  for (const std::string& name : called) {
    EXPECT_GT(cuda_calls().of(name), 0) << name << " is not called, or not counted";
    EXPECT_THAT(enqueuing(), ::testing::Contains(name));
  }
  expect_close(first, floats(run(*make_session(model), {{"x", x}})[0]), "cpu");
  for (int turn = 0; turn < 3; ++turn) {
    reset_cuda_calls();
    EXPECT_EQ(floats(run(*session, {{"x", x}})[0]), first);
    const CudaCalls calls = cuda_calls();
    EXPECT_EQ(calls.of("cuGraphLaunch"), 1);
    EXPECT_LE(calls.of("cuEventSynchronize") + calls.of("cuStreamSynchronize"), 1);
    for (const std::string& name : enqueuing()) EXPECT_EQ(calls.of(name), 0) << name;
  }
}

TEST(CudaCalls, TheSecondRunIsOneLaunchOfAGraphAndOneWait) {
  expect_later_runs_are_one_launch(layers(20, 128), {"options.products=cublaslt"}, f32({4, 128}, spread(512)),
                                   {"cuLaunchKernel", "cublasLtMatmul"});
}

#if TENON_CUDA_HAS_CUDNN
TEST(CudaCalls, TheSecondRunOfConvolutionsIsOneLaunchOfAGraphAndOneWait) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({1, 4, 8, 8})), w = m.constant("w", {4, 4, 3, 3}, spread(144));
  m.output(m.node("Tanh", {m.node("Conv", {m.node("Tanh", {m.node("Conv", {x, w})}), w})}), "y");
  expect_later_runs_are_one_launch(m.bytes(), {"options.convolutions=cudnn"}, f32({1, 4, 8, 8}, spread(256)),
                                   {"cuLaunchKernel", "cudnnBackendExecute"});
}
#endif

TEST(CudaCalls, TwoSessionsUploadTheirWeightsOnce) {
  const std::string bytes = layers(2, 512);
  const uint64_t weights = 512 * 512 * 4;
  const std::vector<session::NamedValue> inputs{{"x", f32({4, 512}, spread(2048))}};
  reset_cuda_calls();
  const auto first = make_session(bytes, cuda_config());
  ASSERT_NE(first, nullptr);
  const std::vector<float> wanted = floats(run(*first, inputs)[0]);
  EXPECT_GE(cuda_calls().bytes_of("cuMemcpyHtoDAsync"), weights);
  reset_cuda_calls();
  const auto second = make_session(bytes, cuda_config());
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(floats(run(*second, inputs)[0]), wanted);
  const CudaCalls calls = cuda_calls();
  EXPECT_LT(calls.bytes_of("cuMemcpyHtoDAsync"), weights / 4);
  EXPECT_EQ(calls.of("nvrtcCompileProgram"), 0) << "the kernels are there";
}

TEST(CudaCalls, WhatASessionTookIsGivenBackAtItsEnd) {
  const auto left = [] {
    const auto session = make_session(layers(1), cuda_config());
    EXPECT_NE(session, nullptr);
    const auto memory = session->assembly()->selection.instances.at(0)->device().memory();
    EXPECT_TRUE(memory.ok());
    return memory.ok() ? memory->free_bytes : 0;
  };
  const uint64_t before = left();
  for (int turn = 0; turn < 4; ++turn) {
    const auto session = make_session(layers(1, 1024), cuda_config());
    ASSERT_NE(session, nullptr);
    run(*session, {{"x", f32({4, 1024}, spread(4096))}});
  }
  EXPECT_GE(left() + (uint64_t{4} << 20), before) << "four sessions of 4 MiB";
}

}  // namespace
}  // namespace tenon::test
