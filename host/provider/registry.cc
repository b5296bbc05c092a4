#include "host/provider/registry.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

#include "core/base/nearest.h"
#include "host/base/out_of_memory.h"
#include "host/base/text.h"
#include "host/provider/choose.h"
#include "host/provider/entry.h"
#include "host/provider/load.h"
#include "host/provider/search.h"

namespace tenon::provider {
namespace {

std::string described(const Entry& entry) {
  std::string label =
      entry.manifest ? str_cat(entry.manifest->id, " ", entry.manifest->version.to_string(), " (") : "(";
  return str_cat(label, entry.found.path, ", place ", static_cast<int>(entry.found.place), " ",
                 place_name(entry.found.place), ")");
}

// A manifest that cannot be parsed has no id, so its file name is compared.
bool is_named_after(const Entry& entry, std::string_view id) {
  std::string name = std::filesystem::path(entry.found.path).filename().string();
  bool begins = name.compare(0, id.size(), id) == 0;
  return begins && name.size() > id.size() && (name[id.size()] == '.' || name[id.size()] == '-');
}

}  // namespace

std::string ProviderInfo::explain() const {
  std::string label = manifest ? str_cat(manifest->id, " ", manifest->version.to_string())
                               : std::string("unreadable manifest");
  std::string verdict = refusal != Refusal::kNone ? std::string(refusal_name(refusal))
                        : chosen                  ? "accepted"
                                                  : "not used";
  std::string out = str_cat(verdict, ": ", label, " (", manifest_path, ", place ", static_cast<int>(place),
                            " ", place_name(place), ")");
  if (!reason.empty()) out += ": " + reason;
  if (!cure.empty()) out += "; " + cure;
  return out;
}

Status ProviderInfo::status() const {
  if (refusal == Refusal::kNone) return ok_status();
  return refuse(refusal, reason, cure).with_context(str_cat("provider manifest '", manifest_path, "'"));
}

RegistryOptions RegistryOptions::from_config(const config::Config& config, const tenon_host_api* host_api) {
  RegistryOptions options;
  options.host_api = host_api;
  options.discovery = config->discovery;
  if (const config::EffectiveValue* deny = config.find("discovery.deny"))
    options.deny_origin = deny->origin();
  if (const config::EffectiveValue* allow = config.find("discovery.allow"))
    options.allow_origin = allow->origin();
  for (const auto& entry : config->providers) {
    if (!entry.second.version.empty()) options.versions[entry.first] = entry.second.version;
  }
  return options;
}

Status check_registered_path(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return ok_status();
  return not_found("'", path, "' is neither a manifest nor a folder").with_kind(ErrorKind::kProviderMissing);
}

struct ProviderRegistry::Impl {
  explicit Impl(RegistryOptions given) : options(std::move(given)), checker(options) {}

  RegistryOptions options;
  Checker checker;
  std::mutex mutex;  // guards all members
  Entries entries;
  std::vector<std::string> notices, folders;

  VersionRange range_of(std::string_view id) const {
    auto found = options.versions.find(std::string(id));
    if (found == options.versions.end()) return VersionRange();
    return VersionRange::parse(found->second).value_or(VersionRange());
  }

  Entry* chosen(std::string_view id) const { return first_accepted(candidates(entries, id, range_of(id))); }

