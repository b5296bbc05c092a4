// tenon inspect: describes a model without making a session.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/tenon/command.h"
#include "tools/tenon/table.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::json;

void print_ios(const Json& json, const char* key) {
  std::printf("%s\n", key);
  for (const Json& io : json.value(key, Json::array()))
    std::printf("  %s  %s\n", io.value("name", "").c_str(), io.value("type", "").c_str());
}

int inspect(const std::string& path, const SessionFlags& flags, bool as_json) {
  Config config = flags.config();
  detail::Check check;
  tenon_text* text = nullptr;
  check(api().model_describe(as_str(path), config.get(), &text, check.out()));
  std::string description = detail::take_text(text);
  if (as_json) {
    std::printf("%s\n", description.c_str());
    return kSuccess;
  }
  Json json = Json::parse(description, nullptr, false);
  std::printf("%s\n", path.c_str());
  std::printf("  producer %s %s, IR version %lld\n", json.value("producer", "").c_str(),
              json.value("producer_version", "").c_str(), json.value("ir_version", 0LL));
  std::printf("  %lld nodes, %lld parameters in %s\n", json.value("nodes", 0LL),
              json.value("parameters", 0LL), format_bytes(json.value("parameter_bytes", 0.0)).c_str());
  print_ios(json, "inputs");
  print_ios(json, "outputs");
  std::printf("opsets\n");
  const Json opsets = json.value("opsets", Json::object());
  for (auto& [domain, version] : opsets.items())
    std::printf("  %s %lld\n", domain.empty() ? "ai.onnx" : domain.c_str(), version.get<long long>());
  std::printf("operators\n");
  std::vector<std::pair<std::string, long long>> operators;
  const Json counts = json.value("operators", Json::object());
  for (auto& [name, count] : counts.items()) operators.emplace_back(name, count.get<long long>());
  std::stable_sort(operators.begin(), operators.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, count] : operators) rows.push_back({"", std::to_string(count), name});
  std::printf("%s", format_table(rows, false).c_str());
  if (Json metadata = json.value("metadata", Json::object()); !metadata.empty()) {
    std::printf("metadata\n");
    for (auto& [key, value] : metadata.items())
      std::printf("  %s = %s\n", key.c_str(), value.get<std::string>().c_str());
  }
  return kSuccess;
}

}  // namespace

void add_inspect(CLI::App& app, int& exit) {
  struct Flags {
    std::string model;
    SessionFlags session;
    FormatFlag format;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show inputs, outputs, opsets, operators and size of a model");
  command->add_option("model", flags->model, "ONNX file")->required();
  flags->format.add_to(*command);
  flags->session.add_to(*command);
  command->footer("Example: tenon inspect model.onnx --format json");
  command->callback(
      [flags, &exit] { exit = inspect(flags->model, flags->session, flags->format.is_json()); });
}

}  // namespace tenon::cli
