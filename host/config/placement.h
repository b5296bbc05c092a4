// Checks [[placement]] rules.
#pragma once

#include <string>
#include <vector>

#include "host/config/config.h"
#include "host/config/value.h"

namespace tenon::config {

/// Appends complaints to `errors` as "file:line: ..." lines.
void check_placement(const Value& value, std::vector<std::string>& errors);

}  // namespace tenon::config
