// Descriptions of a session, parsed as an application would parse them.
#pragma once

#include <nlohmann/json.hpp>

#include "host/session/describe.h"

namespace tenon::test {

inline nlohmann::json explained(const session::Session& session) {
  return nlohmann::json::parse(session::explain(session).dump());
}
inline nlohmann::json described_plans(const session::Session& session) {
  return nlohmann::json::parse(session::describe_plans(session).dump());
}

}  // namespace tenon::test
