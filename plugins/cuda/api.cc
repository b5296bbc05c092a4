#include "api.h"

#include <atomic>
#include <mutex>
#include <optional>

namespace tenon::cuda {
namespace {

constexpr int kNeededVersion = 13000;

constexpr std::string_view kDriverCure = "install the NVIDIA driver 580 or later";

/// The driver's functions, or why they cannot be used.
struct Driver {
  DriverApi api;
  std::optional<ep::Error> error;
};

Driver refused(tenon_status code, std::string text) { return {{}, ep::Error{code, std::move(text)}}; }

std::string describe(const DriverApi& api, CUresult code) {
  const char *name = nullptr, *meaning = nullptr;
  if (api.cuGetErrorName(code, &name) != CUDA_SUCCESS || name == nullptr)
    return ep::cat("CUDA error ", static_cast<int>(code));
  if (api.cuGetErrorString(code, &meaning) != CUDA_SUCCESS || meaning == nullptr) return name;
  return ep::cat(name, " (", meaning, ")");
}

Driver load_driver() {
  Library library(driver_library());
  if (!library.is_open())
    return refused(TENON_NOT_FOUND,
                   ep::cat("there is no NVIDIA driver (", library.why_not(), "); ", kDriverCure));
  Driver out;
  decltype(&::cuDriverGetVersion) get_version = nullptr;
  library.load("cuDriverGetVersion", &get_version);
  if (get_version != nullptr && get_version(&out.api.version) == CUDA_SUCCESS &&
      out.api.version < kNeededVersion)
    return refused(TENON_FAILED_PRECONDITION,
                   ep::cat("the NVIDIA driver has CUDA ", version_text(out.api.version), ", and ",
                           version_text(kNeededVersion), " is needed; ", kDriverCure));
  out.api.load(library);
  if (!library.missing().empty())
    return refused(TENON_FAILED_PRECONDITION,
                   ep::cat("the NVIDIA driver lacks the function ", library.missing(), "; ", kDriverCure));
  const CUresult code = out.api.cuInit(0);
  if (code == CUDA_ERROR_NO_DEVICE)
    return refused(TENON_NOT_FOUND, "the NVIDIA driver finds no GPU; nvidia-smi tells what it sees");
  if (code != CUDA_SUCCESS)
    return refused(TENON_UNAVAILABLE, ep::cat("the NVIDIA driver does not start: cuInit: ",
                                              describe(out.api, code), "; nvidia-smi may tell more"));
  return out;
}

const OptionalApi<NvrtcApi>& opened_nvrtc() {
  static const OptionalApi<NvrtcApi> once(nvrtc_library(13),
                                          install_cure("NVRTC 13", "cuda-nvrtc-13-0", "nvidia-cuda-nvrtc"));
  return once;
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
  static const Driver loaded = [] {
    g_process.claim();
    return load_driver();
  }();
  if (loaded.error) throw ep::Error(*loaded.error);
  return loaded.api;
}

bool NvrtcApi::read_version() {
  int major = 0, minor = 0;
  if (nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) return false;
  version = major * 1000 + minor * 10;
  return true;
}

const NvrtcApi& nvrtc() {
  const NvrtcApi* const api = opened_nvrtc().get();
  ep::require(api != nullptr, TENON_FAILED_PRECONDITION, why_no_nvrtc());
  return *api;
}

std::string why_no_nvrtc() {
  const std::string& why = opened_nvrtc().why_not();
  return why.empty() ? why : "there is no NVRTC, which compiles the kernels: " + why;
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
