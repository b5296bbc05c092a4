// tenon/tenon.hpp: tenon.h for C++20, header-only.
//
//   tenon::Session session("model.onnx");
//   auto outputs = session.run({{"x", tenon::Value::tensor<float>({1, 3}, {1, 2, 3})}});
//   std::span<const float> y = outputs["y"].data<float>();
//
// Functions throw tenon::Error on failure; try_ functions return it instead. Handles own their object and can be
// moved. A Value is a counted reference and cheap to copy. The thread rules are those of tenon.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/operator.hpp"
#include "tenon/run.hpp"

namespace tenon {

class Config {
 public:
  /// The layers of the system, the user and the environment, and the file named by TENON_CONFIG.
  Config() : Config(load("")) {}
  /// The same, with `path` in place of TENON_CONFIG.
  static Config load(std::string_view path) {
    detail::Check check;
    tenon_config* config = nullptr;
    check(api().config_create(as_str(path), &config, check.out()));
    return Config(config);
  }
  /// The same, with the content of the file in place of its path: TOML, or JSON when it begins with '{'. Messages call it
  /// `name`.
  static Config from_text(std::string_view text, std::string_view name = {}) {
    detail::Check check;
    tenon_config* config = nullptr;
    check(api().config_create_from_text(as_str(text), as_str(name), &config, check.out()));
    return Config(config);
  }
  /// Sets a key. `value` is TOML: set("select.order", "[\"cpu\"]"). Messages name `source` as its origin, such as a
  /// command's flag.
  Config& set(std::string_view key, std::string_view value, std::string_view source = "config_set") {
    detail::Check check;
    check(api().config_set(config_.get(), as_str(key), as_str(value), as_str(source), check.out()));
    return *this;
  }
  /// Keys, values and origins as JSON: see config_describe of the C API.
  std::string describe() const {
    detail::Check check;
    tenon_text* text = nullptr;
    check(api().config_describe(config_.get(), &text, check.out()));
    return detail::take_text(text);
  }
  /// Errors that a session with this config would have, and settings without effect, as JSON: see config_check of
  /// the C API.
  std::string check() const {
    detail::Check check;
    tenon_text* text = nullptr;
    check(api().config_check(config_.get(), &text, check.out()));
    return detail::take_text(text);
  }
  tenon_config* get() const { return config_.get(); }

 private:
  explicit Config(tenon_config* config) : config_(config) {}
  detail::Owner<tenon_config, &tenon_api::config_release> config_;
};

/// Called with a fraction in [0, 1] and the stage; false cancels.
using Progress = std::function<bool(double, std::string_view)>;

/// Called with `level` (TENON_LOG_x), provider ("cuda 1.4.0", or empty for the runtime), code and message.
using Log = std::function<void(uint32_t, std::string_view, std::string_view, std::string_view)>;

struct SessionOptions {
  Progress progress;   // may be empty
  uint32_t flags = 0;  // TENON_SESSION_x
  Log log;             // receives what this session logs, see tenon_session_options; may be empty
  const Operators* operators = nullptr;  // that the application runs itself; null: none
  const Cancel* cancel = nullptr;        // stops the making of the session; may be null
  // In place of parts of the model, see tenon_session_options.
  std::vector<NamedValue> initializers;
  std::map<std::string, int64_t> dims;
  std::map<std::string, std::span<const std::byte>> files;  // their memory must outlive the session
};

/// A provider's instance that a session uses.
struct InstanceInfo {
  std::string instance, provider, version, library;  // "cuda/gpu:0", "cuda", "1.4.0", the path of its file
  std::string options;                               // JSON object: those in force, defaults included
};

/// What a model says about itself; see tenon_model_info.
struct ModelInfo {
  int64_t ir_version, model_version;
  std::string producer_name, producer_version, domain, description, graph_name, graph_description;
  std::map<std::string, int64_t> opsets;  // by domain; "ai.onnx" for ONNX's own
};

class Session {
 public:
  explicit Session(std::string_view model_path) { create(model_path, nullptr, {}); }
  Session(std::string_view model_path, const Config& config, const SessionOptions& options = {}) {
    create(model_path, config.get(), options);
  }
  /// A model in memory. `directory`: the folder of external data, if there is any. Without `keep` the bytes are
  /// copied. With it they are not, and the caller keeps them unchanged until the session is destroyed.
  static Session from_memory(const void* data, size_t size, const Config* config = nullptr,
                             std::string_view directory = {}, bool keep = false,
                             const SessionOptions& options = {}) {
    Session made;
    made.create(options, [&](const tenon_session_options* c_options, auto... rest) {
      return api().session_create_from_memory(data, size, keep ? 1 : 0, as_str(directory),
                                              config ? config->get() : nullptr, c_options, rest...);
    });
    return made;
  }
  /// Returns nothing on failure and sets `error`, which may be null.
  static std::optional<Session> try_make(std::string_view model_path, const Config& config,
                                         std::optional<Error>* error) {
    try {
      return Session(model_path, config);
    } catch (const Error& failure) {
      if (error) *error = failure;
      return std::nullopt;
    }
  }

