#include "api.h"

#include <atomic>
#include <mutex>
#include <optional>

namespace tenon::cuda {
namespace {

constexpr int kNeededVersion = 13000;

#if defined(_WIN32)
const std::vector<std::string> kDriverNames{"nvcuda.dll"};
const std::vector<std::string> kNvrtcNames{"nvrtc64_130_0.dll"};
#else
const std::vector<std::string> kDriverNames{"libcuda.so.1"};
const std::vector<std::string> kNvrtcNames{"libnvrtc.so.13"};
#endif

constexpr std::string_view kDriverCure = "install the NVIDIA driver 580 or later";
constexpr std::string_view kNvrtcCure =
    "install NVRTC 13 (the package cuda-nvrtc-13-0 or, from PyPI, nvidia-cuda-nvrtc) where the loader finds "
    "it, "
    "for example by LD_LIBRARY_PATH";

// The name of a function behind the version macros of cuda.h.
#define TENON_CUDA_TEXT_OF(function) #function
#define TENON_CUDA_TEXT(function) TENON_CUDA_TEXT_OF(function)

template <class Function>
void load(const Library& library, const char* name, Function** out, std::string* missing) {
  *out = reinterpret_cast<Function*>(library.symbol(name));
  if (*out == nullptr && missing->empty()) *missing = name;
}

/// A table, or why there is none.
template <class Api>
struct Loaded {
  Api api;
  std::optional<ep::Error> error;
};

template <class Api>
const Api& require_loaded(const Loaded<Api>& loaded) {
  if (loaded.error) throw ep::Error(*loaded.error);
  return loaded.api;
}

template <class Api>
Loaded<Api> refused(tenon_status code, std::string text) {
  return {{}, ep::Error{code, std::move(text)}};
}

Loaded<DriverApi> refuse_driver(tenon_status code, std::string text) {
  return refused<DriverApi>(code, std::move(text));
}

std::string describe(const DriverApi& api, CUresult code) {
  const char *name = nullptr, *meaning = nullptr;
  if (api.cuGetErrorName(code, &name) != CUDA_SUCCESS || name == nullptr)
    return ep::cat("CUDA error ", static_cast<int>(code));
  if (api.cuGetErrorString(code, &meaning) != CUDA_SUCCESS || meaning == nullptr) return name;
  return ep::cat(name, " (", meaning, ")");
}

Loaded<DriverApi> load_driver() {
  const Library library(kDriverNames);
  if (!library.is_open())
    return refuse_driver(TENON_NOT_FOUND,
                         ep::cat("there is no NVIDIA driver (", library.why_not(), "); ", kDriverCure));
  Loaded<DriverApi> out;
  std::string missing;
  decltype(&::cuDriverGetVersion) get_version = nullptr;
  load(library, "cuDriverGetVersion", &get_version, &missing);
  if (get_version != nullptr && get_version(&out.api.version) == CUDA_SUCCESS &&
      out.api.version < kNeededVersion)
    return refuse_driver(TENON_FAILED_PRECONDITION,
                         ep::cat("the NVIDIA driver has CUDA ", version_text(out.api.version), ", and ",
                                 version_text(kNeededVersion), " is needed; ", kDriverCure));
#define TENON_CUDA_LOAD(function) load(library, TENON_CUDA_TEXT(function), &out.api.function, &missing);
  TENON_CUDA_FUNCTIONS(TENON_CUDA_LOAD)
  if (!missing.empty())
    return refuse_driver(TENON_FAILED_PRECONDITION,
                         ep::cat("the NVIDIA driver lacks the function ", missing, "; ", kDriverCure));
  const CUresult code = out.api.cuInit(0);
  if (code == CUDA_ERROR_NO_DEVICE)
    return refuse_driver(TENON_NOT_FOUND, "the NVIDIA driver finds no GPU; nvidia-smi tells what it sees");
  if (code != CUDA_SUCCESS)
    return refuse_driver(TENON_UNAVAILABLE, ep::cat("the NVIDIA driver does not start: cuInit: ",
                                                    describe(out.api, code), "; nvidia-smi may tell more"));
  return out;
}

Loaded<NvrtcApi> load_nvrtc() {
  const Library library(kNvrtcNames);
  if (!library.is_open())
    return refused<NvrtcApi>(
        TENON_FAILED_PRECONDITION,
        ep::cat("there is no NVRTC, which compiles the kernels (", library.why_not(), "); ", kNvrtcCure));
  Loaded<NvrtcApi> out;
  std::string missing;
#define TENON_NVRTC_LOAD(function) load(library, TENON_CUDA_TEXT(function), &out.api.function, &missing);
  TENON_NVRTC_FUNCTIONS(TENON_NVRTC_LOAD)
  int major = 0, minor = 0;
  if (!missing.empty() || out.api.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS)
    return refused<NvrtcApi>(
        TENON_FAILED_PRECONDITION,
        ep::cat("NVRTC lacks the function ", missing.empty() ? "nvrtcVersion" : missing, "; ", kNvrtcCure));
  out.api.version = major * 1000 + minor * 10;
  return out;
}

const Loaded<NvrtcApi>& loaded_nvrtc() {
  static const Loaded<NvrtcApi> loaded = load_nvrtc();
  return loaded;
}

/// What ended the use of CUDA in this process.
struct Loss {
  std::atomic<bool> is_set{false};
  std::mutex mutex;
  std::string text;  // guarded by mutex
};
Loss& loss() {
  static auto* const made = new Loss;  // never destroyed: handles may be released while statics are destroyed
  return *made;
}

ep::Error lost(std::string text) {
  return {TENON_UNAVAILABLE, std::move(text), TENON_ERROR_DEVICE_LOST | TENON_ERROR_PROCESS_LOST};
}

/// Errors after which the driver does nothing more in this process.
bool ends_process(CUresult code) {
  switch (code) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
      return true;
    default:
      return false;
  }
}

tenon_status status_of(CUresult code) {
  switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return TENON_RESOURCE_EXHAUSTED;
    case CUDA_ERROR_NOT_SUPPORTED:
      return TENON_UNIMPLEMENTED;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
      return TENON_NOT_FOUND;
    case CUDA_ERROR_NOT_PERMITTED:
      return TENON_PERMISSION_DENIED;
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_MPS_CONNECTION_FAILED:
    case CUDA_ERROR_MPS_RPC_FAILURE:
    case CUDA_ERROR_MPS_SERVER_NOT_READY:
    case CUDA_ERROR_MPS_MAX_CLIENTS_REACHED:
    case CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED:
      return TENON_UNAVAILABLE;
    default:
      return TENON_INTERNAL;
  }
}

}  // namespace

