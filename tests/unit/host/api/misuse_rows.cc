#include "tests/unit/host/api/misuse_rows.h"

#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test::misuse {

Good::Good() {
  config.set("discovery.search", "[\"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"").set("select.order", "[\"cpu\"]");
  GraphMaker maker;
  const auto input = maker.input("x", GraphMaker::f32({ir::Dim("n")}));
  maker.output(maker.node("Relu", {input}), "y");
  bytes = maker.bytes();
  session.emplace(Session::from_memory(bytes.data(), bytes.size(), &config));
  slots.emplace(*session);
  named = {as_str("x"), x.get()};
  element = x.get();
  tensor = x.describe();
  info.struct_size = sizeof(info);
  submitted.emplace(session->submit({{"x", x}}));
}

#define CALL(...) [](const tenon_api& t, Good& g, tenon_error* e) -> tenon_status __VA_ARGS__
constexpr tenon_str kNoText{nullptr, 5};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"config_create", "path", CALL({ return t.config_create(kNoText, &g.made_config, e); })},
      {"config_create", "out_config", CALL({
         static_cast<void>(g);
         return t.config_create(as_str(""), nullptr, e);
       })},
      {"config_create_from_text", "text",
       CALL({ return t.config_create_from_text(kNoText, as_str(""), &g.made_config, e); })},
      {"config_create_from_text", "name",
       CALL({ return t.config_create_from_text(as_str(""), kNoText, &g.made_config, e); })},
      {"config_create_from_text", "out_config", CALL({
         static_cast<void>(g);
         return t.config_create_from_text(as_str(""), as_str(""), nullptr, e);
       })},
      {"config_set", "config", CALL({
         static_cast<void>(g);
         return t.config_set(nullptr, as_str("threads.count"), as_str("1"), as_str(""), e);
       })},
      {"config_set", "key",
       CALL({ return t.config_set(g.config.get(), kNoText, as_str("1"), as_str(""), e); })},
      {"config_set", "value",
       CALL({ return t.config_set(g.config.get(), as_str("threads.count"), kNoText, as_str(""), e); })},
      {"config_set", "source",
       CALL({ return t.config_set(g.config.get(), as_str("threads.count"), as_str("1"), kNoText, e); })},
      {"config_describe", "config", CALL({ return t.config_describe(nullptr, &g.text, e); })},
      {"config_describe", "out_json", CALL({ return t.config_describe(g.config.get(), nullptr, e); })},
      {"config_check", "out_json", CALL({ return t.config_check(g.config.get(), nullptr, e); })},
      {"config_schema", "out_json", CALL({
         static_cast<void>(g);
         return t.config_schema(nullptr, e);
       })},
      {"providers_describe", "out_json",
       CALL({ return t.providers_describe(g.config.get(), 0, nullptr, e); })},
      {"providers_describe", "deep", CALL({ return t.providers_describe(g.config.get(), 3, &g.text, e); })},
      {"providers_list", "out_providers", CALL({ return t.providers_list(g.config.get(), 0, nullptr, e); })},
      {"providers_list", "deep", CALL({
         tenon_providers* made = nullptr;
         return t.providers_list(g.config.get(), 3, &made, e);
       })},
      {"providers_get", "", CALL({
         static_cast<void>(e);
         static_cast<void>(g);
         tenon_provider_info info{};
         info.struct_size = sizeof(info);
         return t.providers_get(nullptr, 0, &info);
       })},
      {"provider_register", "manifest_path", CALL({
         static_cast<void>(g);
         return t.provider_register(kNoText, e);
       })},
      {"session_create", "model_path",
       CALL({ return t.session_create(kNoText, g.config.get(), nullptr, &g.made, e); })},
      {"session_create", "out_session",
       CALL({ return t.session_create(as_str("m.onnx"), g.config.get(), nullptr, nullptr, e); })},
      {"session_create", "struct_size", CALL({
         tenon_session_options options{};
         return t.session_create(as_str("m.onnx"), g.config.get(), &options, &g.made, e);
       })},
      {"session_create", "flags", CALL({
         tenon_session_options options{};
         options.struct_size = sizeof(options);
         options.flags = 0x80;
         return t.session_create(as_str("m.onnx"), g.config.get(), &options, &g.made, e);
       })},
      {"session_create_from_memory", "data", CALL({
         return t.session_create_from_memory(nullptr, 3, 0, as_str(""), g.config.get(), nullptr, &g.made, e);
       })},
      {"session_create_from_memory", "directory", CALL({
         return t.session_create_from_memory(g.bytes.data(), g.bytes.size(), 0, kNoText, g.config.get(),
                                             nullptr, &g.made, e);
       })},
      {"session_create_from_memory", "out_session", CALL({
         return t.session_create_from_memory(g.bytes.data(), g.bytes.size(), 0, as_str(""), g.config.get(),
                                             nullptr, nullptr, e);
       })},
      {"session_input", "", CALL({
         static_cast<void>(e);
         return t.session_input(nullptr, 0, &g.info);
       })},
      {"session_input", "", CALL({
         static_cast<void>(e);
         return t.session_input(g.session->get(), 0, nullptr);
       })},
      {"session_input", "", CALL({
         static_cast<void>(e);
         return t.session_input(g.session->get(), 9, &g.info);
       })},
      {"session_instance", "", CALL({
         static_cast<void>(e);
         static_cast<void>(g);
         tenon_instance_info info{};
         info.struct_size = sizeof(info);
         return t.session_instance(nullptr, 0, &info);
       })},
      {"session_instance", "", CALL({
         static_cast<void>(e);
         return t.session_instance(g.session->get(), 0, nullptr);
       })},
      {"session_metadata", "", CALL({
         static_cast<void>(e);
         static_cast<void>(g);
         tenon_str key, value;
         return t.session_metadata(nullptr, 0, &key, &value);
       })},
      {"session_metadata", "", CALL({
         static_cast<void>(e);
         tenon_str value;
         return t.session_metadata(g.session->get(), 0, nullptr, &value);
       })},
      {"session_output", "", CALL({
         static_cast<void>(e);
         return t.session_output(nullptr, 0, &g.info);
       })},
      {"session_output", "", CALL({
         static_cast<void>(e);
         return t.session_output(g.session->get(), 0, nullptr);
       })},
      {"session_describe", "session",
       CALL({ return t.session_describe(nullptr, TENON_DESCRIBE_PLAN, &g.text, e); })},
      {"session_describe", "out_json",
       CALL({ return t.session_describe(g.session->get(), TENON_DESCRIBE_PLAN, nullptr, e); })},
      {"model_optimize", "model_path",
       CALL({ return t.model_optimize(kNoText, g.config.get(), as_str("o.onnx"), e); })},
      {"model_optimize", "out_path",
       CALL({ return t.model_optimize(as_str("m.onnx"), g.config.get(), kNoText, e); })},
      {"model_describe", "model_path",
       CALL({ return t.model_describe(kNoText, g.config.get(), &g.text, e); })},
      {"model_describe", "out_json",
       CALL({ return t.model_describe(as_str("m.onnx"), g.config.get(), nullptr, e); })},
      {"quarantine_describe", "remove_hash", CALL({ return t.quarantine_describe(kNoText, &g.text, e); })},
      {"quarantine_describe", "out_json", CALL({
         static_cast<void>(g);
         return t.quarantine_describe(as_str(""), nullptr, e);
       })},

      {"value_make_tensor", "dims",
       CALL({ return t.value_make_tensor(TENON_FLOAT32, 1, nullptr, &g.value, &g.data, e); })},
      {"value_make_tensor", "rank 99",
       CALL({ return t.value_make_tensor(TENON_FLOAT32, 99, g.dims, &g.value, &g.data, e); })},
      {"value_make_tensor", "out_value",
       CALL({ return t.value_make_tensor(TENON_FLOAT32, 1, g.dims, nullptr, &g.data, e); })},
      {"value_wrap", "tensor", CALL({ return t.value_wrap(nullptr, nullptr, nullptr, &g.value, e); })},
      {"value_wrap", "out_value", CALL({ return t.value_wrap(&g.tensor, nullptr, nullptr, nullptr, e); })},
      {"value_wrap", "dims", CALL({
         g.tensor.dims = nullptr;
         return t.value_wrap(&g.tensor, nullptr, nullptr, &g.value, e);
       })},
      {"value_wrap", "rank 99", CALL({
         g.tensor.rank = 99;
         return t.value_wrap(&g.tensor, nullptr, nullptr, &g.value, e);
       })},
      {"value_wrap", "data is NULL", CALL({
         g.tensor.data = nullptr;
         return t.value_wrap(&g.tensor, nullptr, nullptr, &g.value, e);
       })},
      {"value_wrap_read_only", "tensor",
       CALL({ return t.value_wrap_read_only(nullptr, nullptr, nullptr, &g.value, e); })},
      {"value_wrap_read_only", "out_value",
       CALL({ return t.value_wrap_read_only(&g.tensor, nullptr, nullptr, nullptr, e); })},
      {"value_copy", "value", CALL({ return t.value_copy(nullptr, &g.value, e); })},
      {"value_copy", "out_value", CALL({ return t.value_copy(g.x.get(), nullptr, e); })},
      {"value_make_strings", "dims",
       CALL({ return t.value_make_strings(1, nullptr, g.offsets, "ab", &g.value, e); })},
      {"value_make_strings", "offsets",
       CALL({ return t.value_make_strings(1, g.dims, nullptr, "ab", &g.value, e); })},
      {"value_make_strings", "bytes",
       CALL({ return t.value_make_strings(1, g.dims, g.offsets, nullptr, &g.value, e); })},
      {"value_make_strings", "out_value",
       CALL({ return t.value_make_strings(1, g.dims, g.offsets, "ab", nullptr, e); })},
      {"value_make", "elements",
       CALL({ return t.value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, nullptr, 2, &g.value, e); })},
      {"value_make", "element", CALL({
         g.element = nullptr;
         return t.value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, &g.element, 1, &g.value, e);
       })},
      {"value_make", "elements", CALL({
         return t.value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, &g.element, UINT64_MAX, &g.value, e);
       })},
      {"value_make", "out_value",
       CALL({ return t.value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, &g.element, 1, nullptr, e); })},
      {"value_tensor", "", CALL({
         static_cast<void>(e);
         return t.value_tensor(nullptr, &g.tensor);
       })},
      {"value_tensor", "", CALL({
         static_cast<void>(e);
         return t.value_tensor(g.x.get(), nullptr);
       })},
      {"value_read_pb", "path", CALL({ return t.value_read_pb(kNoText, nullptr, &g.value, e); })},
      {"value_read_pb", "out_value", CALL({
         static_cast<void>(g);
         return t.value_read_pb(as_str("v.pb"), nullptr, nullptr, e);
       })},
      {"value_read_pb", "struct_size", CALL({
         g.info.struct_size = 0;
         return t.value_read_pb(as_str("v.pb"), &g.info, &g.value, e);
       })},
      {"value_read_pb", "type_text", CALL({
         g.info.type_text = kNoText;
         return t.value_read_pb(as_str("v.pb"), &g.info, &g.value, e);
       })},
      {"value_write_pb", "path", CALL({ return t.value_write_pb(kNoText, as_str("x"), g.x.get(), e); })},
      {"value_write_pb", "name", CALL({ return t.value_write_pb(as_str("v.pb"), kNoText, g.x.get(), e); })},
      {"value_write_pb", "value", CALL({
         static_cast<void>(g);
         return t.value_write_pb(as_str("v.pb"), as_str("x"), nullptr, e);
       })},
      {"value_from_dlpack", "managed", CALL({ return t.value_from_dlpack(nullptr, 1, &g.value, e); })},
      {"value_to_dlpack", "value", CALL({ return t.value_to_dlpack(nullptr, 1, &g.data, e); })},
      {"value_to_dlpack", "out_managed", CALL({ return t.value_to_dlpack(g.x.get(), 1, nullptr, e); })},
      {"value_place", "value", CALL({
         static_cast<void>(g);
         tenon_value_place place{};
         place.struct_size = sizeof(place);
         return t.value_place(nullptr, &place, e);
       })},
      {"value_place", "out_place", CALL({ return t.value_place(g.x.get(), nullptr, e); })},
      {"value_to_host", "value", CALL({ return t.value_to_host(nullptr, &g.value, e); })},
      {"value_to_host", "out_value", CALL({ return t.value_to_host(g.x.get(), nullptr, e); })},
      {"value_to_device", "session", CALL({ return t.value_to_device(nullptr, 0, g.x.get(), &g.value, e); })},
      {"value_to_device", "there is no input 1",
       CALL({ return t.value_to_device(g.session->get(), 1, g.x.get(), &g.value, e); })},
      {"value_to_device", "value",
       CALL({ return t.value_to_device(g.session->get(), 0, nullptr, &g.value, e); })},
      {"value_to_device", "out_value",
       CALL({ return t.value_to_device(g.session->get(), 0, g.x.get(), nullptr, e); })},
      {"cancel_create", "", CALL({
         static_cast<void>(g);
         static_cast<void>(e);
         return t.cancel_create(nullptr);
       })},

      {"run", "session", CALL({ return t.run(nullptr, nullptr, &g.named, 1, &g.name, 1, &g.value, e); })},
      {"run", "inputs",
       CALL({ return t.run(g.session->get(), nullptr, nullptr, 1, &g.name, 1, &g.value, e); })},
      {"run", "input's name", CALL({
         g.named.name = kNoText;
         return t.run(g.session->get(), nullptr, &g.named, 1, &g.name, 1, &g.value, e);
       })},
      {"run", "input's value", CALL({
         g.named.value = nullptr;
         return t.run(g.session->get(), nullptr, &g.named, 1, &g.name, 1, &g.value, e);
       })},
      {"run", "output_names",
       CALL({ return t.run(g.session->get(), nullptr, &g.named, 1, nullptr, 1, &g.value, e); })},
      {"run", "output's name", CALL({
         g.name = kNoText;
         return t.run(g.session->get(), nullptr, &g.named, 1, &g.name, 1, &g.value, e);
       })},
      {"run", "out_outputs",
       CALL({ return t.run(g.session->get(), nullptr, &g.named, 1, &g.name, 1, nullptr, e); })},
      {"run", "struct_size", CALL({
         const tenon_run_options options{};
         return t.run(g.session->get(), &options, &g.named, 1, &g.name, 1, &g.value, e);
       })},
      {"slots_create", "session", CALL({
         static_cast<void>(g);
         tenon_slots* made = nullptr;
         return t.slots_create(nullptr, &made, e);
       })},
      {"slots_create", "out_slots", CALL({ return t.slots_create(g.session->get(), nullptr, e); })},
      {"slots_bind_input", "slots", CALL({ return t.slots_bind_input(nullptr, 0, &g.tensor, e); })},
      {"slots_bind_input", "tensor", CALL({ return t.slots_bind_input(g.slots->get(), 0, nullptr, e); })},
      {"slots_bind_input", "dims", CALL({
         g.tensor.dims = nullptr;
         return t.slots_bind_input(g.slots->get(), 0, &g.tensor, e);
       })},
      {"slots_bind_input", "rank 99", CALL({
         g.tensor.rank = 99;
         return t.slots_bind_input(g.slots->get(), 0, &g.tensor, e);
       })},
      {"slots_bind_output", "slots", CALL({ return t.slots_bind_output(nullptr, 0, &g.tensor, e); })},
      {"slots_bind_output", "tensor", CALL({ return t.slots_bind_output(g.slots->get(), 0, nullptr, e); })},
      {"slots_bind_output", "dims", CALL({
         g.tensor.dims = nullptr;
         return t.slots_bind_output(g.slots->get(), 0, &g.tensor, e);
       })},
      {"slots_bind_output", "rank 99", CALL({
         g.tensor.rank = 99;
         return t.slots_bind_output(g.slots->get(), 0, &g.tensor, e);
       })},
      {"slots_run", "slots", CALL({
         static_cast<void>(g);
         return t.slots_run(nullptr, nullptr, e);
       })},
      {"slots_run", "struct_size", CALL({
         const tenon_run_options options{};
         return t.slots_run(g.slots->get(), &options, e);
       })},
      {"slots_output", "slots", CALL({ return t.slots_output(nullptr, 0, &g.tensor, e); })},
      {"slots_output", "out_tensor", CALL({ return t.slots_output(g.slots->get(), 0, nullptr, e); })},
      {"slots_bind_value", "slots", CALL({ return t.slots_bind_value(nullptr, 0, g.x.get(), e); })},
      {"slots_bind_value", "there is no input 1",
       CALL({ return t.slots_bind_value(g.slots->get(), 1, g.x.get(), e); })},
      {"slots_bind_value", "value", CALL({ return t.slots_bind_value(g.slots->get(), 0, nullptr, e); })},
      {"slots_keep_output", "slots", CALL({
         static_cast<void>(g);
         return t.slots_keep_output(nullptr, 0, 1, e);
       })},
      {"slots_keep_output", "there is no output 1",
       CALL({ return t.slots_keep_output(g.slots->get(), 1, 1, e); })},
      {"slots_keep_output", "keep is 2", CALL({ return t.slots_keep_output(g.slots->get(), 0, 2, e); })},
      {"slots_output_value", "slots", CALL({ return t.slots_output_value(nullptr, 0, &g.value, e); })},
      {"slots_output_value", "there is no output 1",
       CALL({ return t.slots_output_value(g.slots->get(), 1, &g.value, e); })},
      {"slots_output_value", "out_value",
       CALL({ return t.slots_output_value(g.slots->get(), 0, nullptr, e); })},
      {"session_state", "", CALL({
         static_cast<void>(e);
         return t.session_state(nullptr, 0, &g.name, &g.name);
       })},
      {"session_state", "", CALL({
         static_cast<void>(e);
         return t.session_state(g.session->get(), 0, nullptr, &g.name);
       })},
      {"session_state", "", CALL({
         static_cast<void>(e);
         return t.session_state(g.session->get(), 0, &g.name, nullptr);
       })},
      {"state_create", "session", CALL({
         static_cast<void>(g);
         tenon_state* made = nullptr;
         return t.state_create(nullptr, &made, e);
       })},
      {"state_create", "out_state", CALL({ return t.state_create(g.session->get(), nullptr, e); })},
      {"state_reset", "state", CALL({
         static_cast<void>(g);
         return t.state_reset(nullptr, e);
       })},
      {"state_read", "state", CALL({ return t.state_read(nullptr, 0, &g.value, e); })},

      {"submit", "session", CALL({
         return t.submit(nullptr, nullptr, &g.named, 1, &g.name, 1, nullptr, nullptr, nullptr, &g.pending, e);
       })},
      {"submit", "inputs", CALL({
         return t.submit(g.session->get(), nullptr, nullptr, 1, &g.name, 1, nullptr, nullptr, nullptr,
                         &g.pending, e);
       })},
      {"submit", "input's name", CALL({
         g.named.name = kNoText;
         return t.submit(g.session->get(), nullptr, &g.named, 1, &g.name, 1, nullptr, nullptr, nullptr,
                         &g.pending, e);
       })},
      {"submit", "input's value", CALL({
         g.named.value = nullptr;
         return t.submit(g.session->get(), nullptr, &g.named, 1, &g.name, 1, nullptr, nullptr, nullptr,
                         &g.pending, e);
       })},
      {"submit", "output_names", CALL({
         return t.submit(g.session->get(), nullptr, &g.named, 1, nullptr, 1, nullptr, nullptr, nullptr,
                         &g.pending, e);
       })},
      {"submit", "output's name", CALL({
         g.name = kNoText;
         return t.submit(g.session->get(), nullptr, &g.named, 1, &g.name, 1, nullptr, nullptr, nullptr,
                         &g.pending, e);
       })},
      {"submit", "struct_size", CALL({
         const tenon_run_options options{};
         return t.submit(g.session->get(), &options, &g.named, 1, &g.name, 1, nullptr, nullptr, nullptr,
                         &g.pending, e);
       })},
      {"submit", "deadline_ns", CALL({
         tenon_run_options options{};
         options.struct_size = sizeof(options);
         options.deadline_ns = -1;
         return t.submit(g.session->get(), &options, &g.named, 1, &g.name, 1, nullptr, nullptr, nullptr,
                         &g.pending, e);
       })},
      {"submit", "out_trace", CALL({
         tenon_run_options options{};
         options.struct_size = sizeof(options);
         options.out_trace = &g.text;
         return t.submit(g.session->get(), &options, &g.named, 1, &g.name, 1, nullptr, nullptr, nullptr,
                         &g.pending, e);
       })},
      {"slots_submit", "slots",
       CALL({ return t.slots_submit(nullptr, nullptr, nullptr, nullptr, &g.pending, e); })},
      {"slots_submit", "struct_size", CALL({
         const tenon_run_options options{};
         return t.slots_submit(g.slots->get(), &options, nullptr, nullptr, &g.pending, e);
       })},
      {"pending_wait", "pending", CALL({
         static_cast<void>(g);
         uint32_t is_over = 0;
         return t.pending_wait(nullptr, 0, &is_over, e);
       })},
      {"pending_wait", "out_is_over", CALL({ return t.pending_wait(g.submitted->get(), 0, nullptr, e); })},
      {"pending_output", "pending", CALL({ return t.pending_output(nullptr, 0, &g.value, e); })},
      {"pending_output", "out_value", CALL({ return t.pending_output(g.submitted->get(), 0, nullptr, e); })},
      {"pending_output", "output 1", CALL({
         g.submitted->wait();
         return t.pending_output(g.submitted->get(), 1, &g.value, e);
       })},
      {"session_model", "", CALL({
         static_cast<void>(g);
         static_cast<void>(e);
         tenon_model_info info{};
         info.struct_size = sizeof(info);
         return t.session_model(nullptr, &info);
       })},
      {"session_model", "", CALL({
         static_cast<void>(e);
         return t.session_model(g.session->get(), nullptr);
       })},
      {"session_opset", "", CALL({
         static_cast<void>(e);
         tenon_str domain{};
         int64_t version = 0;
         return t.session_opset(g.session->get(), 1, &domain, &version);
       })},
      {"session_opset", "", CALL({
         static_cast<void>(e);
         int64_t version = 0;
         return t.session_opset(g.session->get(), 0, nullptr, &version);
       })},
      {"session_opset", "", CALL({
         static_cast<void>(e);
         tenon_str domain{};
         return t.session_opset(g.session->get(), 0, &domain, nullptr);
       })},
      {"session_input_default", "session",
       CALL({ return t.session_input_default(nullptr, 0, &g.value, e); })},
      {"session_input_default", "out_value",
       CALL({ return t.session_input_default(g.session->get(), 0, nullptr, e); })},
      {"session_input_default", "there is no input 1",
       CALL({ return t.session_input_default(g.session->get(), 1, &g.value, e); })},
      {"session_input_default", "input 'x' has no default",
       CALL({ return t.session_input_default(g.session->get(), 0, &g.value, e); })},
      {"session_end_profile", "session", CALL({ return t.session_end_profile(nullptr, &g.text, e); })},
      {"model_describe_from_memory", "data",
       CALL({ return t.model_describe_from_memory(nullptr, 1, as_str(""), g.config.get(), &g.text, e); })},
      {"model_describe_from_memory", "directory", CALL({
         return t.model_describe_from_memory(g.bytes.data(), g.bytes.size(), kNoText, g.config.get(), &g.text,
                                             e);
       })},
      {"model_describe_from_memory", "out_json", CALL({
         return t.model_describe_from_memory(g.bytes.data(), g.bytes.size(), as_str(""), g.config.get(),
                                             nullptr, e);
       })},
      {"model_optimize_from_memory", "data", CALL({
         return t.model_optimize_from_memory(nullptr, 1, as_str(""), g.config.get(), as_str("/dev/null"), e);
       })},
      {"model_optimize_from_memory", "out_path", CALL({
         return t.model_optimize_from_memory(g.bytes.data(), g.bytes.size(), as_str(""), g.config.get(),
                                             kNoText, e);
       })},
      {"value_write", "to", CALL({ return t.value_write(nullptr, g.x.get(), e); })},
      {"value_write", "from", CALL({ return t.value_write(g.x.get(), nullptr, e); })},
      {"operators_create", "out_operators", CALL({
         static_cast<void>(g);
         return t.operators_create(nullptr, e);
       })},
      {"operators_add", "operators", CALL({
         static_cast<void>(g);
         tenon_operator op{};
         op.struct_size = sizeof(op);
         return t.operators_add(nullptr, &op, e);
       })},
      {"operators_add", "op", CALL({
         static_cast<void>(g);
         const Operators operators;
         return t.operators_add(const_cast<tenon_operators*>(operators.get()), nullptr, e);
       })},
      {"call_info", "", CALL({
         static_cast<void>(g);
         static_cast<void>(e);
         tenon_call_info info{};
         info.struct_size = sizeof(info);
         return t.call_info(nullptr, &info);
       })},
      {"call_attribute", "", CALL({
         static_cast<void>(g);
         static_cast<void>(e);
         tenon_attribute attribute{};
         attribute.struct_size = sizeof(attribute);
         return t.call_attribute(nullptr, 0, &attribute);
       })},
      {"call_find_attribute", "", CALL({
         static_cast<void>(g);
         static_cast<void>(e);
         tenon_attribute attribute{};
         attribute.struct_size = sizeof(attribute);
         return t.call_find_attribute(nullptr, as_str("k"), &attribute);
       })},
      {"call_input", "", CALL({
         static_cast<void>(e);
         return t.call_input(nullptr, 0, &g.info);
       })},
      {"call_output", "", CALL({
         static_cast<void>(e);
         return t.call_output(nullptr, 0, &g.info);
       })},
      {"call_set_output", "call", CALL({ return t.call_set_output(nullptr, 0, &g.info, e); })},
  };
  return all;
}
#undef CALL

}  // namespace tenon::test::misuse
