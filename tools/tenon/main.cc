// tenon: runs, inspects, tests and measures ONNX models from the command line, through the public API.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "core/base/nearest.h"
#include "tools/tenon/command.h"
#include "tools/tenon/completion.h"

namespace tenon::cli {

int exit_code(uint32_t error_kind) {
  switch (error_kind) {
    case TENON_FAILURE_INVALID_MODEL:
      return kInvalidModel;
    case TENON_FAILURE_UNSUPPORTED:
      return kUnsupported;
    case TENON_FAILURE_LIMIT:
      return kLimit;
    case TENON_FAILURE_PROVIDER_MISSING:
    case TENON_FAILURE_PROVIDER_REFUSED:
      return kProvider;
    case TENON_FAILURE_DEVICE:
      return kDevice;
    case TENON_FAILURE_MEMORY:
      return kMemory;
    case TENON_FAILURE_CANCELLED:
    case TENON_FAILURE_DEADLINE:
      return kStopped;
    case TENON_FAILURE_INVALID_INPUT:
      return kInput;
    case TENON_FAILURE_CONFIG:
      return kConfig;
    default:
      return kInternal;
  }
}

Error input_error(std::string where, std::string message) {
  return Error(TENON_FAILURE_INVALID_INPUT, TENON_INVALID_ARGUMENT, std::move(where), std::move(message));
}

namespace {

std::string_view level_name(uint32_t level) {
  switch (level) {
    case TENON_LOG_ERROR:
      return "error";
    case TENON_LOG_WARNING:
      return "warning";
    case TENON_LOG_INFO:
      return "info";
    default:
      return "debug";
  }
}

// Without -v, only warnings and errors are printed.
uint32_t g_level = TENON_LOG_WARNING;

void print_line(void*, uint32_t level, tenon_str provider, tenon_str code, tenon_str message) {
  if (level > g_level) return;
  std::string line = std::string(level_name(level)) + ": ";
  if (provider.size != 0) line += as_string(provider) + ": ";
  line += as_string(code) + ": " + as_string(message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call, so that lines of several threads stay whole
}

}  // namespace

void InputFlags::add_to(CLI::App& app) {
  app.add_option("-i,--input", inputs, "NAME=SOURCE as for tenon run; inputs not given are random");
  app.add_option("--free-dim", free_dim, "Value of the model's free dims")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", seed, "Seed of random inputs")->capture_default_str();
}

void SessionFlags::add_to(CLI::App& app) {
  app.add_option("--config", config_path, "Config file; without it the one named by TENON_CONFIG")
      ->type_name("FILE");
  app.add_option("-p,--provider", providers, "Providers to use, in order of preference: cpu, cuda/gpu:0 ...")
      ->type_name("ID")
      ->delimiter(',');
  app.add_option("--set", settings, "One key of the config: --set select.order='[\"cpu\"]'")
      ->type_name("KEY=VALUE");
  if (app.get_option_no_throw("-v") != nullptr) return;
  app.add_flag_function(
      "-v,--verbose", [](int64_t count) { g_level = count > 1 ? TENON_LOG_DEBUG : TENON_LOG_INFO; },
      "Show the log of host and providers on stderr; -vv adds debug messages");
}

void FormatFlag::add_to(CLI::App& app, const std::vector<std::string>& more) {
  std::vector<std::string> formats{"text", "json"};
  formats.insert(formats.end(), more.begin(), more.end());
  app.add_option("--format", format, "Output format; json is for programs")
      ->capture_default_str()
      ->check(CLI::IsMember(formats));
}

Config SessionFlags::config() const {
  Config config = Config::load(config_path);
  for (const std::string& setting : settings) {
    size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(TENON_FAILURE_CONFIG, TENON_INVALID_ARGUMENT, "--set " + setting,
                  "write KEY=VALUE, for example --set threads.count=1");
    config.set(setting.substr(0, equals), setting.substr(equals + 1), "--set");
  }
  if (!providers.empty()) config.set("select.order", order_of(providers), "--provider");
  return config;
}

std::string order_of(const std::vector<std::string>& ids) {
  std::string order;
  for (const std::string& id : ids) {
    for (char c : id)
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20)
        throw Error(TENON_FAILURE_CONFIG, TENON_INVALID_ARGUMENT, "--provider",
                    "'" + id + "' is not a provider id");
    order += (order.empty() ? "\"" : ", \"") + id + "\"";
  }
  return "[" + order + "]";
}

namespace {

bool has_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({}))
    if (command->get_name() == name) return true;
  return false;
}

/// The error text for a word that should be a command but is not; empty when there is none.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* here = &app;
  std::string path = "tenon";
  for (const std::string& word : words) {
    if (here->get_subcommands({}).empty() || word.empty() || word[0] == '-') break;
    if (!has_command(*here, word)) {
      Nearest nearest(word);
      for (const CLI::App* command : here->get_subcommands({})) nearest.look_at(command->get_name());
      return "there is no command '" + word + "'" +
             (nearest.name().empty() ? "" : "; do you mean '" + nearest.name() + "'?") + "\n  see: " + path +
             " --help";
    }
    here = here->get_subcommand(word);
    path += " " + word;
  }
  return {};
}

/// The command line. Adds --help for `tenon`, `tenon help [COMMAND]`, and a command without its subcommand.
std::vector<std::string> asked_words(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  const bool bare = words.empty() || (words.size() == 1 && has_command(app, words[0]) &&
                                      !app.get_subcommand(words[0])->get_subcommands({}).empty());
  if (bare) words.push_back("--help");
  return words;
}

int run_command(int argc, char** argv) {
  CLI::App app(
      "tenon runs ONNX models on execution providers that are chosen by a config file.\n"
      "Example: tenon run model.onnx --input x=image.png");
  app.name("tenon");
  set_log(print_line);
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of all commands");
  app.set_version_flag("--version", [] { return "tenon " + as_string(api().runtime_version()); });
  app.failure_message([](const CLI::App* where, const CLI::Error& error) {
    return "error: " + std::string(error.what()) + "\n  see: " + where->get_display_name() + " --help\n";
  });
  int exit = kSuccess;
  add_run(app, exit);
  add_inspect(app, exit);
  add_explain(app, exit);
  add_providers(app, exit);
  add_config(app, exit);
  add_test(app, exit);
  add_bench(app, exit);
  add_tune(app, exit);
  add_optimize(app, exit);
  add_compare(app, exit);
  add_new_provider(app, exit);
  app.add_subcommand("completion", "Print what a shell needs to complete words of this command")
      ->add_option("shell", "bash, zsh or fish")
      ->required();
  std::vector<std::string> words = asked_words(app, argc, argv);
  if (const std::string unknown = unknown_command(app, words); !unknown.empty()) {
    std::fprintf(stderr, "error: %s\n", unknown.c_str());
    return kUsage;
  }
  if (words[0] == "completion" && words.size() == 2 && words[1][0] != '-') {
    std::printf("%s", completion(app, words[1]).c_str());
    return kSuccess;
  }
  std::reverse(words.begin(), words.end());  // the order that CLI11 expects
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    int code = app.exit(error);
    return code == 0 ? kSuccess : kUsage;
  }
  return exit;
}

}  // namespace
}  // namespace tenon::cli

int main(int argc, char** argv) {
  try {
    return tenon::cli::run_command(argc, argv);
  } catch (const tenon::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return tenon::cli::exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: out of memory\n");
    return tenon::cli::kMemory;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return tenon::cli::kInternal;
  }
}
