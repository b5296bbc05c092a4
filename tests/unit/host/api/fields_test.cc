// A row for every field of the structs of tenon.h: what a value of it does, or how it is refused. Functions of the table
// have rows in misuse_rows.cc.
#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/api/operator_field_rows.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using testing::HasSubstr;

struct Outcome {
  tenon_status status = TENON_OK;
  uint32_t kind = TENON_FAILURE_NONE;
  std::string text;
};

template <class Call>
Outcome outcome(Call&& call) {
  tenon_error error{};
  error.struct_size = sizeof(error);
  Outcome out;
  out.status = call(&error);
  out.kind = api().error_kind(&error);
  out.text = error.message;
  return out;
}

/// A model y = relu(x + 1), and sessions and Runs of it.
struct Bench {
  Bench() {
    config.set("discovery.search", "[\"" + providers_dir() + "\"]");
    config.set("discovery.scan", "\"off\"").set("select.order", "[\"cpu\"]");
    GraphMaker m;
    const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 2}));
    m.output(m.node("Relu", {m.node("Add", {x, m.constant("one", {1}, {1})}, {}, "plus")}), "y");
    m.graph.name = "main";
    m.graph.doc = "of the graph";
    m.model.domain = "org.acme";
    m.model.doc = "of the model";
    m.model.producer_version = "1.2";
    m.model.model_version = 7;
    m.model.opset_imports["com.acme"] = 3;
    bytes = m.bytes();
    run_options.struct_size = sizeof(run_options);
    session_options.struct_size = sizeof(session_options);
  }

  Outcome create(tenon_session** session) const {
    return outcome([&](tenon_error* error) {
      return api().session_create_from_memory(bytes.data(), bytes.size(), 0, {}, config.get(),
                                              &session_options, session, error);
    });
  }
  Outcome create() const {
    tenon_session* session = nullptr;
    const Outcome out = create(&session);
    api().session_release(session);
    return out;
  }
  Outcome run() const {
    const Session session = Session::from_memory(bytes.data(), bytes.size(), &config);
    const Value x = Value::tensor<float>({1, 2}, {1, -5});
    const tenon_named_value input{as_str("x"), x.get()};
    return run(session.get(), input);
  }
  Outcome run(tenon_session* session, const tenon_named_value& input) const {
    tenon_value* output = nullptr;
    const Outcome out = outcome([&](tenon_error* error) {
      return api().run(session, &run_options, &input, 1, nullptr, 0, &output, error);
    });
    api().value_release(output);
    return out;
  }
  tenon_value_place place() const {
    tenon_value_place out{};
    out.struct_size = sizeof(out);
    EXPECT_EQ(api().value_place(tensor.get(), &out, nullptr), TENON_OK);
    return out;
  }
  tenon_instance_info instance() {
    if (!session) session.emplace(Session::from_memory(bytes.data(), bytes.size(), &config));
    tenon_instance_info out{};
    out.struct_size = sizeof(out);
    EXPECT_EQ(api().session_instance(session->get(), 0, &out), TENON_OK);
    return out;
  }
  tenon_provider_info provider() {
    tenon_provider_info out{};
    out.struct_size = sizeof(out);
    if (!providers) {
      tenon_providers* made = nullptr;
      EXPECT_EQ(api().providers_list(config.get(), 0, &made, nullptr), TENON_OK);
      providers.reset(made);
    }
    for (uint32_t i = 0; i < api().providers_count(providers.get()); ++i) {
      EXPECT_EQ(api().providers_get(providers.get(), i, &out), TENON_OK);
      if (as_string(out.id) == "cpu") return out;
    }
    ADD_FAILURE() << "the list lacks cpu";
    return out;
  }
  tenon_model_info model() {
    if (!session) session.emplace(Session::from_memory(bytes.data(), bytes.size(), &config));
    tenon_model_info out{};
    out.struct_size = sizeof(out);
    EXPECT_EQ(api().session_model(session->get(), &out), TENON_OK);
    return out;
  }
  tenon_io_info info(bool input) {
    if (!session) session.emplace(Session::from_memory(bytes.data(), bytes.size(), &config));
    tenon_io_info out{};
    out.struct_size = sizeof(out);
    EXPECT_EQ(
        input ? api().session_input(session->get(), 0, &out) : api().session_output(session->get(), 0, &out),
        TENON_OK);
    return out;
  }

  Config config;
  std::string bytes;
  tenon_run_options run_options{};
  tenon_session_options session_options{};
  Value tensor = Value::tensor<float>({1, 2}, {1, -5});
  std::optional<Session> session;
  std::unique_ptr<tenon_providers, void (*)(tenon_providers*)> providers{nullptr, api().providers_release};
};

