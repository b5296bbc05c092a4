// Scripts with which shells complete the words of a command.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tenon::cli {

/// The script for `shell` (bash, zsh or fish), made from the commands and flags of `app`. Throws an Error for another
/// shell.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace tenon::cli
