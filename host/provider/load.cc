#include "host/provider/load.h"

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "host/base/fork.h"
#include "host/base/sanitizer.h"
#include "host/provider/library.h"
#include "host/provider/negotiate.h"
#include "host/provider/refusal.h"

namespace tenon::provider {
namespace {

std::atomic<bool> ending{false};

struct Builds {
  std::mutex mutex;
  std::vector<std::shared_ptr<Build>> all;
};
PerProcess<Builds> g_builds;

Builds& builds() {
  static const bool told = (at_end_of_process([] { ending.store(true, std::memory_order_release); }), true);
  static_cast<void>(told);
  return g_builds.get();
}

/// The hashes of everything that the provider runs.
std::string contents_of(const Manifest& manifest) {
  std::string out = manifest.file.sha256;
  for (const ManifestFile& file : manifest.files) out += str_cat(" ", file.path, " ", file.sha256);
  return out;
}

Result<std::shared_ptr<Build>> build_of(const Manifest& manifest, const LoadInputs& inputs) {
  Builds& table = builds();
  const std::string contents = contents_of(manifest);
  std::lock_guard<std::mutex> lock(table.mutex);
  for (const std::shared_ptr<Build>& build : table.all) {
    if (build->real_path != inputs.real_path) continue;
    if (build->identity == inputs.identity) return build;
    // The dynamic loader compares paths, so it would return the old file again.
    if (build->is_mapped) {
      if (build->contents == contents) {  // as after the same package was installed again
        build->identity = inputs.identity;
        return build;
      }
      return refuse(Refusal::kLoad,
                    str_cat("'", inputs.real_path, "' was replaced while its old content is in use"),
                    "give each version a path of its own, and restart the process to use this one");
    }
  }
  auto build = std::make_shared<Build>();
  build->real_path = inputs.real_path;
  build->contents = contents;
  build->identity = inputs.identity;
  build->generation = table.all.size() + 1;
  table.all.push_back(build);
  return build;
}

Status check_identity(const LoadInputs& inputs) {
  Result<FileIdentity> now = identity_of(inputs.real_path);
  if (now && *now == inputs.identity) return ok_status();
  return refuse(Refusal::kShaMismatch, str_cat("'", inputs.real_path, "' changed after it was checked"));
}

Result<std::shared_ptr<Library>> map_library(const Manifest& manifest, const LoadInputs& inputs) {
  RETURN_IF_ERROR(check_identity(inputs));
  Result<std::shared_ptr<Library>> library = Library::open(inputs.real_path);
  if (!library) {
    if (library.error().kind() == ErrorKind::kOutOfMemory) return library.error();
    Refusal code = load_refusal(library.error().message());
    return refuse(code, library.error().message(),
                  code == Refusal::kDepMissing ? std::string_view(manifest.required_hint) : "");
  }
  RETURN_IF_ERROR(check_identity(inputs));
  return library;
}

Result<Agreement> agree(const Library& library, const Manifest& manifest, const tenon_host_api* host) {
  auto entry = reinterpret_cast<tenon_ep_negotiate_fn>(library.function("tenon_ep_negotiate"));
  if (entry == nullptr) return refuse(Refusal::kNoEntry, "the library does not export tenon_ep_negotiate");
  ASSIGN_OR_RETURN(Negotiation talk,
                   negotiate(entry, 0, host, {manifest.id, manifest.version.to_string(), kHostSanitizer}));
  if (talk.refusal != Refusal::kNone) return refuse(talk.refusal, talk.reason);
  return std::move(talk.agreement);
}

}  // namespace

bool process_is_ending() { return ending.load(std::memory_order_acquire); }

std::shared_ptr<Build> find_build(const std::string& real_path, const FileIdentity& identity) {
  Builds& table = builds();
  std::lock_guard<std::mutex> lock(table.mutex);
  for (const std::shared_ptr<Build>& build : table.all) {
    if (build->real_path == real_path && build->identity == identity) return build;
  }
  return nullptr;
}

Result<std::shared_ptr<LoadedProvider>> load_provider(const std::shared_ptr<const Manifest>& manifest,
                                                      const LoadInputs& inputs) {
  ASSIGN_OR_RETURN(std::shared_ptr<Build> build, build_of(*manifest, inputs));
  std::unique_lock<std::mutex> lock(build->mutex);
  while (true) {
    if (std::shared_ptr<LoadedProvider> live = build->live.lock()) return live;
    if (!build->has_provider) return LoadedProvider::make(manifest, build, inputs);
    // The last reference is gone, but the provider is still being destroyed. A second one must not exist beside it.
    build->gone.wait(lock);
  }
}

// The caller holds the build's mutex.
Result<std::shared_ptr<LoadedProvider>> LoadedProvider::make(const std::shared_ptr<const Manifest>& manifest,
                                                             const std::shared_ptr<Build>& build,
                                                             const LoadInputs& inputs) {
  std::shared_ptr<Library> library = build->library;
  if (!library) {
    ASSIGN_OR_RETURN(library, map_library(*manifest, inputs));
    // A library that must stay mapped stays even when a later step fails.
    if (!manifest->traits.unloadable) build->library = library;
    build->is_mapped = build->library != nullptr;
  }
  ASSIGN_OR_RETURN(Agreement agreed, agree(*library, *manifest, inputs.host_api));

  std::shared_ptr<LoadedProvider> provider(new LoadedProvider());
  provider->manifest_ = manifest;
  provider->api_ = agreed.api;
  provider->abi_minor_ = agreed.minor;
  provider->build_id_ = agreed.build_id;
  provider->host_ = {manifest->id, manifest->version.to_string()};
  tenon_error error{};
  error.struct_size = sizeof error;
  tenon_status status = create_provider(agreed.api, 0, &provider->host_, build->real_path,
                                        manifest->directory, &provider->handle_, error);
  if (status != TENON_OK) {
    std::string text = bounded_text(error.message, sizeof error.message);
    if (status == TENON_RESOURCE_EXHAUSTED)
      return out_of_memory("provider_create: ", text).with_context(provider->label());
    return refuse(Refusal::kSelftest,
                  str_cat("provider_create: ", text.empty() ? str_cat("status ", status) : text));
  }
  provider->build_ = build;
  build->library = std::move(library);
  build->is_mapped = true;
  build->has_provider = true;
  build->live = provider;
  build->state = State::kActive;
  return provider;
}

}  // namespace tenon::provider