using Row = std::function<void(Bench&)>;

void expect_struct_size_is_needed(const Outcome& out) {
  EXPECT_EQ(out.status, TENON_INVALID_ARGUMENT);
  EXPECT_THAT(out.text, HasSubstr("struct_size of options is 0; set it to the size"));
}

int32_t count_and_stop(void* context, double, tenon_str) {
  ++*static_cast<int*>(context);
  return 1;
}

void count_lines(void* context, uint32_t, tenon_str, tenon_str, tenon_str) { ++*static_cast<int*>(context); }

const std::map<std::string, Row>& rows() {
  static const std::map<std::string, Row> all = {
      {"tenon_io_info.struct_size",
       [](Bench& b) {
         b.info(true);
         tenon_io_info none{};
         EXPECT_EQ(api().session_input(b.session->get(), 0, &none), TENON_INVALID_ARGUMENT);
       }},
      {"tenon_io_info.kind", [](Bench& b) { EXPECT_EQ(b.info(true).kind, uint32_t{TENON_KIND_TENSOR}); }},
      {"tenon_io_info.dtype", [](Bench& b) { EXPECT_EQ(b.info(true).dtype, uint32_t{TENON_FLOAT32}); }},
      {"tenon_io_info.rank", [](Bench& b) { EXPECT_EQ(b.info(true).rank, 2); }},
      {"tenon_io_info.name",
       [](Bench& b) {
         EXPECT_EQ(as_string(b.info(true).name), "x");
         EXPECT_EQ(as_string(b.info(false).name), "y");
       }},
      {"tenon_io_info.dims",
       [](Bench& b) {
         EXPECT_EQ(b.info(true).dims[0], TENON_DIM_UNKNOWN);
         EXPECT_EQ(b.info(true).dims[1], 2);
       }},
      {"tenon_io_info.dim_names",
       [](Bench& b) {
         EXPECT_EQ(as_string(b.info(true).dim_names[0]), "n");
         EXPECT_EQ(as_string(b.info(true).dim_names[1]), "");
       }},
      {"tenon_io_info.type_text",
       [](Bench& b) { EXPECT_EQ(as_string(b.info(true).type_text), "float32[n,2]"); }},
      {"tenon_io_info.has_default",
       [](Bench& b) {
         EXPECT_EQ(b.info(true).has_default, 0u);
         b.session.reset();
         GraphMaker m;
         const auto given = m.input("given", GraphMaker::f32({1}), GraphMaker::floats({1}, {3}));
         m.output(m.node("Relu", {given}), "y");
         b.bytes = m.bytes();
         EXPECT_EQ(b.info(true).has_default, 1u);
       }},
      {"tenon_io_info.reserved", [](Bench& b) { EXPECT_EQ(b.info(true).reserved, 0u); }},
      {"tenon_model_info.struct_size",
       [](Bench& b) {
         b.model();
         tenon_model_info none{};
         EXPECT_EQ(api().session_model(b.session->get(), &none), TENON_INVALID_ARGUMENT);
       }},
      {"tenon_model_info.opset_count", [](Bench& b) { EXPECT_EQ(b.model().opset_count, 2u); }},
      {"tenon_model_info.ir_version", [](Bench& b) { EXPECT_EQ(b.model().ir_version, 10); }},
      {"tenon_model_info.model_version", [](Bench& b) { EXPECT_EQ(b.model().model_version, 7); }},
      {"tenon_model_info.producer_name",
       [](Bench& b) { EXPECT_EQ(as_string(b.model().producer_name), "test"); }},
      {"tenon_model_info.producer_version",
       [](Bench& b) { EXPECT_EQ(as_string(b.model().producer_version), "1.2"); }},
      {"tenon_model_info.domain", [](Bench& b) { EXPECT_EQ(as_string(b.model().domain), "org.acme"); }},
      {"tenon_model_info.description",
       [](Bench& b) { EXPECT_EQ(as_string(b.model().description), "of the model"); }},
      {"tenon_model_info.graph_name", [](Bench& b) { EXPECT_EQ(as_string(b.model().graph_name), "main"); }},
      {"tenon_model_info.graph_description",
       [](Bench& b) { EXPECT_EQ(as_string(b.model().graph_description), "of the graph"); }},
      {"tenon_named_value.name",
       [](Bench& b) {
         b.info(true);
         const Value x = Value::tensor<float>({1, 2}, {1, -5});
         EXPECT_EQ(b.run(b.session->get(), {as_str("x"), x.get()}).status, TENON_OK);
         EXPECT_THAT(b.run(b.session->get(), {as_str("z"), x.get()}).text, HasSubstr("'z'"));
       }},
      {"tenon_named_value.value",
       [](Bench& b) {
         b.info(true);
         const Value wrong = Value::tensor<float>({1, 3}, {1, 2, 3});
         EXPECT_EQ(b.run(b.session->get(), {as_str("x"), wrong.get()}).kind,
                   uint32_t{TENON_FAILURE_INVALID_INPUT});
         EXPECT_EQ(b.run(b.session->get(), {as_str("x"), nullptr}).status, TENON_INVALID_ARGUMENT);
       }},
      {"tenon_session_options.struct_size",
       [](Bench& b) {
         b.session_options.struct_size = 0;
         expect_struct_size_is_needed(b.create());
       }},
      {"tenon_session_options.flags",
       [](Bench& b) {
         const auto outputs = [&b] {
           tenon_session* made = nullptr;
           EXPECT_EQ(b.create(&made).status, TENON_OK);
           const uint32_t count = api().session_output_count(made);
           api().session_release(made);
           return count;
         };
         EXPECT_EQ(outputs(), 1u);
         b.session_options.flags = TENON_SESSION_ALL_VALUES;
         EXPECT_EQ(outputs(), 2u);
         b.session_options.flags = 1u << 31;
         EXPECT_THAT(b.create().text, HasSubstr("flags of options has unknown bits"));
       }},
      {"tenon_session_options.progress",
       [](Bench& b) {
         int calls = 0;
         b.session_options.progress_context = &calls;
         EXPECT_EQ(b.create().status, TENON_OK);
         b.session_options.progress = count_and_stop;
         EXPECT_EQ(b.create().kind, uint32_t{TENON_FAILURE_CANCELLED});
       }},
      {"tenon_session_options.progress_context",
       [](Bench& b) {
         int calls[2] = {};
         b.session_options.progress = count_and_stop;
         b.session_options.progress_context = &calls[1];
         b.create();
         EXPECT_EQ(calls[0], 0);
         EXPECT_GT(calls[1], 0);
       }},
      {"tenon_session_options.log",
       [](Bench& b) {
         int lines[2] = {};
         b.config.set("placement",
                      "[{provider = \"cpu\", match = {op = [\"Conv\"]}}]");  // matches nothing: a warning
         b.session_options.log_context = &lines[1];
         EXPECT_EQ(b.create().status, TENON_OK);
         EXPECT_EQ(lines[1], 0);
         b.session_options.log = count_lines;
         EXPECT_EQ(b.create().status, TENON_OK);
         EXPECT_GT(lines[1], 0);
       }},
      {"tenon_session_options.log_context",
       [](Bench& b) {
         int lines[2] = {};
         b.config.set("placement", "[{provider = \"cpu\", match = {op = [\"Conv\"]}}]");
         b.session_options.log = count_lines;
         b.session_options.log_context = &lines[0];
         b.create();
         EXPECT_GT(lines[0], 0);
         EXPECT_EQ(lines[1], 0);
       }},
      {"tenon_session_options.cancel",
       [](Bench& b) {
         Cancel cancel;
         b.session_options.cancel = cancel.get();
         EXPECT_EQ(b.create().status, TENON_OK);
         cancel.trigger();
         EXPECT_EQ(b.create().kind, uint32_t{TENON_FAILURE_CANCELLED});
       }},
      {"tenon_session_options.initializers",
       [](Bench& b) {
         b.session_options.initializer_count = 1;
         EXPECT_THAT(b.create().text, HasSubstr("initializers of options is NULL"));
         const Value one = Value::tensor<float>({1}, {-1});
         const tenon_named_value given{as_str("one"), one.get()};
         b.session_options.initializers = &given;
         EXPECT_EQ(b.create().status, TENON_OK);
         const tenon_named_value none{as_str("one"), nullptr};
         b.session_options.initializers = &none;
         EXPECT_THAT(b.create().text, HasSubstr("an initializer's value is NULL"));
       }},
      {"tenon_session_options.initializer_count",
       [](Bench& b) {
         const Value two = Value::tensor<float>({2}, {1, 2});
         const tenon_named_value given{as_str("one"), two.get()};
         b.session_options.initializers = &given;
         EXPECT_EQ(b.create().status, TENON_OK) << "none is given";
         b.session_options.initializer_count = 1;
         EXPECT_EQ(b.create().kind, uint32_t{TENON_FAILURE_INVALID_INPUT});
       }},
      {"tenon_session_options.dim_count",
       [](Bench& b) {
         b.session_options.dim_count = 1;
         EXPECT_THAT(b.create().text, HasSubstr("dims of options is NULL"));
       }},
      {"tenon_session_options.dims",
       [](Bench& b) {
         const tenon_named_dim twice[] = {{as_str("n"), 3}, {as_str("n"), 3}};
         b.session_options.dims = twice;
         b.session_options.dim_count = 2;
         EXPECT_THAT(b.create().text, HasSubstr("dim 'n' is given twice"));
       }},
      {"tenon_session_options.files",
       [](Bench& b) {
         const tenon_named_bytes twice[] = {{as_str("f"), "x", 1}, {as_str("f"), "x", 1}};
         b.session_options.files = twice;
         b.session_options.file_count = 2;
         EXPECT_THAT(b.create().text, HasSubstr("file 'f' is given twice"));
       }},
      {"tenon_session_options.file_count",
       [](Bench& b) {
         b.session_options.file_count = 1;
         EXPECT_THAT(b.create().text, HasSubstr("files of options is NULL"));
       }},
      {"tenon_session_options.reserved",
       [](Bench& b) {
         b.session_options.reserved = 7;
         EXPECT_EQ(b.create().status, TENON_OK) << "it is not read";
       }},
      {"tenon_named_dim.name",
       [](Bench& b) {
         const tenon_named_dim given{{nullptr, 5}, 3};
         b.session_options.dims = &given;
         b.session_options.dim_count = 1;
         EXPECT_THAT(b.create().text, HasSubstr("a dim's name is NULL"));
       }},
      {"tenon_named_dim.size",
       [](Bench& b) {
         const tenon_named_dim given{as_str("n"), 3};
         b.session_options.dims = &given;
         b.session_options.dim_count = 1;
         tenon_session* made = nullptr;
         ASSERT_EQ(b.create(&made).status, TENON_OK);
         tenon_io_info info{};
         info.struct_size = sizeof(info);
         EXPECT_EQ(api().session_input(made, 0, &info), TENON_OK);
         EXPECT_EQ(as_string(info.type_text), "float32[3,2]");
         api().session_release(made);
       }},
      {"tenon_named_bytes.name",
       [](Bench& b) {
         const tenon_named_bytes given{{nullptr, 5}, "x", 1};
         b.session_options.files = &given;
         b.session_options.file_count = 1;
         EXPECT_THAT(b.create().text, HasSubstr("a file's name is NULL"));
       }},
      {"tenon_named_bytes.data",
       [](Bench& b) {
         const tenon_named_bytes given{as_str("f"), nullptr, 1};
         b.session_options.files = &given;
         b.session_options.file_count = 1;
         EXPECT_THAT(b.create().text, HasSubstr("data of file 'f' is NULL"));
       }},
      {"tenon_named_bytes.size",
       [](Bench& b) {
         const tenon_named_bytes given{as_str("f"), nullptr, 0};
         b.session_options.files = &given;
         b.session_options.file_count = 1;
         EXPECT_EQ(b.create().status, TENON_OK);
       }},
      {"tenon_instance_info.struct_size",
       [](Bench& b) {
         b.instance();
         tenon_instance_info none{};
         EXPECT_EQ(api().session_instance(b.session->get(), 0, &none), TENON_INVALID_ARGUMENT);
       }},
      {"tenon_instance_info.reserved", [](Bench& b) { EXPECT_EQ(b.instance().reserved, 0u); }},
      {"tenon_instance_info.instance",
       [](Bench& b) { EXPECT_EQ(as_string(b.instance().instance), "cpu/cpu:0"); }},
      {"tenon_instance_info.provider", [](Bench& b) { EXPECT_EQ(as_string(b.instance().provider), "cpu"); }},
      {"tenon_instance_info.version",
       [](Bench& b) {
         EXPECT_THAT(as_string(b.instance().version), testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+"));
       }},
      {"tenon_instance_info.library",
       [](Bench& b) { EXPECT_TRUE(std::ifstream(as_string(b.instance().library)).is_open()); }},
      {"tenon_instance_info.options",
       [](Bench& b) {
         EXPECT_EQ(as_string(b.instance().options), R"({"islands":"on"})") << "the default of the manifest";
         Bench other;
         other.config.set("discovery.search",
                          "[\"" + fakes_dir() + "/accelerator\", \"" + providers_dir() + "\"]");
         other.config.set("select.order", "[\"accelerator/npu:0\", \"cpu\"]");
         const std::string before = as_string(other.instance().options);
         EXPECT_THAT(before, HasSubstr("\"max_nodes\":0"));
         other.config.set("provider.accelerator.options.max_nodes", "7");
         other.session.reset();
         EXPECT_THAT(as_string(other.instance().options), HasSubstr("\"max_nodes\":7"));
       }},
      {"tenon_value_place.struct_size",
       [](Bench&) {
         const Value x = Value::tensor<float>({1, 2}, {1, -5});
         tenon_value_place none{};
         EXPECT_EQ(api().value_place(x.get(), &none, nullptr), TENON_INVALID_ARGUMENT);
       }},
      {"tenon_value_place.host_can_read", [](Bench& b) { EXPECT_EQ(b.place().host_can_read, 1u); }},
      {"tenon_value_place.device", [](Bench& b) { EXPECT_EQ(as_string(b.place().device), ""); }},
      {"tenon_value_place.domain", [](Bench& b) { EXPECT_EQ(as_string(b.place().domain), "host"); }},
      {"tenon_value_place.dtype", [](Bench& b) { EXPECT_EQ(b.place().dtype, uint32_t{TENON_FLOAT32}); }},
      {"tenon_value_place.rank", [](Bench& b) { EXPECT_EQ(b.place().rank, 2u); }},
      {"tenon_value_place.dims", [](Bench& b) { EXPECT_EQ(b.place().dims[1], 2); }},
      {"tenon_value_place.byte_size", [](Bench& b) { EXPECT_EQ(b.place().byte_size, 8u); }},
      {"tenon_provider_info.struct_size",
       [](Bench& b) {
         b.provider();
         tenon_provider_info none{};
         EXPECT_EQ(api().providers_get(b.providers.get(), 0, &none), TENON_INVALID_ARGUMENT);
       }},
      {"tenon_provider_info.verdict",
       [](Bench& b) {
         EXPECT_EQ(b.provider().verdict, uint32_t{TENON_PROVIDER_USABLE});
         b.config.set("discovery.deny", "[\"cpu\"]");
         b.providers.reset();
         EXPECT_EQ(b.provider().verdict, uint32_t{TENON_PROVIDER_REFUSED});
       }},
      {"tenon_provider_info.place",
       [](Bench& b) {
         const uint32_t place = b.provider().place;
         EXPECT_TRUE(place >= 1 && place <= 7) << place;
       }},
      {"tenon_provider_info.reserved", [](Bench& b) { EXPECT_EQ(b.provider().reserved, 0u); }},
      {"tenon_provider_info.id", [](Bench& b) { EXPECT_EQ(as_string(b.provider().id), "cpu"); }},
      {"tenon_provider_info.version",
       [](Bench& b) { EXPECT_EQ(as_string(b.provider().version), as_string(b.instance().version)); }},
      {"tenon_provider_info.name",
       [](Bench& b) { EXPECT_THAT(as_string(b.provider().name), HasSubstr("CPU")); }},
      {"tenon_provider_info.vendor", [](Bench& b) { EXPECT_EQ(as_string(b.provider().vendor), "Tenon"); }},
      {"tenon_provider_info.manifest",
       [](Bench& b) { EXPECT_TRUE(std::ifstream(as_string(b.provider().manifest)).is_open()); }},
      {"tenon_provider_info.library",
       [](Bench& b) { EXPECT_EQ(as_string(b.provider().library), as_string(b.instance().library)); }},
      {"tenon_provider_info.refusal",
       [](Bench& b) {
         EXPECT_EQ(as_string(b.provider().refusal), "");
         b.config.set("discovery.deny", "[\"cpu\"]");
         b.providers.reset();
         EXPECT_EQ(as_string(b.provider().refusal), "E_DISABLED");
       }},
      {"tenon_provider_info.reason",
       [](Bench& b) {
         b.config.set("discovery.deny", "[\"cpu\"]");
         EXPECT_THAT(as_string(b.provider().reason), HasSubstr("discovery.deny"));
       }},
      {"tenon_provider_info.cure",
       [](Bench& b) {
         b.config.set("discovery.deny", "[\"cpu\"]");
         EXPECT_NE(as_string(b.provider().cure), "");
       }},
      {"tenon_run_options.struct_size",
       [](Bench& b) {
         b.run_options.struct_size = 0;
         expect_struct_size_is_needed(b.run());
       }},
      {"tenon_run_options.flags",
       [](Bench& b) {
         b.run_options.flags = TENON_RUN_KEEP_OUTPUTS;
         EXPECT_EQ(b.run().status, TENON_OK);
         b.run_options.flags = 4;
         EXPECT_THAT(b.run().text, HasSubstr("flags of options is 4"));
       }},
      {"tenon_run_options.deadline_ns",
       [](Bench& b) {
         b.run_options.deadline_ns = 60'000'000'000;
         EXPECT_EQ(b.run().status, TENON_OK);
         b.run_options.deadline_ns = 1;
         EXPECT_EQ(b.run().kind, uint32_t{TENON_FAILURE_DEADLINE});
       }},
      {"tenon_run_options.cancel",
       [](Bench& b) {
         Cancel cancel;
         b.run_options.cancel = cancel.get();
         EXPECT_EQ(b.run().status, TENON_OK);
         cancel.trigger();
         EXPECT_EQ(b.run().kind, uint32_t{TENON_FAILURE_CANCELLED});
       }},
      {"tenon_run_options.out_trace",
       [](Bench& b) {
         tenon_text* trace = nullptr;
         b.run_options.out_trace = &trace;
         EXPECT_EQ(b.run().status, TENON_OK);
         ASSERT_NE(trace, nullptr);
         EXPECT_THAT(as_string(api().text_get(trace)), HasSubstr("traceEvents"));
         api().text_release(trace);
       }},
      {"tenon_run_options.state",
       [](Bench& b) {
         Bench other;
         GraphMaker m;
         m.output(m.node("Relu", {m.input("x", GraphMaker::f32({2}))}), "y", GraphMaker::f32({2}));
         other.bytes = m.bytes();
         other.config.set("state.pairs", "[\"x=y\"]");
         tenon_session* session = nullptr;
         ASSERT_EQ(other.create(&session).status, TENON_OK);
         tenon_state* state = nullptr;
         ASSERT_EQ(api().state_create(session, &state, nullptr), TENON_OK);
         b.run_options.state = state;
         EXPECT_THAT(b.run().text, HasSubstr("the state belongs to another session"));
         api().state_release(state);
         api().session_release(session);
       }},
      {"tenon_api.struct_size", [](Bench&) { EXPECT_EQ(api().struct_size, sizeof(tenon_api)); }},
      {"tenon_api.version",
       [](Bench&) {
         EXPECT_EQ(api().version, TENON_API_VERSION);
         EXPECT_EQ(tenon_get_api(TENON_API_VERSION + 1), nullptr);
       }},
  };
  return all;
}

TEST(ApiFields, EachDoesWhatTheHeaderSays) {
  for (const auto& [field, row] : rows()) {
    SCOPED_TRACE(field);
    Bench bench;
    row(bench);
  }
  for (const auto& [field, row] : operator_field_rows()) {
    SCOPED_TRACE(field);
    row();
  }
}

std::string without_comments(std::string text) {
  for (size_t at; (at = text.find("/*")) != std::string::npos;) text.erase(at, text.find("*/", at) + 2 - at);
  return text;
}

/// The name that a member's declaration gives: a function's, or the last word.
std::string declared_name(const std::string& statement) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz_0123456789";
  const size_t function = statement.find("(*");
  if (function != std::string::npos) {
    const size_t begin = function + 2;
    return statement.substr(begin, statement.find_first_not_of(letters, begin) - begin);
  }
  const size_t last = statement.find_last_of(letters);
  if (last == std::string::npos) return "";
  const size_t before = statement.find_last_not_of(letters, last);
  return statement.substr(before + 1, last - before);
}

