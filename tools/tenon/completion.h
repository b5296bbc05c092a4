// Scripts with which shells complete the words of a command.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tenon::cli {

/// The script for `shell`, made from the commands and flags of `app`. Throws an Error unless it is bash, zsh or fish.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace tenon::cli