  std::vector<tenon_io_info> inputs() const {
    return ios(api().session_input_count(session_.get()), api().session_input);
  }
  std::vector<tenon_io_info> outputs() const {
    return ios(api().session_output_count(session_.get()), api().session_output);
  }

  /// The provider instances that Runs use now, in the order in which they are asked for nodes.
  std::vector<InstanceInfo> instances() const {
    std::vector<InstanceInfo> out;
    for (uint32_t i = 0; i < api().session_instance_count(session_.get()); ++i) {
      tenon_instance_info info{};
      info.struct_size = sizeof info;
      detail::Check check;
      check(api().session_instance(session_.get(), i, &info));
      out.push_back({as_string(info.instance), as_string(info.provider), as_string(info.version),
                     as_string(info.library), as_string(info.options)});
    }
    return out;
  }
  /// The model's metadata by key.
  std::map<std::string, std::string> metadata() const {
    std::map<std::string, std::string> out;
    for (uint32_t i = 0; i < api().session_metadata_count(session_.get()); ++i) {
      tenon_str key{}, value{};
      detail::Check check;
      check(api().session_metadata(session_.get(), i, &key, &value));
      out.emplace(as_string(key), as_string(value));
    }
    return out;
  }

  ModelInfo model() const {
    tenon_model_info info{};
    info.struct_size = sizeof info;
    detail::Check check;
    check(api().session_model(session_.get(), &info));
    ModelInfo out{info.ir_version,
                  info.model_version,
                  as_string(info.producer_name),
                  as_string(info.producer_version),
                  as_string(info.domain),
                  as_string(info.description),
                  as_string(info.graph_name),
                  as_string(info.graph_description),
                  {}};
    for (uint32_t i = 0; i < info.opset_count; ++i) {
      tenon_str domain{};
      int64_t version = 0;
      check(api().session_opset(session_.get(), i, &domain, &version));
      out.opsets.emplace(as_string(domain), version);
    }
    return out;
  }
  /// The value of input `index` when a Run does not give it. Throws Error when it has no default.
  Value input_default(uint32_t index) const {
    detail::Check check;
    tenon_value* value = nullptr;
    check(api().session_input_default(session_.get(), index, &value, check.out()));
    return Value::adopt(value);
  }

  /// Runs for all outputs. Thread-safe.
  Outputs run(const std::vector<NamedValue>& inputs, const RunOptions& options = {}) {
    detail::Inputs c_inputs(inputs);
    detail::Items<tenon_value*> c_outputs(output_names_.size());
    detail::Check check;
    detail::with_run_options(options, [&](const tenon_run_options* c_options) {
      check(api().run(session_.get(), c_options, c_inputs.data(), c_inputs.size(), nullptr, 0,
                      c_outputs.data(), check.out()));
    });
    Outputs out;
    out.reserve(output_names_.size());
    for (size_t i = 0; i < output_names_.size(); ++i)
      out.push_back({output_names_[i], Value::adopt(c_outputs[i])});
    return out;
  }

