// What the commands of `tenon` share: registration, exit codes, the way to end with an error.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "host/include/tenon/tenon.hpp"

namespace tenon::cli {

/// Exit codes, documented in docs/command-line.md.
enum Exit : int {
  kSuccess = 0,
  kFailed = 1,  // a comparison, test or check said no
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

/// Exit code for a TENON_ERROR_x.
int exit_code(uint32_t error_kind);

/// An error in what the user gave on the command line or in an input file.
Error input_error(std::string where, std::string message);

/// Options that every command which makes a session takes.
struct SessionFlags {
  std::string config_path;
  std::vector<std::string> providers;  // --provider: replaces select.order
  std::vector<std::string> settings;   // --set key=value
  /// Among them -v, unless the command has one of its own.
  void add_to(CLI::App& app);
  Config config() const;
};

/// --format, of every command that prints a report.
struct FormatFlag {
  std::string format = "text";
  /// `more`: what this command can print beside text and json.
  void add_to(CLI::App& app, const std::vector<std::string>& more = {});
  bool is_json() const { return format == "json"; }
};

/// The TOML of a list of provider ids. An error names an id that cannot be one.
std::string order_of(const std::vector<std::string>& ids);

/// Each adds one subcommand; its callback returns through `exit`.
void add_run(CLI::App& app, int& exit);
void add_inspect(CLI::App& app, int& exit);
void add_explain(CLI::App& app, int& exit);
void add_providers(CLI::App& app, int& exit);
void add_config(CLI::App& app, int& exit);
void add_test(CLI::App& app, int& exit);
void add_bench(CLI::App& app, int& exit);
void add_optimize(CLI::App& app, int& exit);
void add_compare(CLI::App& app, int& exit);

/// Reads `name=source` inputs for the session: .npy, .pb, .png/.jpg, random, zeros.
std::vector<NamedValue> read_inputs(const Session& session, const std::string& model_description,
                                    const std::vector<std::string>& specs, uint64_t seed);

/// A tensor of `info` with uniform random elements; free dimensions become `free_dim`.
Value random_value(const tenon_io_info& info, uint64_t seed, int64_t free_dim = 1);

}  // namespace tenon::cli
