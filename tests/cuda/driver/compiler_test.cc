// The stand-in for NVRTC takes and refuses what NVRTC does.
#include <algorithm>
#include <filesystem>

#include "tests/cuda/driver/fake_cuda.h"
#include "tests/support/paths.h"

namespace tenon::test {
namespace {

constexpr const char* kNothing = "extern \"C\" __global__ void Nothing() {}";

nvrtcResult result_with(std::vector<std::string> options) {
  return compile_kernels(kNothing, std::move(options)).result;
}

TEST(FakeNvrtc, Options) {
  for (const char* option : {"--gpu-architecture=sm_90", "-arch=compute_80", "--std=c++17", "-std=c++20",
                             "-DA=1", "--define-macro=B=2", "-lineinfo", "--fmad=false", "--use_fast_math",
                             "-default-device", "--ptxas-options=-v", "-w", "--restrict", "-G",
                             "--maxrregcount=64", "--diag-suppress=177", "-I/nowhere"})
    EXPECT_EQ(result_with({option}), NVRTC_SUCCESS) << option;
  EXPECT_EQ(result_with({"-D", "A=1", "-arch", "sm_75"}), NVRTC_SUCCESS);
  for (const auto& [option, log] : std::map<std::string, std::string>{
           {"--foo", "nvrtc: error: unrecognized option --foo found\n"},
           {"-O3", "nvrtc: error: unrecognized option -O3 found\n"},
           {"-arch=sm_70", "nvrtc: error: invalid value for --gpu-architecture (-arch)\n"},
           {"--gpu-architecture=sm_9", "nvrtc: error: invalid value for --gpu-architecture (-arch)\n"},
           {"--fmad=maybe", "nvrtc: error: --fmad (-fmad) expects true or false\n"},
           {"--std=c++98", "nvrtc: error: invalid value for --std(-std)\n"}}) {
    const Compiled compiled = compile_kernels(kNothing, {option});
    EXPECT_EQ(compiled.result, NVRTC_ERROR_INVALID_OPTION) << option;
    EXPECT_EQ(compiled.log, log);
    EXPECT_TRUE(compiled.cubin.empty());
  }
}

TEST(FakeNvrtc, DefinesAndArchitectureReachTheText) {
  const std::string text =
      "#if !defined(A) || A != 3 || defined(B) || __CUDA_ARCH__ != 860 || !defined(__CUDACC_RTC__)\n"
      "#error wrong\n#endif\n";
  EXPECT_EQ(compile_kernels(text + kNothing, {"-DA=3", "-DB", "-UB", "-arch=sm_86"}).result, NVRTC_SUCCESS);
  const Compiled wrong = compile_kernels(text + kNothing, {"-DA=4", "-arch=sm_86"});
  EXPECT_EQ(wrong.result, NVRTC_ERROR_COMPILATION);
  EXPECT_NE(wrong.log.find("kernels.cu:2"), std::string::npos) << wrong.log;
}

TEST(FakeNvrtc, RefusesCodeOfTheHost) {
  const std::map<std::string, std::string> wrong = {
      {"float f(float x) { return x; }", "A function without execution space annotations"},
      {"float f(float x);", "A function without execution space annotations"},
      {"constexpr int f(int x) { return x; }", "A function without execution space annotations"},
      {"namespace a { inline int f() { return 1; } }", "A function without execution space annotations"},
      {"template <class T> T f(T x) { return x; }", "A function without execution space annotations"},
      {"struct S { int a; int get() const { return a; } };",
       "A function without execution space annotations"},
      {"struct S { int a; S(int x) : a{x} {} };", "A function without execution space annotations"},
      {"struct S { __device__ operator int() { return 1; } int operator()(int x) { return x; } };",
       "A function without execution space annotations"},
      {"__host__ int f() { return 1; }", "A function explicitly marked as a __host__ function"},
      {"int counter;", "A namespace scope variable without memory space annotations"},
      {"float table[2] = {1, 2};", "A namespace scope variable without memory space annotations"},
      {"extern \"C\" __global__ int Returns() { return 1; }", "must have a void return type"},
      {"__device__ int g(int); extern \"C\" __global__ void K(int* x) { x[0] = g(1); }",
       "Unresolved extern function"},
      {"extern \"C\" __global__ void K(float* x) { __shared__ float s[13000]; s[threadIdx.x] = 1; x[0] = "
       "s[1]; }",
       "uses too much shared data"},
      {"#include <cuda_fp16.h>", "cuda_fp16.h"},
      {"#include <stdint.h>", "stdint.h"},
      {"extern \"C\" __global__ void K(unsigned* x) { uint32_t a = 1; x[0] = a; }", "uint32_t"},
      {"extern \"C\" __global__ void K(float* x) { x[0] = std::exp(x[1]); }", "std"},
      {"extern \"C\" __global__ void K(float* x) { x[0] = host_only(); }", "host_only"},
      {"extern \"C\" __global__ void K(float* x) { x[0] = INFINITY; }", "INFINITY"},
      {"__device__ void k() { asm(\"wgmma.fence.sync.aligned;\"); }",
       "does not know the assembly in: asm(\"wgmma.fence"}};
  for (const auto& [text, log] : wrong) {
    const Compiled compiled = compile_kernels(text + "\n");
    EXPECT_EQ(compiled.result, NVRTC_ERROR_COMPILATION) << text;
    EXPECT_NE(compiled.log.find(log), std::string::npos) << text << "\n" << compiled.log;
  }
  const Compiled third = compile_kernels("\n\nint f() { return 1; }\n");
  EXPECT_EQ(third.log.substr(0, 20), "kernels.cu(3): error");
}

TEST(FakeNvrtc, TakesCodeOfTheDevice) {
  for (const char* text :
       {"__device__ float f(float x) { return x; }", "__host__ __device__ float f(float x);",
        "const int n = 4; constexpr float x = 2.5f; static const float t[2] = {1, 2};",
        "__constant__ float t[4] = {1, 2, 3, 4}; __device__ int counter; __device__ float y[] = {1.0f};",
        "struct __align__(8) S { float a, b; __device__ S() = default; __device__ S(float x) : a(x), b{x} {} "
        "}; "
        "struct T { S s; int n[4]; }; typedef struct { int x; } U; using V = int; enum class E : int { a, b "
        "};",
        "union Bits { float f; unsigned u; };",
        "template <class T, int N = 4> struct Box { T value[N]; static __device__ T first(const Box& b) { "
        "return b.value[0]; } }; "
        "template <class T> __device__ __forceinline__ T twice(T x) { return x + x; } "
        "template <> __device__ inline float twice<float>(float x) { return 2 * x; }",
        "namespace a { namespace { __device__ int g() { return 1; } } struct S; }",
        "extern \"C\" { __global__ void K(int* x) { auto f = [](int v) { return v + 1; }; x[0] = f(1); } }",
        "static_assert(sizeof(int) == 4, \"\"); #define X(name) __device__ int name() { return 1; }\n",
        "__device__ __noinline__ double many(double x) { return sin(x) + exp2(x) * rsqrt(x) + fma(x, x, x) + "
        "max(x, 1.0) + "
        "min(1, 2) + abs(-3) + pow(x, 2.0) + erf(x) + tgamma(x); }",
        "__device__ float single(float x) { return sinf(x) + __expf(x) + exp(x) + rsqrtf(x) + fmaxf(x, 1) + "
        "powf(x, 2.f) + "
        "__fdividef(x, 2) + log1p(x) + isnan(x) + __saturatef(x) + __frcp_rn(x) + normcdff(x) + erfcf(x); }",
        "__device__ int whole(int x, unsigned y) { return __popc(y) + __clz(x) + __ffs(x) + __brev(y) + "
        "__mulhi(x, x) + "
        "__umulhi(y, y) + __byte_perm(y, y, 0x3210) + __dp4a(x, x, x) + __dp4a(y, y, y) + "
        "__float2int_rn(1.5f) + "
        "umin(y, 3u) + __float_as_int(1.0f); }",
        "__global__ void K(float4* x, const uint2* y, dim3 d) { x[0] = make_float4(1, 2, 3, 4); x[0].x += "
        "__ldg(y).y + d.x + "
        "warpSize; #pragma unroll 4\n for (int i = 0; i < 4; ++i) x[i].y = i; }"}) {
    std::string lines = text;
    for (size_t at = lines.find('#'); at != std::string::npos; at = lines.find('#', at + 2))
      lines.insert(at, "\n");
    const Compiled compiled = compile_kernels(lines + "\n" + kNothing);
    EXPECT_EQ(compiled.result, NVRTC_SUCCESS) << text << "\n" << compiled.log;
  }
  EXPECT_EQ(compile_kernels("float f() { return 1; } int counter;", {"-default-device"}).result,
            NVRTC_SUCCESS);
}

TEST(FakeNvrtc, HeadersOfTheProgram) {
  nvrtcProgram program = nullptr;
  const char *headers[] = {"#define TWO 2\n", "#include \"a.h\"\n"}, *names[] = {"a.h", "lib/b.h"};
  const char* text = "#include \"lib/b.h\"\nextern \"C\" __global__ void K(int* x) { x[0] = TWO; }";
  EXPECT_EQ(nvrtcCreateProgram(&program, text, nullptr, 2, headers, names), NVRTC_SUCCESS);
  EXPECT_EQ(nvrtcCompileProgram(program, 0, nullptr), NVRTC_SUCCESS);
  EXPECT_EQ(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
  EXPECT_EQ(program, nullptr);
  EXPECT_EQ(nvrtcDestroyProgram(&program), NVRTC_ERROR_INVALID_PROGRAM);
}

TEST(FakeNvrtc, NamesOfTemplates) {
  in_process({}, [] {
    const Gpu gpu;
    nvrtcProgram program = nullptr;
    const char* text = "template <class T> __global__ void Set(T* x, T v) { x[0] = v; }";
    EXPECT_EQ(nvrtcCreateProgram(&program, text, "k", 0, nullptr, nullptr), NVRTC_SUCCESS);
    EXPECT_EQ(nvrtcAddNameExpression(program, "Set<float>"), NVRTC_SUCCESS);
    EXPECT_EQ(nvrtcAddNameExpression(program, "&Set<int>"), NVRTC_SUCCESS);
    const char* name = nullptr;
    EXPECT_EQ(nvrtcGetLoweredName(program, "Set<float>", &name),
              NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
    const std::string architecture = architecture_of();
    const char* options[] = {architecture.c_str()};
    EXPECT_EQ(nvrtcCompileProgram(program, 1, options), NVRTC_SUCCESS);
    EXPECT_EQ(nvrtcAddNameExpression(program, "Set<char>"),
              NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
    EXPECT_EQ(nvrtcGetLoweredName(program, "Set<char>", &name), NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
    size_t size = 0;
    EXPECT_EQ(nvrtcGetPTXSize(program, &size), NVRTC_SUCCESS);
    std::string ptx(size, '\0');
    EXPECT_EQ(nvrtcGetPTX(program, ptx.data()), NVRTC_SUCCESS);
    CUmodule module = nullptr;
    EXPECT_CUDA(cuModuleLoadDataEx(&module, ptx.data(), 0, nullptr, nullptr));
    unsigned count = 0;
    EXPECT_CUDA(cuModuleGetFunctionCount(&count, module));
    EXPECT_EQ(count, 2U);
    const Array<int> x(1);
    CUfunction set = nullptr;
    EXPECT_EQ(nvrtcGetLoweredName(program, "&Set<int>", &name), NVRTC_SUCCESS);
    EXPECT_CUDA(cuModuleGetFunction(&set, module, name));
    EXPECT_CUDA(launch(set, 1, 1, nullptr, x.address(), 42));
    EXPECT_EQ(x.values()[0], 42);
    EXPECT_CUDA(cuModuleUnload(module));
    EXPECT_EQ(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
  });
}

TEST(FakeNvrtc, ImagesRunWhereTheirArchitectureAllows) {
  const auto load = [](const std::string& image) {
    CUmodule module = nullptr;
    const CUresult result = cuModuleLoadData(&module, image.data());
    if (result == CUDA_SUCCESS) cuModuleUnload(module);
    return result;
  };
  in_process({{"CC", "8.6"}}, [&] {
    const Gpu gpu;
    EXPECT_CUDA(load(compile_kernels(kNothing, {"-arch=sm_86"}).cubin));
    EXPECT_CUDA(load(compile_kernels(kNothing, {"-arch=sm_80"}).cubin));
    EXPECT_EQ(load(compile_kernels(kNothing, {"-arch=sm_89"}).cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_EQ(load(compile_kernels(kNothing, {"-arch=sm_75"}).cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_EQ(load(compile_kernels(kNothing, {"-arch=sm_90"}).cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_CUDA(load(compile_kernels(kNothing, {"-arch=compute_75"}).ptx));
    EXPECT_EQ(load(compile_kernels(kNothing, {"-arch=compute_90"}).ptx), CUDA_ERROR_NO_BINARY_FOR_GPU);
    std::string damaged = compile_kernels(kNothing, {"-arch=sm_86"}).cubin;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
    EXPECT_EQ(load(damaged), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_EQ(load("nothing at all"), CUDA_ERROR_INVALID_IMAGE);
  });
}

TEST(FakeNvrtc, KeepsObjectsAndTexts) {
  const std::string folder = temporary_path("kept");
  in_process({{"CACHE", folder + "/cache"}, {"SOURCES", folder + "/sources"}}, [&] {
    EXPECT_EQ(result_with({"-arch=sm_90", "-DA=1"}), NVRTC_SUCCESS);
    EXPECT_EQ(result_with({"-arch=sm_90", "-DA=1"}), NVRTC_SUCCESS);
    EXPECT_EQ(result_with({"-arch=sm_90", "-DA=2"}), NVRTC_SUCCESS);
  });
  std::map<std::string, int> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) ++files[entry.path().extension()];
    EXPECT_TRUE(entry.path().extension() != ".cu" || content_of(entry.path()) == kNothing);
  }
  EXPECT_EQ(files, (std::map<std::string, int>{{".cu", 2}, {".options", 2}, {".so", 2}}));
  std::filesystem::remove_all(folder);
}

TEST(FakeNvrtc, ArchitecturesAreThoseOfTheRealOne) {
  int count = 0, major = 0, minor = 0;
  EXPECT_EQ(nvrtcVersion(&major, &minor), NVRTC_SUCCESS);
  EXPECT_EQ(major, 13);
  EXPECT_EQ(nvrtcGetNumSupportedArchs(&count), NVRTC_SUCCESS);
  std::vector<int> all(static_cast<size_t>(count));
  EXPECT_EQ(nvrtcGetSupportedArchs(all.data()), NVRTC_SUCCESS);
  EXPECT_EQ(all.front(), 75);
  EXPECT_EQ(std::count(all.begin(), all.end(), 90), 1);
}

}  // namespace
}  // namespace tenon::test
