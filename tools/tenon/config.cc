// tenon config: checks a config, and shows its effective values with their origin.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/tenon/command.h"
#include "tools/tenon/table.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::json;

int check_config(const SessionFlags& flags, bool as_json) {
  const Json report = Json::parse(flags.config().check(), nullptr, false);
  const bool ok = report["errors"].empty();
  if (as_json) {
    Json out = report;
    out["ok"] = ok;
    std::printf("%s\n", out.dump(2).c_str());
    return ok ? kSuccess : kConfig;
  }
  for (const Json& text : report["warnings"])
    std::fprintf(stderr, "warning: %s\n", text.get<std::string>().c_str());
  for (const Json& text : report["errors"])
    std::fprintf(stderr, "error: %s\n", text.get<std::string>().c_str());
  if (!ok) return kConfig;
  std::string asked;
  for (const Json& id : report["instances"]) asked += (asked.empty() ? "" : ", ") + id.get<std::string>();
  std::printf("ok: nodes are offered to %s\n", asked.c_str());
  return kSuccess;
}

int show_config(const SessionFlags& flags, bool origin, bool as_json) {
  std::string text = flags.config().describe();
  if (as_json) {
    std::printf("%s\n", text.c_str());
    return kSuccess;
  }
  std::vector<std::vector<std::string>> rows;
  const Json json = Json::parse(text, nullptr, false);
  for (auto& [key, entry] : json.items()) {
    std::vector<std::string> row{key + " =", entry.contains("value") ? entry["value"].dump() : ""};
    if (origin) row.push_back("# " + entry.value("origin", ""));
    rows.push_back(std::move(row));
  }
  std::printf("%s", format_table(rows, false).c_str());
  return kSuccess;
}

int show_schema() {
  detail::Check check;
  tenon_text* text = nullptr;
  check(api().config_schema(&text, check.out()));
  std::printf("%s\n", detail::take_text(text).c_str());
  return kSuccess;
}

}  // namespace

void add_config(CLI::App& app, int& exit) {
  struct Flags {
    SessionFlags session;
    FormatFlag format;
    bool origin = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("config", "Check a config file, or show the values in force");
  command->require_subcommand(1);
  CLI::App* check = command->add_subcommand(
      "check", "Try the config as a session would, and report all errors with file, line and cure");
  check->add_option("file", flags->session.config_path, "Config file");
  CLI::App* show = command->add_subcommand("show", "Print the values in force");
  show->add_flag("--origin", flags->origin, "With the place each value comes from");
  CLI::App* schema =
      command->add_subcommand("schema", "Print the JSON Schema of the config file, for editors");
  for (CLI::App* sub : {check, show}) {
    flags->format.add_to(*sub);
    flags->session.add_to(*sub);
  }
  command->footer("Example: tenon config check tenon.toml");
  check->callback([flags, &exit] { exit = check_config(flags->session, flags->format.is_json()); });
  show->callback(
      [flags, &exit] { exit = show_config(flags->session, flags->origin, flags->format.is_json()); });
  schema->callback([&exit] { exit = show_schema(); });
}

}  // namespace tenon::cli
