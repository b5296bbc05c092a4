// Maps a checked library into this process and makes a provider of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/result.h"
#include "host/provider/loaded_provider.h"
#include "host/provider/open_file.h"

namespace tenon::provider {

class Library;

/// What loading needs besides the manifest.
struct LoadInputs {
  const tenon_host_api* host_api = nullptr;
  std::string real_path;
  FileIdentity identity;  // as it was when checked
};

/// The provider of that file; loads it unless it is already loaded in this process. Refusals: E_LOAD, E_LIBC,
/// E_DEP_MISSING, E_SHA_MISMATCH (changed since it was checked), E_NO_ENTRY, those of negotiate(), E_SELFTEST.
/// Thread-safe.
Result<std::shared_ptr<LoadedProvider>> load_provider(const std::shared_ptr<const Manifest>& manifest,
                                                      const LoadInputs& inputs);

/// A library file that is or was mapped. It outlives its LoadedProviders, of which there is at most one at a time.
struct Build {
  std::string real_path;
  std::string contents;   // hashes of the library and of the files that its manifest lists
  FileIdentity identity;  // guarded by the mutex of the list of builds
  uint64_t generation = 0;
  std::atomic<State> state{State::kScanned};
  std::atomic<bool> is_mapped{false};

  std::mutex mutex;  // guards the members below, and creation and destruction of the provider
  std::shared_ptr<Library> library;
  std::weak_ptr<LoadedProvider> live;
  bool has_provider = false;  // true until the last provider is completely destroyed; then `gone` is notified
  std::condition_variable gone;
};

/// The build of a file that was loaded before, or null.
std::shared_ptr<Build> find_build(const std::string& real_path, const FileIdentity& identity);

/// True once exit handlers run. From then on the host neither calls nor unmaps a provider.
bool process_is_ending();

}  // namespace tenon::provider
