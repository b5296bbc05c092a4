#include "host/session/check.h"

#include <algorithm>

#include "host/base/text.h"
#include "host/selection/placement.h"
#include "host/selection/providers.h"
#include "host/services/trace.h"
#include "host/session/transforms.h"

namespace tenon::session {
namespace {

/// The text of `status` as an error of a session shows it.
std::string text_of(const Status& status) {
  return status.where().empty() ? std::string(status.message())
                                : str_cat(status.where(), ": ", status.message());
}

/// Adds an error to the report. A config error lists one mistake per line: each line is added as an error.
void add(ConfigReport* report, const Status& status) {
  if (status.ok()) return;
  if (status.kind() != ErrorKind::kConfig) return report->errors.push_back(text_of(status));
  for (std::string& line : split(text_of(status), '\n')) report->errors.push_back(std::move(line));
}

std::vector<std::string> ids_of(const provider::ProviderRegistry::Known& known) {
  std::vector<std::string> out;
  for (const config::KnownProvider& each : known.providers) out.push_back(each.id);
  return out;
}

bool is_about_options(const Status& status) {
  return status.kind() == ErrorKind::kConfig && status.message().find(".options.") != std::string_view::npos;
}

}  // namespace

ConfigReport check_config(const config::Config& config, const SessionOptions& options) {
  ConfigReport report;
  const config::Settings& settings = config.settings();
  if (!settings.profiling_file.empty()) add(&report, runtime::check_trace_file(settings.profiling_file));
  add(&report, transforms_of(settings, {}).status());

  provider::ProviderRegistry registry(runtime::registry_options(config, options.registered));
  const provider::ProviderRegistry::Known known = runtime::known_providers(config, registry);
  const std::vector<std::string> ids = ids_of(known);
  const Status named = config.check_providers(known.providers);
  add(&report, named);
  std::vector<runtime::Failure> failures;
  const runtime::Selection selection = runtime::try_instances(config, registry, &failures);
  for (const runtime::Failure& failure : failures) {
    // `named` already lists providers that are not installed and options that are wrong.
    const std::string id(config::provider_of(failure.entry));
    const bool is_installed = std::find(ids.begin(), ids.end(), id) != ids.end();
    const bool is_said = !named.ok() && (!is_installed || is_about_options(failure.reason));
    if (!is_said) add(&report, failure.reason);
  }

  report.warnings = registry.notices();
  for (std::string& text : config::unknown_variables(ids)) report.warnings.push_back(std::move(text));
  for (const provider::PassedOver& each : selection.passed_over) report.warnings.push_back(each.text());
  for (std::string& text : runtime::Placement(config, selection, "").warnings_of_providers())
    report.warnings.push_back(std::move(text));
  for (const auto& instance : selection.instances) report.instances.push_back(instance->id());
  return report;
}

}  // namespace tenon::session