  void search();
  Result<Entry*> check_until_accepted(std::string_view id, const VersionRange& range, CheckLevel level);
  ProviderInfo info_of(const Entry& entry) const;
  void explain_choice(const Entry& entry, ProviderInfo& info) const;
  bool must_be_named(std::string_view id) const;
  void add_passed_over(const std::string& id, bool automatic, std::vector<PassedOver>* out) const;
  Status why_none(std::string_view id, const VersionRange& range) const;
  std::vector<std::string> known_ids() const;
};

void ProviderRegistry::Impl::search() {
  for (const Found& found : search_manifests(options, notices, folders)) {
    if (std::error_code error;
        std::filesystem::exists(found.path, error))  // false when removed since it was listed
      entries.push_back(checker.discover(found));
  }
}

// Checks the candidates from the best on until one is accepted. list() keeps the reasons of the others.
Result<Entry*> ProviderRegistry::Impl::check_until_accepted(std::string_view id, const VersionRange& range,
                                                            CheckLevel level) {
  for (Entry* entry : candidates(entries, id, range)) {
    if (!Checker::is_fresh(*entry)) Checker::forget_files(*entry);
    Status checked = checker.check(*entry, level);
    if (!checked.ok()) return std::move(checked).with_context(str_cat("provider ", described(*entry)));
    if (entry->ok()) return entry;
  }
  return static_cast<Entry*>(nullptr);
}

void ProviderRegistry::Impl::explain_choice(const Entry& entry, ProviderInfo& info) const {
  const std::string& id = entry.manifest->id;
  const Entry* taken = chosen(id);
  if (taken == &entry) {
    info.chosen = true;
    for (const Entry* other : candidates(entries, id, range_of(id))) {
      if (other == &entry) break;
      info.reason = str_cat("used because ", described(*other), " was refused: ", other->refused.refusal());
    }
  } else if (const Entry* twin = earlier_twin(entries, entry)) {
    info.refusal = Refusal::kDuplicateId;
    info.reason = str_cat("the same version was found earlier: ", described(*twin));
    info.cure = refusal_cure(info.refusal);
  } else if (!range_of(id).contains(entry.manifest->version)) {
    info.reason =
        str_cat("outside the configured range '", range_of(id).text(), "' of provider.", id, ".version");
  } else if (taken != nullptr) {
    bool overridden = taken->is_explicit() && !entry.is_explicit();
    info.reason = str_cat(overridden ? "overridden by " : "a higher version is taken: ", described(*taken));
  }
}

ProviderInfo ProviderRegistry::Impl::info_of(const Entry& entry) const {
  ProviderInfo info;
  info.manifest_path = entry.found.path;
  info.place = entry.found.place;
  info.manifest = entry.manifest;
  info.checked = entry.checked;
  info.devices = entry.devices;
  info.file_path = !entry.file.real_path.empty() ? entry.file.real_path
                   : entry.manifest              ? entry.manifest->file_path()
                                                 : "";
  if (!entry.ok()) {
    info.refusal = refusal_from_name(entry.refused.refusal());
    info.reason = entry.refused.reason();
    info.cure = entry.refused.cure();
    return info;
  }
  explain_choice(entry, info);
  if (entry.scanned) info.state = State::kScanned;
  std::shared_ptr<Build> build =
      entry.file.real_path.empty() ? nullptr : find_build(entry.file.real_path, entry.file.identity);
  if (build && build->state != State::kScanned) {
    const State state = build->state;
    info.state = state == State::kActive && !info.chosen ? State::kDraining : state;
    info.generation = build->generation;
  }
  return info;
}

// True when the id is found only in places whose providers must be named.
bool ProviderRegistry::Impl::must_be_named(std::string_view id) const {
  return std::none_of(entries.begin(), entries.end(), [&](const std::shared_ptr<Entry>& other) {
    const Place place = other->found.place;
    const bool is_usual = place == Place::kLibrary || place == Place::kSystem || place == Place::kEnvFiles;
    return is_usual && other->manifest && other->manifest->id == id;
  });
}

void ProviderRegistry::Impl::add_passed_over(const std::string& id, bool automatic,
                                             std::vector<PassedOver>* out) const {
  const Entry* taken = chosen(id);
  const std::string instead = taken == nullptr ? "" : str_cat(id, " ", taken->manifest->version.to_string());
  const auto add = [&](const Entry& entry, Skip skip, std::string reason) {
    out->push_back(provider::passed_over(id, entry.manifest->version.to_string(), skip, std::move(reason)));
    out->back().instead = instead;
  };
  for (const Entry* entry : candidates(entries, id, range_of(id))) {
    if (entry == taken) break;
    out->push_back(provider::passed_over(id, entry->manifest->version.to_string(), entry->refused));
    out->back().instead = instead;
  }
  for (const Entry* entry : candidates(entries, id, VersionRange())) {
    const bool higher = taken == nullptr || entry->manifest->version > taken->manifest->version;
    if (entry == taken || !entry->ok()) continue;
    if (const Entry* twin = earlier_twin(entries, *entry)) {
      out->push_back(provider::passed_over(
          id, entry->manifest->version.to_string(),
          refuse(Refusal::kDuplicateId, str_cat("the same version was found earlier: ", described(*twin)))));
      out->back().instead = instead;
    } else if (!higher) {
      continue;
    } else if (!range_of(id).contains(entry->manifest->version)) {
      add(*entry, Skip::kVersion, str_cat("provider.", id, ".version is '", range_of(id).text(), "'"));
    } else {
      add(*entry, Skip::kOverridden, str_cat("an explicit path comes first: ", described(*taken)));
    }
  }
  if (automatic && taken != nullptr && must_be_named(id))
    out->push_back(provider::passed_over(
        id, taken->manifest->version.to_string(), Skip::kUnnamed,
        str_cat("it is found in the place '", place_name(taken->found.place), "' only")));
  if (automatic && taken != nullptr && taken->manifest->priority < 0)
    out->push_back(provider::passed_over(id, taken->manifest->version.to_string(), Skip::kByName,
                                         "the priority in its manifest is below 0"));
}

std::vector<std::string> ProviderRegistry::Impl::known_ids() const {
  std::set<std::string> ids;
  for (const std::shared_ptr<Entry>& entry : entries) {
    if (entry->manifest) ids.insert(entry->manifest->id);
  }
  return {ids.begin(), ids.end()};
}

Status ProviderRegistry::Impl::why_none(std::string_view id, const VersionRange& range) const {
  std::vector<Entry*> refused = candidates(entries, id, range);
  if (!refused.empty())
    return Status(refused[0]->refused).with_context(str_cat("provider ", described(*refused[0])));
  std::vector<Entry*> any = candidates(entries, id, VersionRange());
  if (!any.empty()) {
    std::vector<std::string> versions;
    for (const Entry* entry : any) versions.push_back(entry->manifest->version.to_string());
    return Status(
        StatusCode::kNotFound,
        str_cat("provider '", id, "' is installed in version ", join(versions, ", "), ", which '",
                range.text(), "' excludes; install a matching version or change provider.", id, ".version"),
        ErrorKind::kProviderMissing);
  }
  for (const std::shared_ptr<Entry>& entry : entries) {
    if (!entry->manifest && is_named_after(*entry, id)) {
      return Status(entry->refused).with_context(str_cat("provider ", described(*entry)));
    }
  }
  std::vector<std::string> ids = known_ids();
  std::string nearest = nearest_name(id, ids);
  return Status(StatusCode::kNotFound,
                str_cat("provider '", id, "' is not installed",
                        nearest.empty() ? "" : str_cat(" (did you mean '", nearest, "'?)"),
                        "; installed: ", ids.empty() ? "none" : join(ids, ", "),
                        "; searched: ", folders.empty() ? "no folder" : join(folders, ", "),
                        "; install it, or name its folder in discovery.search"),
                ErrorKind::kProviderMissing);
}

ProviderRegistry::ProviderRegistry(RegistryOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {
  impl_->search();
}
ProviderRegistry::~ProviderRegistry() = default;

std::vector<ProviderInfo> ProviderRegistry::list(CheckLevel level) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  for (const std::shared_ptr<Entry>& entry : impl_->entries)
    throw_if_out_of_memory(impl_->checker.check(*entry, level));
  std::vector<ProviderInfo> out;
  for (const std::shared_ptr<Entry>& entry : impl_->entries) out.push_back(impl_->info_of(*entry));
  return out;
}

Result<ProviderInfo> ProviderRegistry::find(std::string_view id, CheckLevel level) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  VersionRange range = impl_->range_of(id);
  ASSIGN_OR_RETURN(const Entry* entry, impl_->check_until_accepted(id, range, level));
  if (entry == nullptr) return impl_->why_none(id, range);
  return impl_->info_of(*entry);
}

