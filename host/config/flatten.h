// Turns a config document into a flat list of dotted keys and checks each against the schema.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "host/config/value.h"

namespace tenon::config {

using FlatValues = std::vector<std::pair<std::string, Value>>;

/// Keys are as in EffectiveValue::key. On error returns one Status with a line per mistake.
Result<FlatValues> flatten(const Value& root);

}  // namespace tenon::config
