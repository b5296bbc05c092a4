// The handles of sessions, slots and cancellation.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "host/base/fork.h"
#include "host/session/session.h"
#include "host/session/slots.h"
#include "host/session/state.h"
#include "host/session/submitted.h"
#include "tenon/tenon.h"

struct tenon_session {
  explicit tenon_session(std::shared_ptr<tenon::session::Session> made) : session(std::move(made)) {}
  std::shared_ptr<tenon::session::Session> session;
  mutable std::mutex mutex;
  mutable std::set<std::string> texts;  // given to the caller, who may keep them; guarded by mutex
  uint32_t fork = tenon::fork_count();
};

struct tenon_slots {
  explicit tenon_slots(std::shared_ptr<tenon::session::Session> of) : session(of), slots(std::move(of)) {}
  std::shared_ptr<tenon::session::Session> session;
  tenon::session::Slots slots;
  std::shared_ptr<tenon::session::SubmittedRun> submitted;  // the latest one; may be null
  uint32_t fork = tenon::fork_count();
};

struct tenon_pending {
  std::shared_ptr<tenon::session::SubmittedRun> run;
  uint32_t fork = tenon::fork_count();
};

struct tenon_state {
  std::shared_ptr<tenon::session::Session> session;  // freed after the state
  std::shared_ptr<tenon::session::State> state;
  uint32_t fork = tenon::fork_count();
};

struct tenon_operators {
  mutable std::mutex mutex;
  tenon::ops::RegisteredOperators set;  // guarded by mutex
};

struct tenon_cancel {
  // Read and written atomically. Submitted Runs share it.
  const std::shared_ptr<uint32_t> flag = std::make_shared<uint32_t>(0);
};

namespace tenon::c_api {

/// The errors of the checks below.
Status refuse_handle(bool is_null, std::string_view name);
Status refuse_busy_slots();

/// Checks that a handle was made in this process: a child of fork() lacks the threads that its parent's handles need.
template <class Handle>
Status check_handle(const Handle* handle, std::string_view name) {
  if (handle != nullptr && handle->fork == fork_count()) [[likely]]
    return ok_status();
  return refuse_handle(handle == nullptr, name);
}

/// As check_handle, and checks that no submitted Run of the slots is under way.
inline Status check_slots(const tenon_slots* slots) {
  RETURN_IF_ERROR(check_handle(slots, "slots"));
  if (slots->submitted == nullptr || slots->submitted->has_ended()) [[likely]]
    return ok_status();
  return refuse_busy_slots();
}

/// Frees a handle. A handle of the parent process is not freed, because that could wait for ever.
template <class Handle>
void release(Handle* handle) {
  if (handle != nullptr && handle->fork == fork_count()) delete handle;
}

}  // namespace tenon::c_api