  /// Runs for the named outputs only. An empty value is allocated. Another value is written in place and must have
  /// the output's type and shape. Thread-safe.
  void run(const std::vector<NamedValue>& inputs, std::vector<NamedValue>* outputs,
           const RunOptions& options = {}) {
    if (outputs->empty()) return;
    detail::Inputs c_inputs(inputs);
    std::vector<tenon_str> names;
    std::vector<tenon_value*> values;
    for (const NamedValue& output : *outputs) {
      names.push_back(as_str(output.name));
      values.push_back(output.value.get());
    }
    detail::Check check;
    detail::with_run_options(options, [&](const tenon_run_options* c_options) {
      check(api().run(session_.get(), c_options, c_inputs.data(), c_inputs.size(), names.data(),
                      static_cast<uint32_t>(names.size()), values.data(), check.out()));
    });
    for (size_t i = 0; i < values.size(); ++i) {
      if (!(*outputs)[i].value) (*outputs)[i].value = Value::adopt(values[i]);
    }
  }

  /// As run, but returns at once: a thread of Tenon runs it, see tenon_api::submit. Thread-safe.
  Pending submit(const std::vector<NamedValue>& inputs, const RunOptions& options = {}) {
    return submit_run(inputs, {}, output_names_, options);
  }
  /// The same for the named outputs only. A value that is not empty is written in place. Thread-safe.
  Pending submit(const std::vector<NamedValue>& inputs, const std::vector<NamedValue>& outputs,
                 const RunOptions& options = {}) {
    std::vector<std::string> names;
    for (const NamedValue& output : outputs) names.push_back(output.name);
    return submit_run(inputs, outputs, outputs.empty() ? output_names_ : std::move(names), options);
  }

  /// `value`, which is not empty, where Runs read input `index`: see value_to_device in tenon.h. Thread-safe.
  Value to_device(uint32_t index, const Value& value) const {
    detail::Check check;
    tenon_value* out = nullptr;
    check(api().value_to_device(session_.get(), index, value.get(), &out, check.out()));
    return Value::adopt(out);
  }

  /// The state of a new sequence. Thread-safe.
  State make_state() const {
    detail::Check check;
    tenon_state* state = nullptr;
    check(api().state_create(session_.get(), &state, check.out()));
    return State(state);
  }

  /// Writes profiling.file, and records no further Run of this session. Gives the path.
  std::string end_profile() {
    detail::Check check;
    tenon_text* text = nullptr;
    check(api().session_end_profile(session_.get(), &text, check.out()));
    return detail::take_text(text);
  }

  /// TENON_DESCRIBE_x as JSON.
  std::string describe(uint32_t what) const {
    detail::Check check;
    tenon_text* text = nullptr;
    check(api().session_describe(session_.get(), what, &text, check.out()));
    return detail::take_text(text);
  }
  tenon_session* get() const { return session_.get(); }

