// tenon compare: runs a model on two sets of providers and compares the values.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/tenon/command.h"
#include "tools/tenon/compare.h"
#include "tools/tenon/table.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::json;

struct CompareFlags {
  std::string model;
  std::vector<std::string> providers, inputs;
  SessionFlags session;
  bool all_nodes = false, quantized = false;
  FormatFlag format;
  uint64_t seed = 0;
};

/// The node that makes a value, its instance, and its position in the order of the nodes.
struct Maker {
  int position = -1;  // -1: no node makes the value
  std::string node, op, instance;
};

std::map<std::string, Maker> makers_of(const Session& session) {
  std::map<std::string, Maker> out;
  const Json json = Json::parse(session.describe(TENON_DESCRIBE_EXPLAIN), nullptr, false);
  int position = 0;
  for (const Json& node : json.value("nodes", Json::array())) {
    for (const Json& name : node.value("outputs", Json::array()))
      out.emplace(name.get<std::string>(),
                  Maker{position, node.value("name", ""), node.value("op", ""), node.value("instance", "")});
    ++position;
  }
  return out;
}

struct Row {
  std::string value, difference;  // empty: within the tolerance
  Maker a, b;
  ErrorStats stats;
  bool has_stats = false;
};

bool is_float(const Value& value) {
  return value.kind() == TENON_KIND_TENSOR &&
         (value.dtype() == TENON_FLOAT32 || value.dtype() == TENON_FLOAT64 ||
          value.dtype() == TENON_FLOAT16 || value.dtype() == TENON_BFLOAT16);
}

Row compare_value(const NamedValue& a, const Value& b, Rigour rigour) {
  Row row;
  row.value = a.name;
  row.difference = difference(a.value, b, rigour, false);
  row.has_stats = is_float(a.value) && is_float(b) && a.value.dims() == b.dims();
  if (row.has_stats) row.stats = error_stats(a.value, b);
  return row;
}

/// select.order as TOML: the ids of `first`, then `last`, without duplicates.
std::string order_for(const std::vector<std::string>& first, const std::string& last) {
  std::vector<std::string> order;
  for (const std::string& id : first)
    if (std::find(order.begin(), order.end(), id) == order.end()) order.push_back(id);
  if (std::find(order.begin(), order.end(), last) == order.end()) order.push_back(last);
  return order_of(order);
}

/// The inputs that were given; the others are random.
std::vector<NamedValue> inputs_for(const Session& session, const CompareFlags& flags) {
  std::vector<NamedValue> out =
      read_inputs(session, session.describe(TENON_DESCRIBE_MODEL), flags.inputs, flags.seed);
  for (const tenon_io_info& info : session.inputs()) {
    const std::string name = as_string(info.name);
    const bool given =
        std::any_of(out.begin(), out.end(), [&](const NamedValue& input) { return input.name == name; });
    if (given || info.has_default || info.kind == TENON_KIND_OPTIONAL) continue;
    if (info.kind != TENON_KIND_TENSOR)
      throw input_error("input '" + name + "' (" + as_string(info.type_text) + ")",
                        "is not a tensor and cannot be random: add --input " + name + "=FILE");
    out.push_back({name, random_value(info, flags.seed + out.size())});
  }
  return out;
}

std::vector<Row> compare_all(const CompareFlags& flags) {
  Config config_a = flags.session.config(), config_b = flags.session.config();
  const std::string& a = flags.providers[0];
  const std::string& b = flags.providers[1];
  config_a.set("select.order", order_for({a}, b));
  config_b.set("select.order", order_for({}, b));
  SessionOptions session_options;
  session_options.flags = flags.all_nodes ? TENON_SESSION_ALL_VALUES : 0;
  Session session_a(flags.model, config_a, session_options),
      session_b(flags.model, config_b, session_options);
  const std::vector<NamedValue> inputs = inputs_for(session_a, flags);
  const Outputs outputs_a = session_a.run(inputs), outputs_b = session_b.run(inputs);
  // Read after the Runs, so that a fallback during a Run is seen.
  const std::map<std::string, Maker> makers_a = makers_of(session_a), makers_b = makers_of(session_b);
  const auto maker = [](const std::map<std::string, Maker>& makers, const std::string& name) {
    const auto found = makers.find(name);
    return found == makers.end() ? Maker() : found->second;
  };
  std::vector<Row> rows;
  for (const NamedValue& output : outputs_a) {
    rows.push_back(compare_value(output, outputs_b[output.name],
                                 flags.quantized ? Rigour::kQuantized : Rigour::kNetwork));
    rows.back().a = maker(makers_a, output.name);
    rows.back().b = maker(makers_b, output.name);
  }
  if (flags.all_nodes) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& x, const Row& y) { return x.a.position < y.a.position; });
  }
  return rows;
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

