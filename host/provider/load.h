// Mapping a checked library into this process and making a provider of it.
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

/// What loading needs beside the manifest.
struct LoadContext {
  const tenon_host_api* host_api = nullptr;
  std::string real_path;
  FileIdentity identity;  // as it was checked
};

/// The provider of that file, loaded now or already loaded by anybody in this process. Refusals: E_LOAD,
/// E_LIBC, E_DEP_MISSING, E_SHA_MISMATCH (changed since it was checked), E_NO_ENTRY, E_NEGOTIATE and its kin,
/// E_SELFTEST. Thread-safe.
Result<std::shared_ptr<LoadedProvider>> load_provider(std::shared_ptr<const Manifest> manifest,
                                                      const LoadContext& context);

/// One library file that is or was mapped: outlives its LoadedProviders, of which there is at most one at a
/// time.
struct Build {
  std::string real_path, sha256;
  FileIdentity identity;
  uint64_t generation = 0;
  std::atomic<State> state{State::kScanned};
  std::atomic<bool> is_mapped{false};

  std::mutex mutex;  // guards what follows, and creation and destruction of the provider
  std::shared_ptr<Library> library;
  std::weak_ptr<LoadedProvider> live;
  bool has_provider = false;  // until the last one is completely destroyed; then `gone` is notified
  std::condition_variable gone;
};

/// The build of a file if it was ever loaded, else null.
std::shared_ptr<Build> find_build(const std::string& real_path, const FileIdentity& identity);

/// True once the process runs its exit handlers: nothing of a provider is called or unmapped any more.
bool process_is_ending();

}  // namespace tenon::provider