 private:
  Session() = default;
  friend class Slots;
  void create(std::string_view path, const tenon_config* config, const SessionOptions& given) {
    create(given, [&](const tenon_session_options* options, auto... rest) {
      return api().session_create(as_str(path), config, options, rest...);
    });
  }
  /// `make` gets the arguments of tenon_api::session_create from the options on.
  template <class Make>
  void create(const SessionOptions& given, Make make) {
    tenon_session_options options{};
    options.struct_size = sizeof options;
    options.flags = given.flags;
    if (given.operators) options.operators = given.operators->get();
    if (given.cancel) options.cancel = given.cancel->get();
    detail::Inputs initializers(given.initializers);
    options.initializers = initializers.data();
    options.initializer_count = initializers.size();
    std::vector<tenon_named_dim> dims;
    for (const auto& [name, size] : given.dims) dims.push_back({as_str(name), size});
    options.dims = dims.data();
    options.dim_count = static_cast<uint32_t>(dims.size());
    std::vector<tenon_named_bytes> files;
    for (const auto& [name, bytes] : given.files) files.push_back({as_str(name), bytes.data(), bytes.size()});
    options.files = files.data();
    options.file_count = static_cast<uint32_t>(files.size());
    options.progress_context = const_cast<Progress*>(&given.progress);
    if (given.progress)
      options.progress = [](void* context, double fraction, tenon_str stage) -> int32_t {
        return (*static_cast<Progress*>(context))(fraction, {stage.data, stage.size}) ? 0 : 1;
      };
    if (given.log) {
      log_ = std::make_shared<Log>(given.log);
      options.log_context = log_.get();
      options.log = [](void* context, uint32_t level, tenon_str provider, tenon_str code, tenon_str message) {
        (*static_cast<Log*>(context))(level, {provider.data, provider.size}, {code.data, code.size},
                                      {message.data, message.size});
      };
    }
    detail::Check check;
    tenon_session* session = nullptr;
    check(make(&options, &session, check.out()));
    own(session);
  }
  Pending submit_run(const std::vector<NamedValue>& inputs, const std::vector<NamedValue>& outputs,
                     std::vector<std::string> names, const RunOptions& options) {
    detail::Inputs c_inputs(inputs);
    std::vector<tenon_str> c_names;
    std::vector<tenon_value*> values;
    for (const NamedValue& output : outputs) {
      c_names.push_back(as_str(output.name));
      values.push_back(output.value.get());
    }
    return Pending(std::move(names), log_, options, [&](const tenon_run_options* c_options, auto... rest) {
      return api().submit(session_.get(), c_options, c_inputs.data(), c_inputs.size(), c_names.data(),
                          static_cast<uint32_t>(c_names.size()), values.empty() ? nullptr : values.data(),
                          rest...);
    });
  }
  void own(tenon_session* session) {
    session_.reset(session);
    for (const tenon_io_info& info : outputs()) output_names_.push_back(as_string(info.name));
  }
  template <class Get>
  std::vector<tenon_io_info> ios(uint32_t count, Get get) const {
    std::vector<tenon_io_info> out(count);
    for (uint32_t i = 0; i < count; ++i) {
      out[i].struct_size = sizeof(tenon_io_info);
      detail::Check check;
      check(get(session_.get(), i, &out[i]));
    }
    return out;
  }
  std::shared_ptr<Log> log_;  // outlives the session, the slots made of it and its submitted Runs
  detail::Owner<tenon_session, &tenon_api::session_release> session_;
  std::vector<std::string> output_names_;
};

/// Inputs and outputs bound to memory once. One Run at a time; the session must outlive it.
class Slots {
 public:
  explicit Slots(const Session& session) : log_(session.log_) {
    detail::Check check;
    tenon_slots* slots = nullptr;
    check(api().slots_create(session.get(), &slots, check.out()));
    slots_.reset(slots);
    for (const tenon_io_info& info : session.inputs()) inputs_.push_back(as_string(info.name));
    for (const tenon_io_info& info : session.outputs()) outputs_.push_back(as_string(info.name));
  }
  /// The caller owns the tensor's memory and keeps it valid until the slots are destroyed or another tensor is bound.
  void bind_input(std::string_view name, const tenon_tensor& tensor) {
    bind_input(find(inputs_, name, "input"), tensor);
  }
  void bind_output(std::string_view name, const tenon_tensor& tensor) {
    bind_output(find(outputs_, name, "output"), tensor);
  }
  tenon_tensor output(std::string_view name) const { return output(find(outputs_, name, "output")); }
  void bind_input(uint32_t index, const tenon_tensor& tensor) {
    detail::Check check;
    check(api().slots_bind_input(slots_.get(), index, &tensor, check.out()));
  }
  void bind_output(uint32_t index, const tenon_tensor& tensor) {
    detail::Check check;
    check(api().slots_bind_output(slots_.get(), index, &tensor, check.out()));
  }
  /// A value in host memory or on a device, of which the slots keep a count.
  void bind_input(uint32_t index, const Value& value) {
    detail::Check check;
    check(api().slots_bind_value(slots_.get(), index, value.get(), check.out()));
  }
  void bind_input(std::string_view name, const Value& value) {
    bind_input(find(inputs_, name, "input"), value);
  }
  /// The output stays where it is made; `keep` false: in host memory again.
  void keep_output(uint32_t index, bool keep = true) {
    detail::Check check;
    check(api().slots_keep_output(slots_.get(), index, keep ? 1 : 0, check.out()));
  }
  void keep_output(std::string_view name, bool keep = true) {
    keep_output(find(outputs_, name, "output"), keep);
  }
  /// An output of the last Run as a value, wherever it is.
  Value output_value(uint32_t index) {
    tenon_value* value = nullptr;
    detail::Check check;
    check(api().slots_output_value(slots_.get(), index, &value, check.out()));
    return Value::adopt(value);
  }
  Value output_value(std::string_view name) { return output_value(find(outputs_, name, "output")); }
  void run(const RunOptions& options = {}) {
    detail::Check check;
    detail::with_run_options(options, [&](const tenon_run_options* c_options) {
      check(api().slots_run(slots_.get(), c_options, check.out()));
    });
  }
  /// As run, but returns at once. Until the Run has ended, the slots refuse other calls. Destroying them cancels it.
  Pending submit(const RunOptions& options = {}) {
    return Pending({}, log_, options, [&](const tenon_run_options* c_options, auto... rest) {
      return api().slots_submit(slots_.get(), c_options, rest...);
    });
  }
  tenon_tensor output(uint32_t index) const {
    tenon_tensor tensor{};
    detail::Check check;
    check(api().slots_output(slots_.get(), index, &tensor, check.out()));
    return tensor;
  }
  tenon_slots* get() const { return slots_.get(); }

