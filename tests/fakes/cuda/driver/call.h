// The frame of every function of the driver: locks, checks, counts, logs.
#pragma once

#include <exception>
#include <mutex>
#include <string>
#include <type_traits>

#include "state.h"

namespace fake_cuda {

/// Ends a call with this code. `why` goes into the log.
struct Refusal {
  CUresult code = CUDA_ERROR_UNKNOWN;
  std::string why;
};
[[noreturn]] inline void refuse(CUresult code, std::string why = {}) { throw Refusal{code, std::move(why)}; }
inline void require(bool condition, CUresult code, const char* why = "") {
  if (!condition) refuse(code, why);
}

/// What a function needs. kUnsafe: not allowed where a stream is being captured.
enum Need : unsigned { kNothing = 0, kDriver = 1, kContext = 3, kUnsafe = 4 };

/// A call in progress.
class Call {
 public:
  explicit Call(const char* name) : name_(name), lock_(driver().mutex) {}
  /// Throws a Refusal if something is missing.
  void enter(unsigned needs);
  /// The device of the current context.
  Device& device() const { return *device_; }
  std::unique_lock<std::mutex>& lock() { return lock_; }
  const char* name() const { return name_; }
  /// Shown in the log behind the name.
  void say(std::string text) {
    if (driver().log.is_open()) detail_ = std::move(text);
  }
  CUresult finish(CUresult code, const std::string& why = {});

 private:
  const char* name_;
  std::unique_lock<std::mutex> lock_;
  Device* device_ = nullptr;
  std::string detail_;
};

/// Why every call fails here: not initialised, or a child of fork. Unlike a Call it needs no lock.
CUresult why_unusable(unsigned needs);

/// Runs `body(call)`, which returns nothing or a CUresult, or throws a Refusal.
template <class Body>
CUresult run_call(const char* name, unsigned needs, Body&& body) {
  if (const CUresult code = why_unusable(needs); code != CUDA_SUCCESS) return code;
  Call call(name);
  try {
    call.enter(needs);
    if constexpr (std::is_void_v<decltype(body(call))>) {
      body(call);
      return call.finish(CUDA_SUCCESS);
    } else {
      return call.finish(body(call));
    }
  } catch (const Refusal& refusal) {
    return call.finish(refusal.code, refusal.why);
  } catch (const std::exception& error) {
    return call.finish(CUDA_ERROR_UNKNOWN, error.what());
  }
}

// ---- Handles ----

template <class T>
void add_handle(T* object, Kind kind, Device* device) {
  object->kind = kind;
  object->device = device;
  driver().handles[object] = kind;
}
inline void remove_handle(const void* object) { driver().handles.erase(object); }
/// The object behind a handle. Refuses what is none, or of another kind.
template <class T>
T& object_of(const void* handle, Kind kind) {
  const auto found = driver().handles.find(handle);
  if (found == driver().handles.end() || found->second != kind)
    refuse(CUDA_ERROR_INVALID_HANDLE, std::string("no such ") + name_of(kind));
  return *static_cast<T*>(const_cast<void*>(handle));
}
inline Event& event_of(CUevent handle) { return object_of<Event>(handle, Kind::kEvent); }
inline Context& context_of(CUcontext handle) { return object_of<Context>(handle, Kind::kContext); }
inline Module& module_of(CUmodule handle) { return object_of<Module>(handle, Kind::kModule); }
inline Pool& pool_of(CUmemoryPool handle) { return object_of<Pool>(handle, Kind::kPool); }
inline Graph& graph_of(CUgraph handle) { return object_of<Graph>(handle, Kind::kGraph); }
inline GraphExec& exec_of(CUgraphExec handle) { return object_of<GraphExec>(handle, Kind::kGraphExec); }
/// The null stream is the current context's.
Stream& stream_of(const Call& call, CUstream handle);
Device& device_of_ordinal(CUdevice device);

}  // namespace fake_cuda
