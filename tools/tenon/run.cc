// tenon run: runs a model once, and prints its outputs and the instances that ran its nodes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tools/tenon/command.h"
#include "tools/tenon/element.h"
#include "tools/tenon/npy.h"
#include "tools/tenon/profile.h"
#include "tools/tenon/table.h"

namespace tenon::cli {
namespace {

struct RunFlags {
  std::string model, output_dir, trace_file;
  std::vector<std::string> inputs;
  SessionFlags session;
  uint64_t seed = 0;
  int top = 5;
  int64_t deadline_ms = 0;
  bool profile = false;
  FormatFlag format;
};

using Clock = std::chrono::steady_clock;
double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  size_t start = 0;
  for (size_t comma; (comma = text.find(',', start)) != std::string::npos; start = comma + 1)
    out.push_back(text.substr(start, comma - start));
  out.push_back(text.substr(start));
  return out;
}

// True for one row of class scores: float32 [C] or [1, C], with C labels in the model's metadata, or with elements that
// are probabilities and sum to 1.
bool looks_like_classes(const Value& value, size_t labels) {
  if (value.kind() != TENON_KIND_TENSOR || value.dtype() != TENON_FLOAT32) return false;
  const tenon_tensor tensor = value.describe();
  const uint64_t classes = tensor.rank ? static_cast<uint64_t>(tensor.dims[tensor.rank - 1]) : 0;
  if (classes < 2 || value.element_count() != classes) return false;
  if (labels == classes) return true;
  std::span<const float> data = value.data<float>();
  double sum = std::accumulate(data.begin(), data.end(), 0.0);
  return std::all_of(data.begin(), data.end(), [](float p) { return p >= 0 && p <= 1; }) &&
         std::abs(sum - 1) < 1e-3;
}

void print_classes(const Value& value, const std::vector<std::string>& labels, int top) {
  std::span<const float> data = value.data<float>();
  std::vector<size_t> order(data.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return data[a] > data[b]; });
  for (size_t i = 0; i < order.size() && i < static_cast<size_t>(top); ++i) {
    std::string label = order[i] < labels.size() ? labels[order[i]] : "class " + std::to_string(order[i]);
    std::printf("  %-12s %.4f\n", label.c_str(), data[order[i]]);
  }
}

std::string preview(const Value& value, uint64_t limit) {
  if (value.kind() == TENON_KIND_NONE) return "none";
  if (value.kind() != TENON_KIND_TENSOR) {
    std::string out = value.kind() == TENON_KIND_MAP ? "map{" : "[";
    for (uint64_t i = 0; i < value.size() && i < limit; ++i) out += (i ? ", " : "") + preview(value[i], 3);
    return out + (value.size() > limit ? ", ..." : "") + (value.kind() == TENON_KIND_MAP ? "}" : "]");
  }
  std::string out;
  uint64_t count = value.element_count();
  for (uint64_t i = 0; i < count && i < limit; ++i) out += (i ? ", " : "") + element_text(value, i);
  return "[" + out + (count > limit ? ", ..." : "") + "]";
}

std::string type_text(const Value& value) {
  switch (value.kind()) {
    case TENON_KIND_TENSOR: {
      std::string out = element_name(value.dtype()) + "[";
      std::vector<int64_t> dims = value.dims();
      for (size_t i = 0; i < dims.size(); ++i) out += (i ? "," : "") + std::to_string(dims[i]);
      return out + "]";
    }
    case TENON_KIND_SEQUENCE:
      return "sequence of " + std::to_string(value.size());
    case TENON_KIND_OPTIONAL:
      return value.size() ? "optional" : "empty optional";
    case TENON_KIND_MAP:
      return "map";
    default:
      return "none";
  }
}

// The number of nodes per instance, from the explain JSON.
std::map<std::string, int> nodes_by_provider(const std::string& explain) {
  std::map<std::string, int> out;
  nlohmann::json json = nlohmann::json::parse(explain, nullptr, false);
  if (json.is_object() && json.contains("nodes"))
    for (const auto& node : json["nodes"]) ++out[node.value("instance", node.value("provider", "?"))];
  return out;
}

// "opencl 0.1.0 (S_EMULATED)" for each build or provider that was passed over.
std::string passed_over_text(const std::string& explain) {
  std::string out;
  const nlohmann::json json = nlohmann::json::parse(explain, nullptr, false);
  for (const auto& each : json.value("passed_over", nlohmann::json::array())) {
    const std::string version = each.value("version", "");
    out += (out.empty() ? "" : ", ") + each.value("provider", "") + (version.empty() ? "" : " " + version) +
           " (" + each.value("code", "") + ")";
  }
  return out;
}

void write_outputs(const Outputs& outputs, const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error || !std::filesystem::is_directory(dir))
    throw input_error("--output '" + dir + "'", "the folder cannot be created: " +
                                                    (error ? error.message() : "a file is in its place"));
  for (const NamedValue& output : outputs) {
    std::string file = output.name;
    std::replace_if(
        file.begin(), file.end(), [](char c) { return c == '/' || c == '\\' || c == ':'; }, '_');
    std::string base = (std::filesystem::path(dir) / file).string();
    if (output.value.kind() == TENON_KIND_TENSOR && output.value.dtype() != TENON_STRING) {
      write_npy(base + ".npy", output.value);
    } else {
      detail::Check check;
      check(api().value_write_pb(as_str(base + ".pb"), as_str(output.name), output.value.get(), check.out()));
    }
  }
}

