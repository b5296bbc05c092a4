#include "tests/cuda/driver/fake_cuda.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/paths.h"

namespace tenon::test {

Ended run_process(const Environment& environment, const std::function<void()>& body) {
  Ended out;
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) {
    ADD_FAILURE() << "no pipe";
    return out;
  }
  fflush(nullptr);
  const pid_t process = fork();
  if (process == 0) {
    dup2(pipe[1], STDERR_FILENO);
    dup2(pipe[1], STDOUT_FILENO);
    close(pipe[0]);
    close(pipe[1]);
    for (const auto& [name, value] : environment)
      setenv(("TENON_FAKE_CUDA_" + name).c_str(), value.c_str(), 1);
    body();
    fflush(nullptr);
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  close(pipe[1]);
  std::array<char, 4096> buffer;
  ssize_t count = 0;
  while ((count = read(pipe[0], buffer.data(), buffer.size())) > 0)
    out.errors.append(buffer.data(), static_cast<size_t>(count));
  close(pipe[0]);
  int status = 0;
  waitpid(process, &status, 0);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return out;
}

void in_process(const Environment& environment, const std::function<void()>& body) {
  const Ended ended = run_process(environment, body);
  EXPECT_EQ(ended.status, 0) << ended.errors;
}

std::string architecture_of(CUdevice device) {
  int major = 0, minor = 0;
  EXPECT_CUDA(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  EXPECT_CUDA(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  return "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
}

Compiled compile_kernels(const std::string& text, std::vector<std::string> options) {
  Compiled out;
  nvrtcProgram program = nullptr;
  EXPECT_EQ(nvrtcCreateProgram(&program, text.c_str(), "kernels.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  out.result = nvrtcCompileProgram(program, static_cast<int>(texts.size()), texts.data());
  size_t size = 0;
  EXPECT_EQ(nvrtcGetProgramLogSize(program, &size), NVRTC_SUCCESS);
  out.log.resize(size);
  EXPECT_EQ(nvrtcGetProgramLog(program, out.log.data()), NVRTC_SUCCESS);
  out.log.resize(size - 1);
  EXPECT_EQ(nvrtcGetCUBINSize(program, &size), NVRTC_SUCCESS);
  out.cubin.resize(size);
  EXPECT_EQ(nvrtcGetCUBIN(program, out.cubin.data()), NVRTC_SUCCESS);
  EXPECT_EQ(nvrtcGetPTXSize(program, &size), NVRTC_SUCCESS);
  out.ptx.resize(size);
  EXPECT_EQ(nvrtcGetPTX(program, out.ptx.data()), NVRTC_SUCCESS);
  EXPECT_EQ(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
  return out;
}

Gpu::Gpu(int ordinal) : ordinal_(ordinal) {
  EXPECT_CUDA(cuInit(0));
  EXPECT_CUDA(cuDevicePrimaryCtxRetain(&context_, ordinal));
  make_current();
}

Gpu::~Gpu() {
  cuCtxSetCurrent(nullptr);
  cuDevicePrimaryCtxRelease(ordinal_);
}

Kernels::Kernels(const std::string& text, std::vector<std::string> options) {
  CUdevice device = 0;
  EXPECT_CUDA(cuCtxGetDevice(&device));
  options.push_back(architecture_of(device));
  const Compiled compiled = compile_kernels(text, std::move(options));
  EXPECT_EQ(compiled.result, NVRTC_SUCCESS) << compiled.log;
  if (compiled.result != NVRTC_SUCCESS) return;
  EXPECT_CUDA(cuModuleLoadData(&module_, compiled.cubin.data()));
}

CUfunction Kernels::operator[](const char* name) const {
  CUfunction function = nullptr;
  EXPECT_CUDA(cuModuleGetFunction(&function, module_, name)) << name;
  return function;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

std::string temporary_path(const std::string& name) {
  const std::filesystem::path folder = build_dir() + "/fake-cuda-tests";
  std::filesystem::create_directories(folder);
  return folder / (std::to_string(getpid()) + "-" + name);
}

}  // namespace tenon::test
