// tenon_get_api: the one symbol that libtenon exports.
#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/device/host_api.h"

namespace tenon::c_api {
namespace {

tenon_str runtime_version() { return to_str(TENON_VERSION_TEXT); }

uint32_t error_kind(const tenon_error* error) {
  return error == nullptr || error->code == TENON_OK ? uint32_t{TENON_FAILURE_NONE} : error->kind;
}

tenon_str text_get(const tenon_text* text) { return text == nullptr ? tenon_str{"", 0} : to_str(text->text); }
void text_release(tenon_text* text) { delete text; }

constexpr tenon_api make_table() {
  tenon_api table{};
  table.struct_size = sizeof(tenon_api);
  table.version = TENON_API_VERSION;
  table.runtime_version = runtime_version;
  table.error_kind = error_kind;
  table.text_get = text_get;
  table.text_release = text_release;
  table.config_create = config_create;
  table.config_release = config_release;
  table.config_set = config_set;
  table.config_describe = config_describe;
  table.providers_describe = providers_describe;
  table.provider_register = provider_register;
  table.session_create = session_create;
  table.session_create_from_memory = session_create_from_memory;
  table.session_release = session_release;
  table.session_input_count = session_input_count;
  table.session_output_count = session_output_count;
  table.session_input = session_input;
  table.session_output = session_output;
  table.session_describe = session_describe;
  table.value_make_tensor = runtime::value_make_tensor;
  table.value_wrap = value_wrap;
  table.value_make_strings = runtime::value_make_strings;
  table.value_make = runtime::value_make;
  table.value_retain = runtime::value_retain;
  table.value_release = runtime::value_release;
  table.value_kind = runtime::value_kind;
  table.value_size = runtime::value_size;
  table.value_element = runtime::value_element;
  table.value_tensor = runtime::value_tensor;
  table.value_read_pb = value_read_pb;
  table.value_write_pb = value_write_pb;
  table.cancel_create = cancel_create;
  table.cancel_trigger = cancel_trigger;
  table.cancel_release = cancel_release;
  table.run = run;
  table.slots_create = slots_create;
  table.slots_release = slots_release;
  table.slots_bind_input = slots_bind_input;
  table.slots_bind_output = slots_bind_output;
  table.slots_run = slots_run;
  table.slots_output = slots_output;
  table.model_optimize = model_optimize;
  table.model_describe = model_describe;
  table.config_schema = config_schema;
  table.quarantine_describe = quarantine_describe;
  table.log_set = log_set;
  table.config_check = config_check;
  table.session_instance_count = session_instance_count;
  table.session_instance = session_instance;
  table.session_metadata_count = session_metadata_count;
  table.session_metadata = session_metadata;
  table.providers_list = providers_list;
  table.providers_count = providers_count;
  table.providers_get = providers_get;
  table.providers_release = providers_release;
  table.session_state_count = session_state_count;
  table.session_state = session_state;
  table.state_create = state_create;
  table.state_release = state_release;
  table.state_reset = state_reset;
  table.state_read = state_read;
  table.submit = submit;
  table.slots_submit = slots_submit;
  table.pending_wait = pending_wait;
  table.pending_output = pending_output;
  table.pending_cancel = pending_cancel;
  table.pending_release = pending_release;
  table.value_from_dlpack = value_from_dlpack;
  table.value_to_dlpack = value_to_dlpack;
  table.value_place = value_place;
  table.value_to_host = value_to_host;
  table.value_to_device = value_to_device;
  table.slots_bind_value = slots_bind_value;
  table.slots_keep_output = slots_keep_output;
  table.slots_output_value = slots_output_value;
  table.value_wrap_read_only = value_wrap_read_only;
  table.value_is_read_only = value_is_read_only;
  table.value_copy = value_copy;
  table.config_create_from_text = config_create_from_text;
  table.error_part = error_part;
  table.session_model = session_model;
  table.session_opset = session_opset;
  table.session_input_default = session_input_default;
  table.operators_create = operators_create;
  table.operators_add = operators_add;
  table.operators_release = operators_release;
  table.call_info = call_info;
  table.call_attribute = call_attribute;
  table.call_find_attribute = call_find_attribute;
  table.call_input = call_input;
  table.call_output = call_output;
  table.call_value = call_value;
  table.call_set_output = call_set_output;
  table.call_is_stopped = call_is_stopped;
  table.session_end_profile = session_end_profile;
  table.model_optimize_from_memory = model_optimize_from_memory;
  table.model_describe_from_memory = model_describe_from_memory;
  table.value_write = value_write;
  return table;
}

constexpr tenon_api kTable = make_table();

}  // namespace
}  // namespace tenon::c_api

extern "C" const tenon_api* tenon_get_api(uint32_t version) {
  return version > TENON_API_VERSION ? nullptr : &tenon::c_api::kTable;
}
