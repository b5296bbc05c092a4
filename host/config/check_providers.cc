// Compares what the config names with what is installed.
#include <algorithm>

#include "core/base/nearest.h"
#include "host/base/text.h"
#include "host/config/config.h"
#include "host/config/schema.h"

namespace tenon::config {
namespace {

struct ProviderCheck {
  std::span<const KnownProvider> known;
  std::vector<std::string> ids;
  std::vector<std::string> errors;

  void id(const Value& at, std::string_view key, std::string_view name) {
    if (std::find(ids.begin(), ids.end(), name) != ids.end()) return;
    std::string nearest = nearest_name(name, ids);
    std::string hint = nearest.empty() ? "" : str_cat(" (did you mean '", nearest, "'?)");
    std::string installed = ids.empty() ? "none" : join(ids, ", ");
    errors.push_back(str_cat(at.where().to_string(), ": '", key, "' names the unknown provider '", name, "'",
                             hint, "; installed: ", installed));
  }

  void order(const Value& value) {
    if (!value.as_array()) return;
    for (const Value& entry : *value.as_array()) id(entry, "select.order", provider_of(*entry.as_string()));
  }

  void placement(const Value& value) {
    for (const Value& rule : *value.as_array()) {
      for (const auto& member : *rule.as_table()) {
        if (member.first == "provider")
          id(member.second, "placement", provider_of(*member.second.as_string()));
      }
    }
  }
};

}  // namespace

Status Config::check_providers(std::span<const KnownProvider> known) const {
  ProviderCheck check{known, {}, {}};
  for (const KnownProvider& provider : known) check.ids.push_back(provider.id);
  std::sort(check.ids.begin(), check.ids.end());
  if (settings_.select.fallback == OnFailure::kError) {
    check.order(values_.at("select.order").value);
    check.placement(values_.at("placement").value);
    std::string previous;
    for (const auto& [key, effective] : values_) {
      std::string name(provider_in_key(key));
      if (!name.empty() && name != previous) check.id(effective.value, "provider." + name, name);
      previous = name;
    }
  }
  for (const KnownProvider& provider : known) {
    Status status =
        validate_options(provider.id, provider.options, this->provider(provider.id).options).status();
    if (!status.ok()) check.errors.emplace_back(status.message());
  }
  if (!check.errors.empty()) return config_error(join(check.errors, "\n"));
  return ok_status();
}

}  // namespace tenon::config
