// What the handles of sessions and Runs are.
#pragma once

#include <cstdint>
#include <memory>

#include "host/base/fork.h"
#include "host/session/session.h"
#include "host/session/slots.h"
#include "tenon/tenon.h"

struct tenon_session {
  std::shared_ptr<tenon::session::Session> session;
  uint32_t fork = tenon::fork_count();
};

struct tenon_slots {
  explicit tenon_slots(std::shared_ptr<tenon::session::Session> session) : slots(std::move(session)) {}
  tenon::session::Slots slots;
  uint32_t fork = tenon::fork_count();
};

struct tenon_cancel {
  uint32_t flag = 0;  // touched atomically only
};

namespace tenon::c_api {

/// A handle is there, and of this process: a child of fork() has none of its parent's threads, and what they held locked
/// stays so.
template <class Handle>
Status check_handle(const Handle* handle, std::string_view name) {
  if (handle == nullptr) return invalid_input(name, " is NULL");
  if (handle->fork == fork_count()) [[likely]]
    return ok_status();
  return Status(
      StatusCode::kFailedPrecondition,
      str_cat(
          "this process was forked after ", name,
          " had been made, and cannot use it: make a session of its own here, or fork before the first one"),
      ErrorKind::kInvalidInput);
}

/// Frees a handle. That of a parent process is left as it is, because freeing what is in it could wait for ever.
template <class Handle>
void release(Handle* handle) {
  if (handle != nullptr && handle->fork == fork_count()) delete handle;
}

}  // namespace tenon::c_api