std::vector<std::string> ProviderRegistry::ids(bool automatic) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  std::vector<const Entry*> chosen;
  for (const std::string& id : impl_->known_ids()) {
    const Entry* entry = impl_->chosen(id);
    if (entry == nullptr) continue;
    const bool waits = impl_->must_be_named(id) || entry->manifest->priority < 0;
    if (!(automatic && waits)) chosen.push_back(entry);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const Entry* a, const Entry* b) {
    return a->manifest->priority > b->manifest->priority;  // already sorted by id
  });
  std::vector<std::string> out;
  for (const Entry* entry : chosen) out.push_back(entry->manifest->id);
  return out;
}

Result<std::shared_ptr<LoadedProvider>> ProviderRegistry::load(std::string_view id,
                                                               std::string_view version) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  VersionRange range = impl_->range_of(id);
  if (!version.empty()) {
    ASSIGN_OR_RETURN(range, VersionRange::parse(version));
  }
  // A library that passed the scan may still fail in this process. Then the next candidate is tried.
  while (true) {
    ASSIGN_OR_RETURN(Entry* const entry, impl_->check_until_accepted(id, range, CheckLevel::kScan));
    if (entry == nullptr) return impl_->why_none(id, range);
    LoadInputs inputs{impl_->options.host_api, entry->file.real_path, entry->file.identity};
    Result<std::shared_ptr<LoadedProvider>> provider = load_provider(entry->manifest, inputs);
    if (!provider) {
      if (provider.error().kind() == ErrorKind::kOutOfMemory)
        return Status(provider.error()).with_context(str_cat("provider ", described(*entry)));
      entry->refused = provider.error();
      continue;
    }
    return provider;
  }
}

std::vector<PassedOver> ProviderRegistry::passed_over(const std::vector<std::string>* named) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  std::vector<PassedOver> out;
  const auto is_wanted = [&](const std::string& id) {
    return named == nullptr || std::find(named->begin(), named->end(), id) != named->end();
  };
  for (const std::string& id : impl_->known_ids()) {
    if (is_wanted(id)) impl_->add_passed_over(id, named == nullptr, &out);
  }
  for (const std::shared_ptr<Entry>& entry : impl_->entries) {
    if (entry->manifest) continue;
    const auto meant = [&](const std::string& id) { return is_named_after(*entry, id); };
    if (named == nullptr || std::any_of(named->begin(), named->end(), meant))
      out.push_back(provider::passed_over(entry->found.path, "", entry->refused));
  }
  return out;
}

std::vector<std::string> ProviderRegistry::notices() {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->notices;
}

ProviderRegistry::Known ProviderRegistry::known() {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  Known known;
  for (const std::string& id : impl_->known_ids()) {
    std::vector<Entry*> any = candidates(impl_->entries, id, impl_->range_of(id));
    if (any.empty()) any = candidates(impl_->entries, id, VersionRange());
    const Entry* entry = first_accepted(any);
    known.manifests.push_back(entry ? entry->manifest : any[0]->manifest);
    known.providers.push_back({id, known.manifests.back()->options});
  }
  return known;
}

}  // namespace tenon::provider
