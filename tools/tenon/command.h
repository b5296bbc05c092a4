// Shared by the commands of `tenon`: registration, exit codes, common flags and errors.
#pragma once

#include <string>
#include <vector>

#include "host/include/tenon/tenon.hpp"

namespace CLI {
class App;  // <CLI/CLI.hpp> costs seconds in each file, so only files that add options include it
}

namespace tenon::cli {

/// Exit codes, documented in docs/command-line.md.
enum Exit : int {
  kSuccess = 0,
  kFailed = 1,  // a comparison, test or check failed
  kUsage = 2,
  kInvalidModel = 3,
  kUnsupported = 4,
  kLimit = 5,
  kProvider = 6,
  kDevice = 7,
  kMemory = 8,
  kStopped = 9,  // cancelled or past the deadline
  kInput = 10,
  kConfig = 11,
  kInternal = 12,
};

/// Exit code for a TENON_FAILURE_x.
int exit_code(uint32_t error_kind);

/// An error in the user's command line or input file.
Error input_error(std::string where, std::string message);

/// The options of every command that makes a session.
struct SessionFlags {
  std::string config_path;
  std::vector<std::string> providers;  // --provider: replaces select.order
  std::vector<std::string> settings;   // --set key=value
  /// Adds the options to a command, and -v unless the command has its own.
  void add_to(CLI::App& app);
  Config config() const;
};

/// The options of commands that run a model on inputs which need not be given.
struct InputFlags {
  std::vector<std::string> inputs;
  int64_t free_dim = 1;
  uint64_t seed = 0;
  void add_to(CLI::App& app);
  /// The given inputs, and random tensors for those that are not given and have no default.
  std::vector<NamedValue> read(const Session& session) const;
};

/// The option --format of commands that print a report.
struct FormatFlag {
  std::string format = "text";
  /// `more`: formats of this command in addition to text and json.
  void add_to(CLI::App& app, const std::vector<std::string>& more = {});
  bool is_json() const { return format == "json"; }
};

/// A list of provider ids as TOML. Throws an Error that names an invalid id.
std::string order_of(const std::vector<std::string>& ids);

/// A table of the ways to divide the model's graph, from TENON_DESCRIBE_EXPLAIN. Empty unless the choice was by cost.
std::string format_candidates(const std::string& explained);

/// Each function adds one subcommand, whose callback stores the exit code in `exit`.
void add_run(CLI::App& app, int& exit);
void add_inspect(CLI::App& app, int& exit);
void add_explain(CLI::App& app, int& exit);
void add_providers(CLI::App& app, int& exit);
void add_config(CLI::App& app, int& exit);
void add_test(CLI::App& app, int& exit);
void add_bench(CLI::App& app, int& exit);
void add_tune(CLI::App& app, int& exit);
void add_optimize(CLI::App& app, int& exit);
void add_compare(CLI::App& app, int& exit);
void add_new_provider(CLI::App& app, int& exit);

/// Reads `name=source` inputs for the session. A source is a .npy, .pb, .png, .jpg or .bmp file, "random" or "zeros".
std::vector<NamedValue> read_inputs(const Session& session, const std::string& model_description,
                                    const std::vector<std::string>& specs, uint64_t seed);

/// A tensor for input `info` with random elements. Free dims become `free_dim`.
Value random_value(const tenon_io_info& info, uint64_t seed, int64_t free_dim = 1);

}  // namespace tenon::cli
