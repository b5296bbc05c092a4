// The states of sequences.
#include <utility>

#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/api/handles.h"

namespace tenon::c_api {

uint32_t session_state_count(const tenon_session* session) {
  return session == nullptr ? 0 : static_cast<uint32_t>(session->session->state_pairs().size());
}

tenon_status session_state(const tenon_session* session, uint32_t index, tenon_str* out_input,
                           tenon_str* out_output) {
  return guarded(nullptr, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    RETURN_IF_ERROR(check_pointer(out_input, "out_input"));
    RETURN_IF_ERROR(check_pointer(out_output, "out_output"));
    const auto pairs = session->session->state_pairs();
    if (index >= pairs.size()) return invalid_input("there is no index ", index);
    *out_input = to_str(pairs[index].input_name);
    *out_output = to_str(pairs[index].output_name);
    return ok_status();
  });
}

tenon_status state_create(tenon_session* session, tenon_state** out_state, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    RETURN_IF_ERROR(check_pointer(out_state, "out_state"));
    ASSIGN_OR_RETURN(std::shared_ptr<session::State> made, session->session->make_state());
    *out_state = new tenon_state{session->session, std::move(made)};
    return ok_status();
  });
}

void state_release(tenon_state* state) { release(state); }

tenon_status state_reset(tenon_state* state, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(state, "state"));
    return state->state->reset();
  });
}

tenon_status state_read(tenon_state* state, uint32_t index, tenon_value** out_value, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(state, "state"));
    RETURN_IF_ERROR(check_pointer(out_value, "out_value"));
    ASSIGN_OR_RETURN(runtime::ValueRef value, state->state->read(index));
    *out_value = value.release();
    return ok_status();
  });
}

}  // namespace tenon::c_api
