// [[placement]]: checking the rules, and matching nodes against them.
#pragma once

#include <string>
#include <vector>

#include "host/config/config.h"
#include "host/config/value.h"

namespace tenon::config {

/// Complaints are appended to `errors` as "file:line: ..." lines.
void check_placement(const Value& value, std::vector<std::string>& errors);

}  // namespace tenon::config
