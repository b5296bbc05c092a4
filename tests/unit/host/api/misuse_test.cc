// Wrong arguments to the functions of tenon.h: every pointer NULL in turn, and what else an application may get wrong.
#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using testing::HasSubstr;

/// Things that are all right, to be given beside the one that is not.
struct Good {
  Good() {
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
  }

  Config config;
  std::string bytes;
  std::optional<Session> session;
  std::optional<Slots> slots;
  Value x = Value::tensor<float>({2}, {1, -1});
  tenon_named_value named{};
  tenon_str name = as_str("y");
  tenon_value* element = nullptr;
  tenon_tensor tensor{};
  tenon_io_info info{};
  int64_t dims[1] = {2};
  int64_t offsets[3] = {0, 1, 2};
  // Where results would go.
  tenon_value* value = nullptr;
  tenon_text* text = nullptr;
  tenon_session* made = nullptr;
  tenon_config* made_config = nullptr;
  void* data = nullptr;
};

struct Row {
  const char* function;
  const char* what;
  std::function<tenon_status(const tenon_api&, Good&, tenon_error*)> call;
};

#define CALL [](const tenon_api& t, Good& g, tenon_error* e) -> tenon_status
constexpr tenon_str kNoText{nullptr, 5};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"config_create", "path", CALL{return t.config_create(kNoText, &g.made_config, e);
}
}  // namespace
, {"config_create", "out_config", CALL{static_cast<void>(g);
return t.config_create(as_str(""), nullptr, e);
}  // namespace tenon::test
}
, {"config_set", "config", CALL{static_cast<void>(g);
return t.config_set(nullptr, as_str("threads.count"), as_str("1"), as_str(""), e);
}
}
, {"config_set", "key", CALL{return t.config_set(g.config.get(), kNoText, as_str("1"), as_str(""), e);
}
}
, {"config_set", "value",
   CALL{return t.config_set(g.config.get(), as_str("threads.count"), kNoText, as_str(""), e);
}
}
, {"config_set", "source",
   CALL{return t.config_set(g.config.get(), as_str("threads.count"), as_str("1"), kNoText, e);
}
}
, {"config_describe", "config", CALL{return t.config_describe(nullptr, &g.text, e);
}
}
, {"config_describe", "out_json", CALL{return t.config_describe(g.config.get(), nullptr, e);
}
}
, {"config_check", "out_json", CALL{return t.config_check(g.config.get(), nullptr, e);
}
}
, {"config_schema", "out_json", CALL{static_cast<void>(g);
return t.config_schema(nullptr, e);
}
}
, {"providers_describe", "out_json", CALL{return t.providers_describe(g.config.get(), 0, nullptr, e);
}
}
, {"providers_describe", "deep", CALL{return t.providers_describe(g.config.get(), 3, &g.text, e);
}
}
, {"provider_register", "manifest_path", CALL{static_cast<void>(g);
return t.provider_register(kNoText, e);
}
}
, {"session_create", "model_path", CALL{return t.session_create(kNoText, g.config.get(), nullptr, &g.made, e);
}
}
, {"session_create", "out_session",
   CALL{return t.session_create(as_str("m.onnx"), g.config.get(), nullptr, nullptr, e);
}
}
, {"session_create", "struct_size", CALL{tenon_session_options options{};
return t.session_create(as_str("m.onnx"), g.config.get(), &options, &g.made, e);
}
}
, {"session_create", "flags", CALL{tenon_session_options options{};
options.struct_size = sizeof(options);
options.flags = 0x80;
return t.session_create(as_str("m.onnx"), g.config.get(), &options, &g.made, e);
}
}
, {"session_create_from_memory", "data",
   CALL{return t.session_create_from_memory(nullptr, 3, 0, as_str(""), g.config.get(), nullptr, &g.made, e);
}
}
, {"session_create_from_memory", "directory",
   CALL{return t.session_create_from_memory(g.bytes.data(), g.bytes.size(), 0, kNoText, g.config.get(),
                                            nullptr, &g.made, e);
}
}
, {"session_create_from_memory", "out_session",
   CALL{return t.session_create_from_memory(g.bytes.data(), g.bytes.size(), 0, as_str(""), g.config.get(),
                                            nullptr, nullptr, e);
}
}
, {"session_input", "", CALL{static_cast<void>(e);
return t.session_input(nullptr, 0, &g.info);
}
}
, {"session_input", "", CALL{static_cast<void>(e);
return t.session_input(g.session->get(), 0, nullptr);
}
}
, {"session_input", "", CALL{static_cast<void>(e);
return t.session_input(g.session->get(), 9, &g.info);
}
}
, {"session_instance", "", CALL{static_cast<void>(e);
static_cast<void>(g);
tenon_instance_info info{};
info.struct_size = sizeof(info);
return t.session_instance(nullptr, 0, &info);
}
}
, {"session_instance", "", CALL{static_cast<void>(e);
return t.session_instance(g.session->get(), 0, nullptr);
}
}
, {"session_metadata", "", CALL{static_cast<void>(e);
static_cast<void>(g);
tenon_str key, value;
return t.session_metadata(nullptr, 0, &key, &value);
}
}
, {"session_metadata", "", CALL{static_cast<void>(e);
tenon_str value;
return t.session_metadata(g.session->get(), 0, nullptr, &value);
}
}
, {"session_output", "", CALL{static_cast<void>(e);
return t.session_output(nullptr, 0, &g.info);
}
}
, {"session_output", "", CALL{static_cast<void>(e);
return t.session_output(g.session->get(), 0, nullptr);
}
}
, {"session_describe", "session", CALL{return t.session_describe(nullptr, TENON_DESCRIBE_PLAN, &g.text, e);
}
}
, {"session_describe", "out_json",
   CALL{return t.session_describe(g.session->get(), TENON_DESCRIBE_PLAN, nullptr, e);
}
}
, {"model_optimize", "model_path", CALL{return t.model_optimize(kNoText, g.config.get(), as_str("o.onnx"), e);
}
}
, {"model_optimize", "out_path", CALL{return t.model_optimize(as_str("m.onnx"), g.config.get(), kNoText, e);
}
}
, {"model_describe", "model_path", CALL{return t.model_describe(kNoText, g.config.get(), &g.text, e);
}
}
, {"model_describe", "out_json", CALL{return t.model_describe(as_str("m.onnx"), g.config.get(), nullptr, e);
}
}
, {"quarantine_describe", "remove_hash", CALL{return t.quarantine_describe(kNoText, &g.text, e);
}
}
, {"quarantine_describe", "out_json", CALL{static_cast<void>(g);
return t.quarantine_describe(as_str(""), nullptr, e);
}
}
,

    {"value_make_tensor", "dims",
     CALL{return t.value_make_tensor(TENON_FLOAT32, 1, nullptr, &g.value, &g.data, e);
}
}
, {"value_make_tensor", "rank 99",
   CALL{return t.value_make_tensor(TENON_FLOAT32, 99, g.dims, &g.value, &g.data, e);
}
}
, {"value_make_tensor", "out_value",
   CALL{return t.value_make_tensor(TENON_FLOAT32, 1, g.dims, nullptr, &g.data, e);
}
}
, {"value_wrap", "tensor", CALL{return t.value_wrap(nullptr, nullptr, nullptr, &g.value, e);
}
}
, {"value_wrap", "out_value", CALL{return t.value_wrap(&g.tensor, nullptr, nullptr, nullptr, e);
}
}
, {"value_wrap", "dims", CALL{g.tensor.dims = nullptr;
return t.value_wrap(&g.tensor, nullptr, nullptr, &g.value, e);
}
}
, {"value_wrap", "rank 99", CALL{g.tensor.rank = 99;
return t.value_wrap(&g.tensor, nullptr, nullptr, &g.value, e);
}
}
, {"value_wrap", "data is NULL", CALL{g.tensor.data = nullptr;
return t.value_wrap(&g.tensor, nullptr, nullptr, &g.value, e);
}
}
, {"value_make_strings", "dims", CALL{return t.value_make_strings(1, nullptr, g.offsets, "ab", &g.value, e);
}
}
, {"value_make_strings", "offsets", CALL{return t.value_make_strings(1, g.dims, nullptr, "ab", &g.value, e);
}
}
, {"value_make_strings", "bytes",
   CALL{return t.value_make_strings(1, g.dims, g.offsets, nullptr, &g.value, e);
}
}
, {"value_make_strings", "out_value",
   CALL{return t.value_make_strings(1, g.dims, g.offsets, "ab", nullptr, e);
}
}
, {"value_make", "elements",
   CALL{return t.value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, nullptr, 2, &g.value, e);
}
}
, {"value_make", "element", CALL{g.element = nullptr;
return t.value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, &g.element, 1, &g.value, e);
}
}
, {"value_make", "elements",
   CALL{return t.value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, &g.element, UINT64_MAX, &g.value, e);
}
}
, {"value_make", "out_value",
   CALL{return t.value_make(TENON_KIND_SEQUENCE, TENON_FLOAT32, &g.element, 1, nullptr, e);
}
}
, {"value_tensor", "", CALL{static_cast<void>(e);
return t.value_tensor(nullptr, &g.tensor);
}
}
, {"value_tensor", "", CALL{static_cast<void>(e);
return t.value_tensor(g.x.get(), nullptr);
}
}
, {"value_read_pb", "path", CALL{return t.value_read_pb(kNoText, nullptr, &g.value, e);
}
}
, {"value_read_pb", "out_value", CALL{static_cast<void>(g);
return t.value_read_pb(as_str("v.pb"), nullptr, nullptr, e);
}
}
, {"value_read_pb", "struct_size", CALL{g.info.struct_size = 0;
return t.value_read_pb(as_str("v.pb"), &g.info, &g.value, e);
}
}
, {"value_read_pb", "type_text", CALL{g.info.type_text = kNoText;
return t.value_read_pb(as_str("v.pb"), &g.info, &g.value, e);
}
}
, {"value_write_pb", "path", CALL{return t.value_write_pb(kNoText, as_str("x"), g.x.get(), e);
}
}
, {"value_write_pb", "name", CALL{return t.value_write_pb(as_str("v.pb"), kNoText, g.x.get(), e);
}
}
, {"value_write_pb", "value", CALL{static_cast<void>(g);
return t.value_write_pb(as_str("v.pb"), as_str("x"), nullptr, e);
}
}
, {"cancel_create", "", CALL{static_cast<void>(g);
static_cast<void>(e);
return t.cancel_create(nullptr);
}
}
,

    {"run", "session", CALL{return t.run(nullptr, nullptr, &g.named, 1, &g.name, 1, &g.value, e);
}
}
, {"run", "inputs", CALL{return t.run(g.session->get(), nullptr, nullptr, 1, &g.name, 1, &g.value, e);
}
}
, {"run", "input's name", CALL{g.named.name = kNoText;
return t.run(g.session->get(), nullptr, &g.named, 1, &g.name, 1, &g.value, e);
}
}
, {"run", "input's value", CALL{g.named.value = nullptr;
return t.run(g.session->get(), nullptr, &g.named, 1, &g.name, 1, &g.value, e);
}
}
, {"run", "output_names", CALL{return t.run(g.session->get(), nullptr, &g.named, 1, nullptr, 1, &g.value, e);
}
}
, {"run", "output's name", CALL{g.name = kNoText;
return t.run(g.session->get(), nullptr, &g.named, 1, &g.name, 1, &g.value, e);
}
}
, {"run", "out_outputs", CALL{return t.run(g.session->get(), nullptr, &g.named, 1, &g.name, 1, nullptr, e);
}
}
, {"run", "struct_size", CALL{const tenon_run_options options{};
return t.run(g.session->get(), &options, &g.named, 1, &g.name, 1, &g.value, e);
}
}
, {"slots_create", "session", CALL{static_cast<void>(g);
tenon_slots* made = nullptr;
return t.slots_create(nullptr, &made, e);
}
}
, {"slots_create", "out_slots", CALL{return t.slots_create(g.session->get(), nullptr, e);
}
}
, {"slots_bind_input", "slots", CALL{return t.slots_bind_input(nullptr, 0, &g.tensor, e);
}
}
, {"slots_bind_input", "tensor", CALL{return t.slots_bind_input(g.slots->get(), 0, nullptr, e);
}
}
, {"slots_bind_input", "dims", CALL{g.tensor.dims = nullptr;
return t.slots_bind_input(g.slots->get(), 0, &g.tensor, e);
}
}
, {"slots_bind_input", "rank 99", CALL{g.tensor.rank = 99;
return t.slots_bind_input(g.slots->get(), 0, &g.tensor, e);
}
}
, {"slots_bind_output", "slots", CALL{return t.slots_bind_output(nullptr, 0, &g.tensor, e);
}
}
, {"slots_bind_output", "tensor", CALL{return t.slots_bind_output(g.slots->get(), 0, nullptr, e);
}
}
, {"slots_bind_output", "dims", CALL{g.tensor.dims = nullptr;
return t.slots_bind_output(g.slots->get(), 0, &g.tensor, e);
}
}
, {"slots_bind_output", "rank 99", CALL{g.tensor.rank = 99;
return t.slots_bind_output(g.slots->get(), 0, &g.tensor, e);
}
}
, {"slots_run", "slots", CALL{static_cast<void>(g);
return t.slots_run(nullptr, nullptr, e);
}
}
, {"slots_run", "struct_size", CALL{const tenon_run_options options{};
return t.slots_run(g.slots->get(), &options, e);
}
}
, {"slots_output", "slots", CALL{return t.slots_output(nullptr, 0, &g.tensor, e);
}
}
, {"slots_output", "out_tensor", CALL{return t.slots_output(g.slots->get(), 0, nullptr, e);
}
}
,
}
;
return all;
}
#undef CALL

