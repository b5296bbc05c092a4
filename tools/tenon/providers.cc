// tenon providers: every manifest found, its verdict and why.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/tenon/command.h"
#include "tools/tenon/table.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::json;

Json find_providers(const SessionFlags& flags, bool deep) {
  Json json = Json::parse(describe_providers(flags.config(), deep), nullptr, false);
  return json.is_array() ? json : Json::array();
}

int list(const SessionFlags& flags, bool as_json) {
  Json json = find_providers(flags, true);
  if (as_json) {
    std::printf("%s\n", json.dump(2).c_str());
    return kSuccess;
  }
  std::vector<std::vector<std::string>> rows{{"provider", "version", "verdict", "devices", "manifest"}};
  for (const Json& entry : json) {
    std::string devices;
    for (const Json& device : entry.value("devices", Json::array()))
      devices += (devices.empty() ? "" : ", ") + device.value("id", device.value("kind", ""));
    std::string refusal = entry.value("refusal", "");
    rows.push_back({entry.value("id", "?"), entry.value("version", "?"),
                    refusal.empty() ? entry.value("verdict", "") : refusal, devices,
                    entry.value("manifest", "")});
  }
  std::printf("%s", format_table(rows).c_str());
  for (const Json& entry : json)
    if (!entry.value("refusal", "").empty())
      std::printf("\n%s %s\n  %s: %s\n  cure: %s\n", entry.value("id", "?").c_str(),
                  entry.value("version", "").c_str(), entry.value("refusal", "").c_str(),
                  entry.value("reason", "").c_str(), entry.value("cure", "").c_str());
  if (json.empty()) std::printf("no manifest was found; see 'search order' in docs/providers.md\n");
  return kSuccess;
}

int show(const SessionFlags& flags, const std::string& id) {
  Json found = Json::array();
  std::string known;
  for (Json& entry : find_providers(flags, true)) {
    known += (known.empty() ? "" : ", ") + entry.value("id", "?");
    if (entry.value("id", "") == id) found.push_back(std::move(entry));
  }
  if (found.empty())
    throw Error(TENON_ERROR_PROVIDER_MISSING, TENON_NOT_FOUND, "provider '" + id + "'",
                "is not installed; found are: " + (known.empty() ? "none" : known));
  std::printf("%s\n", found.dump(2).c_str());
  return kSuccess;
}

int quarantine(const std::string& remove) {
  detail::Check check;
  tenon_text* text = nullptr;
  check(api().quarantine_describe(as_str(remove), &text, check.out()));
  std::printf("%s\n", detail::take_text(text).c_str());
  return kSuccess;
}

}  // namespace

void add_providers(CLI::App& app, int& exit) {
  struct Flags {
    SessionFlags session;
    bool json = false;
    std::string id, remove;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "providers", "Show the execution providers that are installed, and why one is not taken");
  command->require_subcommand(1);
  CLI::App* list_command = command->add_subcommand("list", "Every manifest found, with its verdict");
  list_command->add_flag("--json", flags->json, "Print JSON");
  CLI::App* show_command = command->add_subcommand("show", "All that is known of one provider, as JSON");
  show_command->add_option("id", flags->id, "Provider id")->required();
  CLI::App* quarantine_command =
      command->add_subcommand("quarantine", "Libraries that crashed a scan, as JSON");
  quarantine_command->add_option("--remove", flags->remove, "Hash of a library to take out");
  flags->session.add_to(*list_command);
  flags->session.add_to(*show_command);
  command->footer("Example: tenon providers list");
  list_command->callback([flags, &exit] { exit = list(flags->session, flags->json); });
  show_command->callback([flags, &exit] { exit = show(flags->session, flags->id); });
  quarantine_command->callback([flags, &exit] { exit = quarantine(flags->remove); });
}

}  // namespace tenon::cli
