// What the handles of sessions and Runs are.
#pragma once

#include <cstdint>
#include <memory>

#include "host/session/session.h"
#include "host/session/slots.h"
#include "tenon/tenon.h"

struct tenon_session {
  std::shared_ptr<tenon::session::Session> session;
};

struct tenon_slots {
  explicit tenon_slots(std::shared_ptr<tenon::session::Session> session) : slots(std::move(session)) {}
  tenon::session::Slots slots;
};

struct tenon_cancel {
  uint32_t flag = 0;  // touched atomically only
};
