// tenon providers: lists the manifests found with their verdicts, and changes the installed providers.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/tenon/command.h"
#include "tools/tenon/provider_files.h"
#include "tools/tenon/table.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::json;

/// `afresh`: scans again instead of using cached results.
Json find_providers(const SessionFlags& flags, bool afresh = false) {
  Json json = Json::parse(describe_providers(flags.config(), true, afresh), nullptr, false);
  return json.is_array() ? json : Json::array();
}

std::string joined(const Json& list) {
  std::string out;
  for (const Json& item : list) out += (out.empty() ? "" : ", ") + item.get<std::string>();
  return out;
}

/// "vulkan/gpu:0, opencl/gpu:0": the same hardware at other providers; empty when there is none.
std::string same_as(const Json& device) { return joined(device.value("same_as", Json::array())); }

void print_same_hardware(const Json& found) {
  for (const Json& entry : found)
    for (const Json& device : entry.value("devices", Json::array()))
      if (const std::string others = same_as(device); entry.value("chosen", false) && !others.empty())
        std::printf("\n%s/%s is the same hardware as %s\n", entry.value("id", "?").c_str(),
                    device.value("selector", "").c_str(), others.c_str());
}

int list(const SessionFlags& flags, bool as_json) {
  Json json = find_providers(flags);
  if (as_json) {
    std::printf("%s\n", json.dump(2).c_str());
    return kSuccess;
  }
  std::vector<std::vector<std::string>> rows{
      {"provider", "version", "verdict", "for select.order", "device id", "manifest"}};
  for (const Json& entry : json) {
    std::string selectors, devices;
    for (const Json& device : entry.value("devices", Json::array())) {
      const char* comma = selectors.empty() ? "" : ", ";
      selectors += comma + entry.value("id", "?") + "/" + device.value("selector", "");
      devices += comma + device.value("id", "");
    }
    std::string refusal = entry.value("refusal", "");
    rows.push_back({entry.value("id", "?"), entry.value("version", "?"),
                    refusal.empty() ? entry.value("verdict", "") : refusal, selectors, devices,
                    entry.value("manifest", "")});
  }
  std::printf("%s", format_table(rows).c_str());
  print_same_hardware(json);
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
  for (Json& entry : find_providers(flags)) {
    known += (known.empty() ? "" : ", ") + entry.value("id", "?");
    if (entry.value("id", "") == id) found.push_back(std::move(entry));
  }
  if (found.empty())
    throw Error(TENON_FAILURE_PROVIDER_MISSING, TENON_NOT_FOUND, "provider '" + id + "'",
                "is not installed; found are: " + (known.empty() ? "none" : known));
  std::printf("%s\n", found.dump(2).c_str());
  return kSuccess;
}

/// True when the user excluded the provider, or another copy is used: there is nothing to fix.
bool is_by_choice(const Json& entry) {
  const std::string refusal = entry.value("refusal", "");
  return refusal == "E_DISABLED" || refusal == "E_DUPLICATE_ID";
}

void print_diagnosis(const Json& entry) {
  const std::string refusal = entry.value("refusal", ""), id = entry.value("id", "");
  std::printf("%s %s: %s\n", id.empty() ? entry.value("manifest", "?").c_str() : id.c_str(),
              entry.value("version", "").c_str(), refusal.empty() ? "ok" : refusal.c_str());
  if (const std::string name = entry.value("name", ""); !name.empty())
    std::printf("  name     %s\n", name.c_str());
  for (const Json& device : entry.value("devices", Json::array())) {
    const std::string others = same_as(device);
    std::printf("  device   %s (%s)%s%s%s\n", device.value("selector", "").c_str(),
                device.value("name", "").c_str(),
                device.value("emulated", false) ? ", software-emulated: only used when named" : "",
                others.empty() ? "" : ", the same hardware as ", others.c_str());
  }
  const Json wanted = entry.value("requires", Json::object());
  const std::string libraries = joined(wanted.value("sonames", Json::array())),
                    files = joined(wanted.value("files", Json::array()));
  if (!libraries.empty()) std::printf("  needs    %s\n", libraries.c_str());
  if (!files.empty()) std::printf("  needs    %s\n", files.c_str());
  if (refusal.empty()) return;
  std::printf("  cause    %s\n  cure     %s\n", entry.value("reason", "").c_str(),
              entry.value("cure", "").c_str());
}