Json to_json(const Row& row) {
  Json out{{"value", row.value},  {"node", row.a.node},  {"op", row.a.op},
           {"a", row.a.instance}, {"b", row.b.instance}, {"same", row.difference.empty()}};
  if (!row.difference.empty()) out["difference"] = row.difference;
  if (row.has_stats) {
    out["max_absolute"] = number(row.stats.max_absolute);
    out["max_relative"] = number(row.stats.max_relative);
    out["cosine"] = number(row.stats.cosine);
    out["signal_to_noise_db"] = number(row.stats.signal_to_noise_db);
  }
  return out;
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

void print(const CompareFlags& flags, const std::vector<Row>& rows, const Row* first, size_t differing) {
  std::vector<std::vector<std::string>> table{
      {"value", "operator", flags.providers[0], flags.providers[1], "max abs", "max rel", "verdict"}};
  for (const Row& row : rows)
    table.push_back({row.value, row.a.op, row.a.instance, row.b.instance,
                     row.has_stats ? text_of(row.stats.max_absolute) : "",
                     row.has_stats ? text_of(row.stats.max_relative) : "",
                     row.difference.empty() ? "same" : "differs"});
  std::printf("%s", format_table(table).c_str());
  if (first != nullptr)
    std::printf(
        "\nfirst divergence: '%s'%s%s: %s\n", first->value.c_str(),
        first->a.node.empty() ? "" : (" of node '" + first->a.node + "' (" + first->a.op + ")").c_str(),
        first->a.instance.empty() ? "" : (" on " + first->a.instance).c_str(), first->difference.c_str());
  std::printf("%zu compared, %zu differ\n", rows.size(), differing);
}

int compare(const CompareFlags& flags) {
  if (flags.providers.size() != 2)
    throw Error(TENON_FAILURE_CONFIG, TENON_INVALID_ARGUMENT, "--providers",
                "names " + std::to_string(flags.providers.size()) +
                    " providers; give two, the one to check and the reference: --providers opencl,cpu");
  const std::vector<Row> rows = compare_all(flags);
  size_t differing = 0;
  const Row* first = nullptr;
  for (const Row& row : rows) {
    if (row.difference.empty()) continue;
    if (differing++ == 0) first = &row;
  }
  if (flags.format.is_json()) {
    Json out{{"model", flags.model},    {"a", flags.providers[0]}, {"b", flags.providers[1]},
             {"compared", rows.size()}, {"differing", differing},  {"values", Json::array()}};
    for (const Row& row : rows) out["values"].push_back(to_json(row));
    out["first_divergence"] = first == nullptr ? Json() : to_json(*first);
    std::printf("%s\n", out.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    print(flags, rows, first, differing);
  }
  return differing == 0 ? kSuccess : kFailed;
}

}  // namespace

void add_compare(CLI::App& app, int& exit) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* command = app.add_subcommand(
      "compare",
      "Run a model on two providers and show where their results differ; exit code 1 when they do");
  command->add_option("model", flags->model, "ONNX file")->required();
  command
      ->add_option("--providers", flags->providers,
                   "Two providers A,B. A is compared with B, and nodes that A does not run go to B")
      ->type_name("A,B")
      ->delimiter(',')
      ->required();
  command->add_flag(
      "--all-nodes", flags->all_nodes,
      "Compare the outputs of every node, not only those of the model; nodes are then not fused");
  command->add_option("-i,--input", flags->inputs, "NAME=SOURCE, as for run; inputs not given are random");
  command->add_option("--seed", flags->seed, "Seed of random inputs")->capture_default_str();
  command->add_flag("--quantized", flags->quantized, "Judge floats by cosine and signal to noise");
  flags->format.add_to(*command);
  command->add_option("--config", flags->session.config_path, "Config file; its select.order is replaced")
      ->type_name("FILE");
  command->add_option("--set", flags->session.settings, "One key of the config")->type_name("KEY=VALUE");
  command->footer("Example: tenon compare model.onnx --providers opencl,cpu --all-nodes");
  command->callback([flags, &exit] { exit = compare(*flags); });
}

}  // namespace tenon::cli