/// "struct.field" of every struct of the header; functions of the table are not among them.
std::set<std::string> fields_of_header() {
  std::ifstream file(source_dir() + "/host/include/tenon/tenon.h");
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string text = without_comments(stream.str());
  std::set<std::string> found;
  for (size_t at = 0; (at = text.find("typedef struct ", at)) != std::string::npos; ++at) {
    const size_t open = text.find_first_of("{;", at);
    if (text[open] == ';') continue;  // a handle
    const size_t close = text.find('}', open);
    const std::string name = declared_name(text.substr(close, text.find(';', close) - close));
    std::stringstream statements(text.substr(open + 1, close - open - 1));
    for (std::string statement; std::getline(statements, statement, ';');) {
      const std::string field = declared_name(statement);
      const bool of_table = name == "tenon_api" && statement.find("(*") != std::string::npos;
      if (!field.empty() && !of_table) found.insert(name + "." + field);
    }
  }
  return found;
}

TEST(ApiFields, EachHasARow) {
  std::set<std::string> known;
  for (const auto& [field, row] : rows()) known.insert(field);
  for (const auto& [field, row] : operator_field_rows()) known.insert(field);
  const std::set<std::string> declared = fields_of_header();
  EXPECT_GT(declared.size(), 15u);
  for (const std::string& field : declared) EXPECT_EQ(known.count(field), 1u) << field << " has no row";
  for (const std::string& field : known)
    EXPECT_EQ(declared.count(field), 1u) << field << " is not in the header";
}

}  // namespace
}  // namespace tenon::test