TEST(ApiMisuse, EveryWrongPointerIsRefusedByName) {
  for (const Row& row : rows()) {
    Good good;
    tenon_error error{};
    error.struct_size = sizeof(error);
    EXPECT_EQ(row.call(api(), good, &error), TENON_INVALID_ARGUMENT) << row.function << " " << row.what;
    EXPECT_THAT(error.message, HasSubstr(row.what)) << row.function;
    EXPECT_EQ(api().error_kind(&error) == TENON_ERROR_INVALID_INPUT, *row.what != '\0')
        << row.function << " " << row.what;
    EXPECT_EQ(row.call(api(), good, nullptr), TENON_INVALID_ARGUMENT)
        << row.function << " without an error struct";
  }
}

// Functions that take NULL and do nothing. A new function is in one of the two lists.
TEST(ApiMisuse, EveryFunctionHasARow) {
  std::set<std::string> known;
  for (const Row& row : rows()) known.insert(row.function);
  const tenon_api& t = api();
  const std::map<std::string, std::function<void()>> tolerant = {
      {"runtime_version", [&] { t.runtime_version(); }},
      {"error_kind", [&] { EXPECT_EQ(t.error_kind(nullptr), uint32_t{TENON_ERROR_NONE}); }},
      {"text_get", [&] { EXPECT_EQ(t.text_get(nullptr).size, 0u); }},
      {"text_release", [&] { t.text_release(nullptr); }},
      {"config_release", [&] { t.config_release(nullptr); }},
      {"session_release", [&] { t.session_release(nullptr); }},
      {"session_input_count", [&] { EXPECT_EQ(t.session_input_count(nullptr), 0u); }},
      {"session_instance_count", [&] { EXPECT_EQ(t.session_instance_count(nullptr), 0u); }},
      {"session_metadata_count", [&] { EXPECT_EQ(t.session_metadata_count(nullptr), 0u); }},
      {"session_output_count", [&] { EXPECT_EQ(t.session_output_count(nullptr), 0u); }},
      {"value_retain", [&] { t.value_retain(nullptr); }},
      {"value_release", [&] { t.value_release(nullptr); }},
      {"value_kind", [&] { EXPECT_EQ(t.value_kind(nullptr), uint32_t{TENON_KIND_NONE}); }},
      {"value_size", [&] { EXPECT_EQ(t.value_size(nullptr), 0u); }},
      {"value_element", [&] { EXPECT_EQ(t.value_element(nullptr, 0), nullptr); }},
      {"cancel_trigger", [&] { t.cancel_trigger(nullptr); }},
      {"cancel_release", [&] { t.cancel_release(nullptr); }},
      {"slots_release", [&] { t.slots_release(nullptr); }},
      {"log_set", [&] { t.log_set(nullptr, nullptr); }},
  };
  for (const auto& [name, call] : tolerant) {
    known.insert(name);
    call();
  }
  std::ifstream file(source_dir() + "/host/include/tenon/tenon.h");
  std::stringstream text;
  text << file.rdbuf();
  std::string header = text.str();
  header.erase(0, header.find("typedef struct tenon_api {"));
  const std::regex function("\\(\\*([a-z_]+)\\)\\(");
  size_t count = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), function), end; at != end; ++at, ++count) {
    EXPECT_EQ(known.count((*at)[1]), 1u) << (*at)[1] << " has no row";
  }
  EXPECT_EQ(count, (sizeof(tenon_api) - offsetof(tenon_api, runtime_version)) / sizeof(void*));
}

}  // namespace
}  // namespace tenon::test
