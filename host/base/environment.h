// The process's environment as far as configuration may use it. Platform code: one implementation per system.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// True when this process has rights its caller lacks (set-uid, file capabilities): then nothing of the
/// caller's surroundings may steer it.
bool elevated_privileges();

/// A variable's value; none when it is unset, empty, or ignored under elevated privileges.
std::optional<std::string> environment(const char* name);

/// True when the variable is set but ignored under elevated privileges: worth a notice.
bool environment_ignored(const char* name);

/// $XDG_<kind>_HOME when absolute, else $HOME/<fallback>; none without a home or under elevated privileges.
/// For example user_directory("CONFIG", ".config").
std::optional<std::string> user_directory(const char* kind, const char* fallback);

/// Names of all variables that begin with `prefix`, sorted.
std::vector<std::string> environment_names(std::string_view prefix);

}  // namespace tenon