void print_outputs(const Outputs& outputs, const std::vector<std::string>& labels, int top) {
  for (const NamedValue& output : outputs) {
    std::printf("%s  %s\n", output.name.c_str(), type_text(output.value).c_str());
    if (looks_like_classes(output.value, labels.size()))
      print_classes(output.value, labels, top);
    else
      std::printf("  %s\n", preview(output.value, 8).c_str());
  }
}

nlohmann::json to_json(const Value& value) {
  nlohmann::json out{{"type", type_text(value)}};
  if (value.kind() == TENON_KIND_TENSOR) {
    nlohmann::json elements = nlohmann::json::array();
    uint64_t count = value.element_count();
    for (uint64_t i = 0; i < count && i < 1000; ++i) elements.push_back(element_text(value, i));
    out["elements"] = std::move(elements);
  }
  return out;
}

void check_all_given(const Session& session, const std::vector<NamedValue>& inputs) {
  for (const tenon_io_info& info : session.inputs()) {
    const std::string name = as_string(info.name);
    const bool given = std::any_of(inputs.begin(), inputs.end(),
                                   [&](const NamedValue& input) { return input.name == name; });
    if (!given && !info.has_default && info.kind != TENON_KIND_OPTIONAL)
      throw input_error("input '" + name + "' (" + as_string(info.type_text) + ")",
                        "is missing: add --input " + name + "=FILE, or --input " + name + "=random");
  }
}

int run(const RunFlags& flags) {
  ProgressBar bar("load");
  const Clock::time_point load_start = Clock::now();
  Config config = flags.session.config();
  if (!flags.trace_file.empty())
    config.set("profiling.file", nlohmann::json(flags.trace_file).dump(), "--trace");
  SessionOptions session_options;
  session_options.progress = [&](double fraction, std::string_view stage) {
    bar.update(fraction, std::string(stage));
    return true;
  };
  Session session(flags.model, config, session_options);
  const double load_ns = ns_since(load_start);
  const std::string description = session.describe(TENON_DESCRIBE_MODEL);
  std::vector<std::string> specs = flags.inputs;
  std::vector<NamedValue> inputs = read_inputs(session, description, specs, flags.seed);
  check_all_given(session, inputs);
  RunOptions options;
  options.deadline_ns = flags.deadline_ms * 1'000'000;
  const Clock::time_point run_start = Clock::now();
  Outputs outputs = session.run(inputs, options);
  const double run_ns = ns_since(run_start);

  if (!flags.output_dir.empty()) write_outputs(outputs, flags.output_dir);
  const std::string explained = session.describe(TENON_DESCRIBE_EXPLAIN);
  std::map<std::string, int> placement = nodes_by_provider(explained);
  nlohmann::json model = nlohmann::json::parse(description, nullptr, false);
  std::vector<std::string> labels;
  if (model.is_object() && model.contains("metadata") && model["metadata"].contains("tenon.labels"))
    labels = split(model["metadata"]["tenon.labels"].get<std::string>());
  if (flags.format.is_json()) {
    nlohmann::json out{{"load_ns", load_ns}, {"run_ns", run_ns}, {"nodes", placement}};
    out["passed_over"] = nlohmann::json::parse(explained)["passed_over"];
    for (const NamedValue& output : outputs) out["outputs"][output.name] = to_json(output.value);
    if (flags.profile) out["profile"] = nlohmann::json::parse(profile(session, inputs, options, true));
    std::printf("%s\n", out.dump(2).c_str());
    return kSuccess;
  }
  print_outputs(outputs, labels, flags.top);
  std::string where;
  for (const auto& [instance, count] : placement)
    where += (where.empty() ? "" : ", ") + std::to_string(count) + (count == 1 ? " node on " : " nodes on ") +
             instance;
  std::printf("ran %s in %s (first run; load %s)\n", where.empty() ? "nothing" : where.c_str(),
              format_ns(run_ns).c_str(), format_ns(load_ns).c_str());
  const std::string passed_over = passed_over_text(explained);
  if (!passed_over.empty()) std::printf("not used: %s; see `tenon explain`\n", passed_over.c_str());
  if (flags.profile) std::printf("\n%s", profile(session, inputs, options, false).c_str());
  return kSuccess;
}

}  // namespace

void add_run(CLI::App& app, int& exit) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "Run a model once and print its outputs");
  command->add_option("model", flags->model, "ONNX file")->required();
  command->add_option("-i,--input", flags->inputs,
                      "NAME=SOURCE, where SOURCE is a .npy, .pb, .png, .jpg or .bmp file, 'random' or "
                      "'zeros'; without NAME= the model's only input, or with random and zeros all inputs "
                      "that are not named");
  command->add_option("-o,--output", flags->output_dir,
                      "Folder for the outputs: NAME.npy, or NAME.pb for other kinds");
  command->add_option("--trace", flags->trace_file,
                      "Write a trace of loading and running (Chrome trace event format)");
  command->add_flag("--profile", flags->profile, "Run several more times and print the time of each step");
  command->add_option("--seed", flags->seed, "Seed of random inputs")->capture_default_str();
  command->add_option("--top", flags->top, "Classes to print")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("--deadline", flags->deadline_ms, "Stop the Run after this many milliseconds")
      ->check(CLI::PositiveNumber);
  flags->format.add_to(*command);
  flags->session.add_to(*command);
  command->footer("Example: tenon run digits.onnx --input image=digit_3.png --provider cpu");
  command->callback([flags, &exit] { exit = run(*flags); });
}

}  // namespace tenon::cli
