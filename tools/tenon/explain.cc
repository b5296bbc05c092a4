// tenon explain: shows for each node the instance that runs it, and why others declined it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/tenon/command.h"
#include "tools/tenon/table.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::json;

void print_nodes(const Json& json) {
  std::vector<std::vector<std::string>> rows{{"node", "operator", "runs on", "part"}};
  for (const Json& node : json.value("nodes", Json::array())) {
    std::string op = node.value("domain", "");
    op += (op.empty() ? "" : ".") + node.value("op", "");
    rows.push_back(
        {node.value("name", ""), op, node.value("instance", node.value("provider", "")),
         node.contains("part") && node["part"].is_number() ? std::to_string(node["part"].get<int>()) : ""});
  }
  std::printf("%s", format_table(rows).c_str());
  bool raised = false;
  for (const Json& node : json.value("nodes", Json::array())) {
    const Json stands_for = node.value("stands_for", Json::array());
    if (stands_for.empty()) continue;
    if (!raised) std::printf("\nin the place of several nodes\n");
    raised = true;
    std::string names;
    for (const Json& name : stands_for) names += (names.empty() ? "" : ", ") + name.get<std::string>();
    std::printf("  %s (%s): %s\n", node.value("name", "").c_str(), node.value("op", "").c_str(),
                names.c_str());
  }
  bool heading = false;
  for (const Json& node : json.value("nodes", Json::array()))
    for (const Json& decline : node.value("declines", Json::array())) {
      if (!heading) std::printf("\ndeclined\n");
      heading = true;
      std::printf("  %s: %s [%s] %s\n", node.value("name", "").c_str(), decline.value("provider", "").c_str(),
                  decline.value("code", "").c_str(), decline.value("text", "").c_str());
    }
}

int explain(const std::string& path, const SessionFlags& flags, bool as_json) {
  Session session(path, flags.config());
  std::string text = session.describe(TENON_DESCRIBE_EXPLAIN);
  if (as_json) {
    std::printf("%s\n", text.c_str());
    return kSuccess;
  }
  Json json = Json::parse(text, nullptr, false);
  print_nodes(json);
  for (const Json& provider : json.value("providers", Json::array()))
    std::printf("\n%s is %s %s\n", provider.value("instance", "").c_str(),
                provider.value("provider", "").c_str(), provider.value("version", "").c_str());
  for (const Json& each : json.value("passed_over", Json::array()))
    std::printf("\npassed over %s %s [%s]: %s\n", each.value("provider", "").c_str(),
                each.value("version", "").c_str(), each.value("code", "").c_str(),
                each.value("reason", "").c_str());
  for (const Json& fallback : json.value("fallbacks", Json::array()))
    std::printf("\n%s: %s, by %s: %s\n", fallback.value("point", "").c_str(),
                fallback.value("provider", "").c_str(), fallback.value("policy", "").c_str(),
                fallback.value("text", "").c_str());
  if (const std::string ways = format_candidates(text); !ways.empty()) std::printf("\n%s", ways.c_str());
  const Json parts = json.value("parts", Json::array()), copies = json.value("copies", Json::array());
  std::printf("\n%zu %s, %zu %s\n", parts.size(), parts.size() == 1 ? "part" : "parts", copies.size(),
              copies.size() == 1 ? "copy" : "copies");
  for (const Json& copy : copies)
    std::printf(
        "  %s: %s -> %s%s\n", copy.value("value", "").c_str(), copy.value("from", "").c_str(),
        copy.value("to", "").c_str(),
        copy.value("bytes", -1.0) >= 0 ? (", " + format_bytes(copy.value("bytes", 0.0))).c_str() : "");
  return kSuccess;
}

}  // namespace

std::string format_candidates(const std::string& explained) {
  std::vector<std::vector<std::string>> rows{{"way to divide the nodes", "estimated", "measured", ""}};
  const Json json = Json::parse(explained, nullptr, false);
  for (const Json& each : json.value("candidates", Json::array())) {
    if (!each.value("graph", "").empty()) continue;
    const auto time = [&](const char* key) {
      return each.contains(key) ? format_ns(each[key].get<double>() * 1e6) : std::string();
    };
    rows.push_back({each.value("name", ""), time("estimate_ms"), time("measured_ms"),
                    each.value("chosen", false) ? "chosen" : ""});
  }
  return rows.size() == 1 ? std::string() : format_table(rows);
}

void add_explain(CLI::App& app, int& exit) {
  struct Flags {
    std::string model;
    SessionFlags session;
    FormatFlag format;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("explain", "Show for every node which provider runs it, and why others declined it");
  command->add_option("model", flags->model, "ONNX file")->required();
  flags->format.add_to(*command);
  flags->session.add_to(*command);
  command->footer("Example: tenon explain model.onnx --provider onednn,cpu");
  command->callback(
      [flags, &exit] { exit = explain(flags->model, flags->session, flags->format.is_json()); });
}

}  // namespace tenon::cli
