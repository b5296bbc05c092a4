// Work of libraries runs on streams, and in graphs.
#include "tests/fakes/cuda/driver/library_work.h"

#include <unistd.h>

#include <memory>

#include "tests/cuda/driver/fake_cuda.h"
#include "tests/cuda/driver/scale.h"
#include "tests/support/paths.h"

namespace tenon::test {
namespace {

const std::string& library() {
  static const std::string path = lib_dir() + "/fake_cuda_test_work.so";
  return path;
}

CUresult scale(CUstream stream, const Array<float>& x, const Array<float>& y, int count, float factor,
               int last = 7, const char* function = "fake_cuda_test_scale") {
  const auto arguments = std::make_unique<fake_cuda_test_scale_arguments>();
  arguments->factor = factor;
  arguments->count = count;
  arguments->last = last;
  const auto bytes = static_cast<size_t>(count) * sizeof(float);
  const tenon_fake_range ranges[] = {{x.address(), bytes, 0}, {y.address(), bytes, 1}, {0, 0, 0}};
  return tenon_fake_cuda_enqueue(stream, library().c_str(), function, "Scale", ranges, 3, arguments.get(),
                                 sizeof(*arguments));
}

constexpr int kCount = 1000;

TEST(FakeCudaLibraries, WorkRunsInOrderAndInGraphs) {
  const std::string counts = temporary_path("counts");
  in_process({{"COUNTS", counts}, {"RACES", "1"}}, [] {
    const Gpu gpu;
    const Array<float> x(std::vector<float>(kCount, 1.0f)), y(kCount);
    const Stream stream;
    EXPECT_CUDA(scale(stream, x, y, kCount, 2));
    EXPECT_CUDA(scale(stream, y, x, kCount, 3));
    EXPECT_CUDA(cuStreamSynchronize(stream));
    EXPECT_EQ(x.values(), std::vector<float>(kCount, 6.0f));
    EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_CUDA(scale(stream, x, y, kCount, 2));
    EXPECT_CUDA(scale(stream, y, x, kCount, 1));
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_CUDA(cuStreamEndCapture(stream, &graph));
    EXPECT_CUDA(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; ++i) EXPECT_CUDA(cuGraphLaunch(exec, stream));
    EXPECT_CUDA(cuStreamSynchronize(stream));
    EXPECT_EQ(x.values(), std::vector<float>(kCount, 48.0f));
    EXPECT_EQ(scale(stream, x, y, kCount + 1, 1), CUDA_ERROR_INVALID_VALUE);
  });
  EXPECT_NE(content_of(counts).find("Scale 8\n"), std::string::npos) << content_of(counts);
  unlink(counts.c_str());
}

TEST(FakeCudaLibraries, WorkThatFailsIsAFailedLaunch) {
  const auto fails = [](const std::string& text,
                        const std::function<CUresult(const Array<float>&)>& enqueue) {
    const Ended ended = run_process({}, [&] {
      const Gpu gpu;
      const Array<float> x(kCount);
      EXPECT_CUDA(enqueue(x));
      EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    });
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_NE(ended.errors.find(text), std::string::npos) << ended.errors;
  };
  fails("library work 'Scale': the arguments have not arrived",
        [](const Array<float>& x) { return scale(nullptr, x, x, kCount, 1, 8); });
  fails("fake_cuda_test_nothing",
        [](const Array<float>& x) { return scale(nullptr, x, x, kCount, 1, 7, "fake_cuda_test_nothing"); });
}

TEST(FakeCudaLibraries, RacesOfWorkAreFound) {
  const Ended ended = run_process({{"RACES", "1"}}, [] {
    const Gpu gpu;
    const Array<float> x(std::vector<float>(kCount, 1.0f)), y(kCount);
    const Stream one, other;
    EXPECT_CUDA(scale(one, x, y, kCount, 2));
    EXPECT_CUDA(scale(other, x, y, 1, 2));
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  });
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_NE(ended.errors.find("race: Scale writes what Scale writes"), std::string::npos) << ended.errors;
}

}  // namespace
}  // namespace tenon::test
