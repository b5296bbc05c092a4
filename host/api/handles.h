// The handles of sessions, slots and cancellation.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "host/base/fork.h"
#include "host/session/session.h"
#include "host/session/slots.h"
#include "tenon/tenon.h"

struct tenon_session {
  explicit tenon_session(std::shared_ptr<tenon::session::Session> made) : session(std::move(made)) {}
  std::shared_ptr<tenon::session::Session> session;
  mutable std::mutex mutex;
  mutable std::set<std::string> texts;  // given to the caller, who may keep them; guarded by mutex
  uint32_t fork = tenon::fork_count();
};

struct tenon_slots {
  explicit tenon_slots(std::shared_ptr<tenon::session::Session> session) : slots(std::move(session)) {}
  tenon::session::Slots slots;
  uint32_t fork = tenon::fork_count();
};

struct tenon_cancel {
  uint32_t flag = 0;  // read and written atomically
};

namespace tenon::c_api {

/// Checks that a handle was made in this process: a child of fork() lacks the threads that its parent's handles need.
template <class Handle>
Status check_handle(const Handle* handle, std::string_view name) {
  if (handle == nullptr) return invalid_input(name, " is NULL");
  if (handle->fork == fork_count()) [[likely]]
    return ok_status();
  return Status(StatusCode::kFailedPrecondition,
                str_cat("this process was forked after ", name,
                        " was made and cannot use it: make a new session here, or fork before making one"),
                ErrorKind::kInvalidInput);
}

/// Frees a handle. A handle of the parent process is not freed, because that could wait for ever.
template <class Handle>
void release(Handle* handle) {
  if (handle != nullptr && handle->fork == fork_count()) delete handle;
}

}  // namespace tenon::c_api