int doctor(const SessionFlags& flags, const std::vector<std::string>& ids, bool as_json) {
  Json chosen = Json::array();
  std::string known;
  for (Json& entry : find_providers(flags, true)) {
    const std::string id = entry.value("id", "");
    known += (known.empty() ? "" : ", ") + id;
    if (ids.empty() || std::find(ids.begin(), ids.end(), id) != ids.end()) chosen.push_back(std::move(entry));
  }
  for (const std::string& id : ids) {
    const bool found = std::any_of(chosen.begin(), chosen.end(),
                                   [&](const Json& entry) { return entry.value("id", "") == id; });
    if (!found)
      throw Error(TENON_FAILURE_PROVIDER_MISSING, TENON_NOT_FOUND, "provider '" + id + "'",
                  "has no manifest in any search place: install its package; found are: " +
                      (known.empty() ? "none" : known));
  }
  int ill = 0;
  for (const Json& entry : chosen) ill += !entry.value("refusal", "").empty() && !is_by_choice(entry);
  if (as_json) {
    std::printf("%s\n", Json{{"providers", chosen}, {"unusable", ill}}.dump(2).c_str());
  } else {
    for (const Json& entry : chosen) print_diagnosis(entry);
    std::printf("%zu found, %d unusable\n", chosen.size(), ill);
  }
  return ill == 0 && !chosen.empty() ? kSuccess : kFailed;
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
    FormatFlag format;
    std::string id, remove, version, source, folder;
    bool purge = false;
    std::vector<std::string> ids;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "providers", "Show the execution providers that are installed, and why one is not used");
  command->require_subcommand(1);
  CLI::App* list_command = command->add_subcommand("list", "Every manifest found, with its verdict");
  flags->format.add_to(*list_command);
  CLI::App* show_command = command->add_subcommand("show", "Everything known about one provider, as JSON");
  show_command->add_option("id", flags->id, "Provider id")->required();
  CLI::App* doctor_command = command->add_subcommand(
      "doctor", "What each provider lacks, and what to install; exit code 1 when one cannot be used");
  doctor_command->add_option("id", flags->ids, "Provider ids; default: all");
  flags->format.add_to(*doctor_command);
  doctor_command->footer("Example: tenon providers doctor");
  CLI::App* quarantine_command =
      command->add_subcommand("quarantine", "Libraries that crashed a scan, as JSON");
  quarantine_command->add_option("--remove", flags->remove, "Hash of a library to remove");
  CLI::App* install_command = command->add_subcommand(
      "install", "Copy a provider into a searched folder, once the host accepts the copy");
  install_command->add_option("source", flags->source, "A manifest, or a folder with one")->required();
  install_command->add_option(
      "--to", flags->folder,
      "Folder; default: /usr/local/lib/tenon/providers.d as root, else the user's own");
  install_command->footer("Example: tenon providers install build/providers.d/acme.tenon.json");
  CLI::App* rollback_command = command->add_subcommand(
      "rollback", "Set the version in use aside; the next session uses the one before");
  rollback_command->add_option("id", flags->id, "Provider id")->required();
  CLI::App* restore_command = command->add_subcommand("restore", "Undo a rollback or a removal");
  restore_command->add_option("id", flags->id, "Provider id")->required();
  restore_command->add_option("version", flags->version, "Needed when several versions are set aside");
  CLI::App* remove_command = command->add_subcommand("remove", "Set one version aside, or delete it");
  remove_command->add_option("id", flags->id, "Provider id")->required();
  remove_command->add_option("version", flags->version, "Version")->required();
  remove_command->add_flag("--purge", flags->purge, "Delete its files");
  CLI::App* pin_command = command->add_subcommand(
      "pin",
      "Write the version to use into the config file: that of --config, of TENON_CONFIG, or the user's");
  pin_command->add_option("id", flags->id, "Provider id")->required();
  pin_command->add_option("version", flags->version, "Version")->required();
  for (CLI::App* changes : {install_command, rollback_command, restore_command, remove_command, pin_command})
    flags->session.add_to(*changes);
  flags->session.add_to(*list_command);
  flags->session.add_to(*show_command);
  flags->session.add_to(*doctor_command);
  command->footer("Example: tenon providers list");
  list_command->callback([flags, &exit] { exit = list(flags->session, flags->format.is_json()); });
  show_command->callback([flags, &exit] { exit = show(flags->session, flags->id); });
  doctor_command->callback(
      [flags, &exit] { exit = doctor(flags->session, flags->ids, flags->format.is_json()); });
  quarantine_command->callback([flags, &exit] { exit = quarantine(flags->remove); });
  const auto change = [flags, &exit](auto&& what) {
    return [flags, &exit, what] {
      what();
      exit = kSuccess;
    };
  };
  install_command->callback(change([flags] {
    install_provider(
        flags->session, flags->source,
        flags->folder.empty() ? default_provider_folder() : std::filesystem::absolute(flags->folder));
  }));
  rollback_command->callback(change([flags] { roll_back_provider(flags->session, flags->id); }));
  restore_command->callback(change([flags] { restore_provider(flags->session, flags->id, flags->version); }));
  remove_command->callback(
      change([flags] { remove_provider(flags->session, flags->id, flags->version, flags->purge); }));
  pin_command->callback(change([flags] { pin_provider(flags->session, flags->id, flags->version); }));
}

}  // namespace tenon::cli
