// The functions of the API's table, one source file for each group.
#pragma once

#include "tenon/tenon.h"

namespace tenon::c_api {

// error_parts.cc
tenon_str error_part(const tenon_error* error, uint32_t part);

// config.cc
tenon_status config_create(tenon_str path, tenon_config** out_config, tenon_error* error);
tenon_status config_create_from_text(tenon_str text, tenon_str name, tenon_config** out_config,
                                     tenon_error* error);
void config_release(tenon_config* config);
tenon_status config_set(tenon_config* config, tenon_str key, tenon_str value, tenon_str source,
                        tenon_error* error);
tenon_status config_describe(const tenon_config* config, tenon_text** out_json, tenon_error* error);
tenon_status config_schema(tenon_text** out_json, tenon_error* error);
tenon_status config_check(const tenon_config* config, tenon_text** out_json, tenon_error* error);

// providers.cc
tenon_status providers_list(const tenon_config* config, uint32_t deep, tenon_providers** out_providers,
                            tenon_error* error);
uint32_t providers_count(const tenon_providers* providers);
tenon_status providers_get(const tenon_providers* providers, uint32_t index, tenon_provider_info* out_info);
void providers_release(tenon_providers* providers);
tenon_status providers_describe(const tenon_config* config, uint32_t deep, tenon_text** out_json,
                                tenon_error* error);
tenon_status provider_register(tenon_str manifest_path, tenon_error* error);
tenon_status quarantine_describe(tenon_str remove_hash, tenon_text** out_json, tenon_error* error);

// log.cc
void log_set(tenon_log_fn fn, void* context);

// sessions.cc
tenon_status session_create(tenon_str model_path, const tenon_config* config,
                            const tenon_session_options* options, tenon_session** out_session,
                            tenon_error* error);
tenon_status session_create_from_memory(const void* data, uint64_t size, uint32_t keep, tenon_str directory,
                                        const tenon_config* config, const tenon_session_options* options,
                                        tenon_session** out_session, tenon_error* error);
void session_release(tenon_session* session);
uint32_t session_input_count(const tenon_session* session);
uint32_t session_output_count(const tenon_session* session);
tenon_status session_input(const tenon_session* session, uint32_t index, tenon_io_info* out_info);
tenon_status session_output(const tenon_session* session, uint32_t index, tenon_io_info* out_info);
tenon_status session_describe(const tenon_session* session, uint32_t what, tenon_text** out_json,
                              tenon_error* error);
tenon_status model_optimize(tenon_str model_path, const tenon_config* config, tenon_str out_path,
                            tenon_error* error);
tenon_status model_describe(tenon_str model_path, const tenon_config* config, tenon_text** out_json,
                            tenon_error* error);

tenon_status session_end_profile(tenon_session* session, tenon_text** out_path, tenon_error* error);
tenon_status model_optimize_from_memory(const void* data, uint64_t size, tenon_str directory,
                                        const tenon_config* config, tenon_str out_path, tenon_error* error);
tenon_status model_describe_from_memory(const void* data, uint64_t size, tenon_str directory,
                                        const tenon_config* config, tenon_text** out_json,
                                        tenon_error* error);

// session_info.cc
uint32_t session_instance_count(const tenon_session* session);
tenon_status session_instance(const tenon_session* session, uint32_t index, tenon_instance_info* out_info);
uint32_t session_metadata_count(const tenon_session* session);
tenon_status session_metadata(const tenon_session* session, uint32_t index, tenon_str* out_key,
                              tenon_str* out_value);
tenon_status session_model(const tenon_session* session, tenon_model_info* out_info);
tenon_status session_opset(const tenon_session* session, uint32_t index, tenon_str* out_domain,
                           int64_t* out_version);
tenon_status session_input_default(const tenon_session* session, uint32_t index, tenon_value** out_value,
                                   tenon_error* error);

// values.cc; the other functions of values are shared with the table for providers
tenon_status value_wrap(const tenon_tensor* tensor, tenon_free_fn free_fn, void* free_context,
                        tenon_value** out_value, tenon_error* error);
tenon_status value_wrap_read_only(const tenon_tensor* tensor, tenon_free_fn free_fn, void* free_context,
                                  tenon_value** out_value, tenon_error* error);
uint32_t value_is_read_only(const tenon_value* value);
tenon_status value_write(tenon_value* to, const tenon_value* from, tenon_error* error);
tenon_status value_copy(const tenon_value* value, tenon_value** out_value, tenon_error* error);
tenon_status value_read_pb(tenon_str path, const tenon_io_info* like, tenon_value** out_value,
                           tenon_error* error);
tenon_status value_write_pb(tenon_str path, tenon_str name, const tenon_value* value, tenon_error* error);

tenon_status value_place(const tenon_value* value, tenon_value_place* out_place, tenon_error* error);
tenon_status value_to_host(tenon_value* value, tenon_value** out_value, tenon_error* error);
tenon_status value_to_device(tenon_session* session, uint32_t index, tenon_value* value,
                             tenon_value** out_value, tenon_error* error);

// dlpack.cc
tenon_status value_from_dlpack(void* managed, uint32_t versioned, tenon_value** out_value,
                               tenon_error* error);
tenon_status value_to_dlpack(tenon_value* value, uint32_t versioned, void** out_managed, tenon_error* error);

// runs.cc
tenon_status cancel_create(tenon_cancel** out_cancel);
void cancel_trigger(tenon_cancel* cancel);
void cancel_release(tenon_cancel* cancel);
tenon_status run(tenon_session* session, const tenon_run_options* options, const tenon_named_value* inputs,
                 uint32_t input_count, const tenon_str* output_names, uint32_t output_count,
                 tenon_value** out_outputs, tenon_error* error);
tenon_status slots_create(tenon_session* session, tenon_slots** out_slots, tenon_error* error);
void slots_release(tenon_slots* slots);
tenon_status slots_bind_input(tenon_slots* slots, uint32_t index, const tenon_tensor* tensor,
                              tenon_error* error);
tenon_status slots_bind_output(tenon_slots* slots, uint32_t index, const tenon_tensor* tensor,
                               tenon_error* error);
tenon_status slots_run(tenon_slots* slots, const tenon_run_options* options, tenon_error* error);
tenon_status slots_output(tenon_slots* slots, uint32_t index, tenon_tensor* out_tensor, tenon_error* error);
tenon_status slots_bind_value(tenon_slots* slots, uint32_t index, tenon_value* value, tenon_error* error);
tenon_status slots_keep_output(tenon_slots* slots, uint32_t index, uint32_t keep, tenon_error* error);
tenon_status slots_output_value(tenon_slots* slots, uint32_t index, tenon_value** out_value,
                                tenon_error* error);

// operators.cc
tenon_status operators_create(tenon_operators** out_operators, tenon_error* error);
tenon_status operators_add(tenon_operators* operators, const tenon_operator* op, tenon_error* error);
void operators_release(tenon_operators* operators);
tenon_status call_info(const tenon_operator_call* call, tenon_call_info* out_info);
tenon_status call_attribute(const tenon_operator_call* call, uint32_t index, tenon_attribute* out_attribute);
tenon_status call_find_attribute(const tenon_operator_call* call, tenon_str name,
                                 tenon_attribute* out_attribute);
tenon_status call_input(const tenon_operator_call* call, uint32_t index, tenon_io_info* out_info);
tenon_status call_output(const tenon_operator_call* call, uint32_t index, tenon_io_info* out_info);
tenon_value* call_value(const tenon_operator_call* call, uint32_t index);
tenon_status call_set_output(const tenon_operator_call* call, uint32_t index, const tenon_io_info* type,
                             tenon_error* error);
uint32_t call_is_stopped(const tenon_operator_call* call);

// states.cc
uint32_t session_state_count(const tenon_session* session);
tenon_status session_state(const tenon_session* session, uint32_t index, tenon_str* out_input,
                           tenon_str* out_output);
tenon_status state_create(tenon_session* session, tenon_state** out_state, tenon_error* error);
void state_release(tenon_state* state);
tenon_status state_reset(tenon_state* state, tenon_error* error);
tenon_status state_read(tenon_state* state, uint32_t index, tenon_value** out_value, tenon_error* error);
// pending.cc
tenon_status submit(tenon_session* session, const tenon_run_options* options, const tenon_named_value* inputs,
                    uint32_t input_count, const tenon_str* output_names, uint32_t output_count,
                    tenon_value* const* outputs, tenon_done_fn done, void* context,
                    tenon_pending** out_pending, tenon_error* error);
tenon_status slots_submit(tenon_slots* slots, const tenon_run_options* options, tenon_done_fn done,
                          void* context, tenon_pending** out_pending, tenon_error* error);
tenon_status pending_wait(tenon_pending* pending, int64_t timeout_ns, uint32_t* out_is_over,
                          tenon_error* error);
tenon_status pending_output(tenon_pending* pending, uint32_t index, tenon_value** out_value,
                            tenon_error* error);
void pending_cancel(tenon_pending* pending);
void pending_release(tenon_pending* pending);

}  // namespace tenon::c_api
