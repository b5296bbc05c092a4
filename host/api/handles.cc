#include "host/api/handles.h"

namespace tenon::c_api {

Status refuse_handle(bool is_null, std::string_view name) {
  if (is_null) return invalid_input(name, " is NULL");
  return Status(StatusCode::kFailedPrecondition,
                str_cat("this process was forked after ", name,
                        " was made and cannot use it: make a new session here, or fork before making one"),
                ErrorKind::kInvalidInput);
}

Status refuse_busy_slots() {
  return Status(StatusCode::kFailedPrecondition,
                "a submitted Run of the slots has not ended: wait for it with pending_wait, or use the slots "
                "in its callback",
                ErrorKind::kInvalidInput);
}

}  // namespace tenon::c_api