 private:
  static uint32_t find(const std::vector<std::string>& names, std::string_view name, const char* what) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<uint32_t>(i);
    }
    throw Error(TENON_FAILURE_INVALID_INPUT, TENON_NOT_FOUND, "tenon::Slots",
                "there is no " + std::string(what) + " '" + std::string(name) + "'");
  }
  std::shared_ptr<Log> log_;  // of the session
  std::vector<std::string> inputs_, outputs_;
  detail::Owner<tenon_slots, &tenon_api::slots_release> slots_;
};

/// A manifest that was found; see tenon_provider_info.
struct ProviderInfo {
  uint32_t verdict, place;  // verdict: TENON_PROVIDER_x
  std::string id, version, name, vendor, manifest, library, refusal, reason, cure;
};

/// Every manifest found under `config`, in the order of the search places. `deep` and `afresh` as for
/// describe_providers.
inline std::vector<ProviderInfo> list_providers(const Config& config, bool deep, bool afresh = false) {
  detail::Check check;
  tenon_providers* made = nullptr;
  check(api().providers_list(config.get(), afresh ? 2 : deep ? 1 : 0, &made, check.out()));
  const std::unique_ptr<tenon_providers, void (*)(tenon_providers*)> list(made, api().providers_release);
  std::vector<ProviderInfo> out;
  for (uint32_t i = 0; i < api().providers_count(made); ++i) {
    tenon_provider_info info{};
    info.struct_size = sizeof info;
    check(api().providers_get(made, i, &info));
    out.push_back({info.verdict, info.place, as_string(info.id), as_string(info.version),
                   as_string(info.name), as_string(info.vendor), as_string(info.manifest),
                   as_string(info.library), as_string(info.refusal), as_string(info.reason),
                   as_string(info.cure)});
  }
  return out;
}

/// JSON of every manifest found; see providers_describe in tenon.h. `deep` scans libraries; `afresh` scans them all
/// again, without stored answers of earlier scans.
inline std::string describe_providers(const Config& config, bool deep, bool afresh = false) {
  detail::Check check;
  tenon_text* text = nullptr;
  check(api().providers_describe(config.get(), afresh ? 2 : deep ? 1 : 0, &text, check.out()));
  return detail::take_text(text);
}

}  // namespace tenon