std::string version_text(int version) { return ep::cat(version / 1000, ".", version % 1000 / 10); }

const DriverApi& driver() {
  static const Loaded<DriverApi> loaded = [] {
    g_process.claim();
    return load_driver();
  }();
  return require_loaded(loaded);
}

const NvrtcApi& nvrtc() { return require_loaded(loaded_nvrtc()); }

std::string why_no_nvrtc() {
  const Loaded<NvrtcApi>& loaded = loaded_nvrtc();
  return loaded.error ? loaded.error->text : std::string();
}

std::string error_text(CUresult code) { return describe(driver(), code); }

ep::Error error_of(CUresult code, std::string_view what) {
  std::string text = ep::cat(what, ": ", error_text(code));
  if (!ends_process(code)) return {status_of(code), std::move(text)};
  text += "; after it CUDA does nothing more in this process, so start a new one";
  Loss& known = loss();
  const std::lock_guard lock(known.mutex);
  if (known.text.empty()) known.text = text;
  known.is_set.store(true, std::memory_order_release);
  return lost(std::move(text));
}

void require_alive() {
  Loss& known = loss();
  if (!known.is_set.load(std::memory_order_acquire)) [[likely]]
    return;
  const std::lock_guard lock(known.mutex);
  throw lost(ep::cat("an earlier error: ", known.text));
}

}  // namespace tenon::cuda
