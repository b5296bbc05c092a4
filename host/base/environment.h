// Access to the process's environment, as far as configuration may use it. Each system has its own implementation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// True when this process has rights that its caller lacks (set-uid, file capabilities). The environment is then
/// ignored, because the caller controls it.
bool elevated_privileges();

/// The variable's value. nullopt when it is unset, empty, or ignored under elevated privileges.
std::optional<std::string> environment(const char* name);

/// True when the variable is set but ignored under elevated privileges, so that the host can report it.
bool environment_ignored(const char* name);

/// $XDG_<kind>_HOME if it is absolute, else $HOME/<fallback>. nullopt without a home or under elevated privileges.
/// Example: user_directory("CONFIG", ".config").
std::optional<std::string> user_directory(const char* kind, const char* fallback);

/// Names of all variables that begin with `prefix`, sorted.
std::vector<std::string> environment_names(std::string_view prefix);

}  // namespace tenon
