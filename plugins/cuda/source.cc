#include "source.h"

#include <algorithm>
#include <vector>

#include "binary.h"
#include "deep_stack.h"
#include "instance.h"
#include "prelude.h"

namespace tenon::cuda {
namespace {

constexpr size_t kMostOfLog = 700;  // the first errors of a compiler tell most

/// Destroys itself.
struct NvrtcProgram {
  NvrtcProgram() = default;
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;
  ~NvrtcProgram() {
    if (program != nullptr) nvrtc().nvrtcDestroyProgram(&program);
  }
  nvrtcProgram program = nullptr;
};

void check_nvrtc(nvrtcResult code, const char* what) {
  ep::require(code == NVRTC_SUCCESS, TENON_INTERNAL, what, ": ", nvrtc().nvrtcGetErrorString(code));
}

/// What NVRTC compiles for: machine code of the device, or for a device newer than NVRTC, PTX, which the driver compiles.
struct Target {
  std::string architecture;  // "sm_90", "compute_90"
  bool is_ptx = false;
};

Target target_of(int capability) {
  int count = 0;
  check_nvrtc(nvrtc().nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> known(static_cast<size_t>(std::max(count, 0)));
  check_nvrtc(nvrtc().nvrtcGetSupportedArchs(known.data()), "nvrtcGetSupportedArchs");
  int best = 0;
  for (const int one : known) {
    if (one <= capability) best = std::max(best, one);
  }
  ep::require(best != 0, TENON_FAILED_PRECONDITION, "this NVRTC (", version_text(nvrtc().version),
              ") does not compile for compute capability ", capability / 10, ".", capability % 10);
  return {ep::cat(best == capability ? "sm_" : "compute_", best), best != capability};
}

/// The options "-DNAME=VALUE" as lines of text. NVRTC puts options before its own headers, which have names such as T.
std::string macros_of(const std::string& defines) {
  std::string out;
  for (size_t at = 0; at < defines.size();) {
    const size_t end = std::min(defines.find(' ', at), defines.size());
    const std::string one = defines.substr(at, end - at);
    if (const size_t sign = one.find('='); one.starts_with("-D"))
      out += ep::cat("#define ", one.substr(2, sign - 2), " ",
                     sign == std::string::npos ? "1" : one.substr(sign + 1), "\n");
    at = end + 1;
  }
  return out;
}

std::string log_of(nvrtcProgram program) {
  size_t bytes = 0;
  if (nvrtc().nvrtcGetProgramLogSize(program, &bytes) != NVRTC_SUCCESS || bytes == 0) return {};
  std::string out(bytes, '\0');
  if (nvrtc().nvrtcGetProgramLog(program, out.data()) != NVRTC_SUCCESS) return {};
  out.resize(std::min(out.find('\0'), kMostOfLog));
  return out;
}

/// Compiles the prelude and the source.
std::string compile(const Target& target, const Source& source, const std::string& defines) {
  const std::string text = ep::cat(prelude(), "\n", macros_of(defines), "#line 1\n", source.text);
  const std::string file = ep::cat(source.name, ".cu");
  NvrtcProgram made;
  check_nvrtc(nvrtc().nvrtcCreateProgram(&made.program, text.c_str(), file.c_str(), 0, nullptr, nullptr),
              "nvrtcCreateProgram");
  const std::vector<std::string> options{"--gpu-architecture=" + target.architecture, "--std=c++17"};
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  const nvrtcResult code =
      nvrtc().nvrtcCompileProgram(made.program, static_cast<int>(pointers.size()), pointers.data());
  if (code != NVRTC_SUCCESS)
    ep::fail(TENON_INTERNAL, "NVRTC failed to compile '", source.name, "' for ", target.architecture,
             " with ", defines, ": ", nvrtc().nvrtcGetErrorString(code), ": ", log_of(made.program));
  size_t bytes = 0;
  std::string out;
  if (target.is_ptx) {
    check_nvrtc(nvrtc().nvrtcGetPTXSize(made.program, &bytes), "nvrtcGetPTXSize");
    out.resize(bytes);
    check_nvrtc(nvrtc().nvrtcGetPTX(made.program, out.data()), "nvrtcGetPTX");
  } else {
    check_nvrtc(nvrtc().nvrtcGetCUBINSize(made.program, &bytes), "nvrtcGetCUBINSize");
    out.resize(bytes);
    check_nvrtc(nvrtc().nvrtcGetCUBIN(made.program, out.data()), "nvrtcGetCUBIN");
  }
  return out;
}

/// What the host's cache calls a compiled program: all that decides about it.
std::string key_of(const Target& target, const std::string& program) {
  return ep::cat("module/", target.architecture, "/nvrtc ", nvrtc().version, "/driver ", driver().version,
                 "/", program);
}

/// Loads what the host's cache has. An empty handle if it has nothing that the driver takes.
ModuleHandle load_cached(const Instance& instance, const std::string& key) {
  if (ep::host().cache_get == nullptr || instance.host == nullptr) return {};
  tenon_str blob{};
  if (ep::host().cache_get(instance.host, ep::to_str(key), &blob, nullptr) != TENON_OK) return {};
  const std::string binary(unpack_binary(ep::view(blob)));
  ep::host().cache_done(instance.host, blob);
  CUmodule out = nullptr;
  if (binary.empty() || driver().cuModuleLoadData(&out, binary.c_str()) != CUDA_SUCCESS) return {};
  return ModuleHandle(out);
}

/// Compiles and loads, and gives the host's cache what was compiled.
ModuleHandle make_module(const Instance& instance, const Target& target, const Source& source,
                         const std::string& defines, const std::string& key) {
  const std::string binary = compile(target, source, defines);
  CUmodule out = nullptr;
  const CUresult code = driver().cuModuleLoadData(&out, binary.c_str());
  ep::require(
      code != CUDA_ERROR_UNSUPPORTED_PTX_VERSION, TENON_FAILED_PRECONDITION, "the driver (CUDA ",
      version_text(driver().version), ") is older than this NVRTC (", version_text(nvrtc().version),
      "), and the device is newer than both, so the driver would have to compile what NVRTC wrote; install a "
      "driver as new as NVRTC");
  check(code, ep::cat("the driver loads '", source.name, "'"));
  ModuleHandle module(out);
  // Best effort: if the cache is full or read-only, only the next start is slower.
  if (ep::host().cache_put != nullptr && instance.host != nullptr)
    ep::host().cache_put(instance.host, ep::to_str(key), ep::to_str(pack_binary(binary)), nullptr);
  return module;
}

ModuleHandle load_module(const Instance& instance, const Source& source, const std::string& defines) {
  const Target target = target_of(instance.device.limits().capability);
  const std::string key = key_of(target, program_key(source, defines));
  ModuleHandle out;
  with_deep_stack([&] {
    const Current current(instance.device.context());
    out = load_cached(instance, key);
    if (!out) out = make_module(instance, target, source, defines, key);
  });
  return out;
}

}  // namespace

std::string program_key(const Source& source, const std::string& defines) {
  return ep::cat(source.name, "/", checksum(source.text, checksum(prelude())), "/", defines);
}

Module::Module(const Instance& instance, const Source& source, const std::string& defines)
    : context_(instance.device.context()),
      name_(source.name),
      module_(load_module(instance, source, defines)) {}

CUfunction Module::function(const std::string& name) {
  const std::lock_guard lock(mutex_);
  CUfunction& known = functions_[name];
  if (known != nullptr) return known;
  const Current current(context_);
  check(driver().cuModuleGetFunction(&known, module_.get(), name.c_str()),
        ep::cat("kernel '", name, "' of '", name_, "'"));
  return known;
}

std::shared_ptr<Module> Modules::get(const Instance& instance, const Source& source,
                                     const std::string& defines, const std::string& key) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Slot>& known = slots_[key];
    if (known == nullptr) known = std::make_shared<Slot>();
    slot = known;
  }
  const std::lock_guard lock(slot->mutex);
  if (slot->module == nullptr) slot->module = std::make_shared<Module>(instance, source, defines);
  return slot->module;
}

void Modules::clear() {
  const std::lock_guard lock(mutex_);
  slots_.clear();
}

KernelRef find_kernel(const Instance& instance, const Source& source, const std::string& defines,
                      const std::string& name) {
  const std::string key = program_key(source, defines);
  const CUfunction function = instance.device.modules().get(instance, source, defines, key)->function(name);
  return {function, name, ep::cat(key, "/", name)};
}

KernelRef load_kernel(const ep::NodeView& node, const Source& source, const std::string& defines,
                      const std::string& name) {
  return find_kernel(instance_of(node), source, defines, name);
}

}  // namespace tenon::cuda
