// A config document as a flat list of dotted keys, each checked against the schema.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "host/config/value.h"

namespace tenon::config {

using FlatValues = std::vector<std::pair<std::string, Value>>;

/// Keys as in EffectiveValue::key. On error nothing is returned but one Status with a line per mistake.
Result<FlatValues> flatten(const Value& root);

}  // namespace tenon::config
