#pragma once

#include <string>

#include "core/base/status.h"

namespace tenon::config {

inline std::string message_of(const Status& status) { return std::string(status.message()); }

}  // namespace tenon::config
