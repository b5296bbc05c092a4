// The worker that runs ONNX cases with libtenon.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ep-sdk/cts/check.h"
#include "ep-sdk/cts/compare.h"
#include "ep-sdk/cts/loader.h"
#include "ep-sdk/cts/onnx_cases.h"
#include "ep-sdk/cts/process.h"
#include "tenon/tenon.h"

namespace tenon::cts {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

tenon_str str(const std::string& s) { return {s.data(), s.size()}; }
std::string text(tenon_str s) { return s.data == nullptr ? std::string() : std::string(s.data, s.size); }

struct Declined : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// libtenon, loaded at run time and called through its table.
class Runtime {
 public:
  explicit Runtime(const Target& target) {
    const std::string path = target.libtenon.empty() ? find_libtenon() : target.libtenon;
    std::string why;
    void* library = load_library(path, &why);
    if (library == nullptr) throw std::runtime_error(why);
    using GetApi = const tenon_api* (*)(uint32_t);
    const auto get = reinterpret_cast<GetApi>(find_symbol(library, "tenon_get_api"));
    api_ = get == nullptr ? nullptr : get(TENON_API_VERSION);
    if (api_ == nullptr) throw std::runtime_error(path + " is not a libtenon of this version");
    configure(target);
  }
  const tenon_api& api() const { return *api_; }
  const tenon_config* config() const { return config_; }

  /// Calls a function whose last parameter is a tenon_error; throws Declined for "unsupported", else runtime_error.
  template <class F, class... A>
  void call(F function, A... arguments) const {
    tenon_error error{};
    error.struct_size = sizeof error;
    if (function(arguments..., &error) == TENON_OK) return;
    const std::string where = error.where[0] == '\0' ? "" : std::string(error.where) + ": ";
    if (api_->error_kind(&error) == TENON_FAILURE_UNSUPPORTED) throw Declined(where + error.message);
    throw std::runtime_error(where + error.message);
  }

  Json describe(tenon_text* text) const {
    Json out = Json::parse(cts::text(api_->text_get(text)), nullptr, false);
    api_->text_release(text);
    return out.is_object() ? out : Json::object();
  }

 private:
  void set(const std::string& key, const std::string& value) const {
    call(api_->config_set, config_, str(key), str(value), str("tenon-cts"));
  }

  /// Selects this provider and device, and makes every fallback an error.
  void configure(const Target& target) {
    unset_variable("TENON_CONFIG");
    const std::string manifest = fs::absolute(target.manifest_path).string();
    call(api_->provider_register, str(manifest));
    call(api_->config_create, str(std::string()), &config_);
    const std::string name = target.device.empty() ? target.id() : target.id() + "/" + target.device;
    set("select.order", "[\"" + name + "\"]");
    for (const char* key : {"select.fallback", "select.on_declined", "select.on_compile_failed"})
      set(key, "\"error\"");
    for (const std::string& option : target.options) {
      const size_t equals = option.find('=');
      const std::string key = "provider." + target.id() + ".options." + option.substr(0, equals);
      const std::string value = option.substr(equals + 1);
      try {
        set(key, value);
      } catch (const std::exception&) {
        set(key, "\"" + value + "\"");
      }
    }
  }

  const tenon_api* api_ = nullptr;
  tenon_config* config_ = nullptr;
};

Tensor read_value(const Runtime& runtime, const tenon_value* value) {
  Tensor out;
  if (value == nullptr) return none();
  out.kind = runtime.api().value_kind(value);
  if (out.kind != TENON_KIND_TENSOR) {
    for (uint64_t i = 0; i < runtime.api().value_size(value); ++i)
      out.elements.push_back(read_value(runtime, runtime.api().value_element(value, i)));
    return out;
  }
  tenon_tensor raw{};
  if (runtime.api().value_tensor(value, &raw) != TENON_OK)
    throw std::runtime_error("a value is not a tensor");
  out.dtype = raw.dtype;
  out.dims.assign(raw.dims, raw.dims + raw.rank);
  const auto* bytes = static_cast<const uint8_t*>(raw.data);
  if (raw.dtype != TENON_STRING) {
    if (raw.byte_size > 0) out.bytes.assign(bytes, bytes + raw.byte_size);
    return out;
  }
  for (int64_t i = 0; i < out.size(); ++i)
    out.strings.emplace_back(reinterpret_cast<const char*>(bytes) + raw.offsets[i],
                             static_cast<size_t>(raw.offsets[i + 1] - raw.offsets[i]));
  return out;
}

/// Holds one count of a value.
class Held {
 public:
  Held(const Runtime& runtime, tenon_value* value) : runtime_(&runtime), value_(value) {}
  Held(Held&& other) noexcept : runtime_(other.runtime_), value_(std::exchange(other.value_, nullptr)) {}
  ~Held() {
    if (value_ != nullptr) runtime_->api().value_release(value_);
  }
  tenon_value* get() const { return value_; }

 private:
  const Runtime* runtime_;
  tenon_value* value_;
};

class Session {
 public:
  Session(const Runtime& runtime, const std::string& model) : runtime_(runtime) {
    runtime.call(runtime.api().session_create, str(model), runtime.config(), nullptr, &session_);
  }
  ~Session() { runtime_.api().session_release(session_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Throws Failed when another provider runs a node.
  void check_placement(const std::string& id) const {
    tenon_text* text = nullptr;
    runtime_.call(runtime_.api().session_describe, session_, static_cast<uint32_t>(TENON_DESCRIBE_EXPLAIN),
                  &text);
    const Json explained = runtime_.describe(text);
    for (const Json& node : explained.value("nodes", Json::array())) {
      const std::string who = node.value("provider", id);
      if (who != id && who.rfind(id + "/", 0) != 0)
        throw std::runtime_error("node '" + node.value("name", "") + "' runs on " + who);
    }
  }

  /// Runs the data set of a folder and compares the outputs.
  void run(const fs::path& folder) const {
    std::vector<Held> held;
    std::vector<tenon_named_value> inputs;
    for (uint32_t i = 0; i < runtime_.api().session_input_count(session_); ++i) {
      const fs::path file = folder / ("input_" + std::to_string(i) + ".pb");
      tenon_io_info info = make_info();
      runtime_.api().session_input(session_, i, &info);
      if (!fs::exists(file)) continue;
      held.push_back(read(file, info));
      inputs.push_back({info.name, held.back().get()});
    }
    const uint32_t count = runtime_.api().session_output_count(session_);
    std::vector<tenon_value*> raw(count, nullptr);
    runtime_.call(runtime_.api().run, session_, nullptr, inputs.data(), static_cast<uint32_t>(inputs.size()),
                  nullptr, 0u, raw.data());
    for (tenon_value* value : raw) held.emplace_back(runtime_, value);
    for (uint32_t i = 0; i < count; ++i) compare(folder, i, raw[i]);
  }

 private:
  static tenon_io_info make_info() {
    tenon_io_info info{};
    info.struct_size = sizeof info;
    return info;
  }

  Held read(const fs::path& file, const tenon_io_info& info) const {
    tenon_value* value = nullptr;
    const std::string path = file.string();
    runtime_.call(runtime_.api().value_read_pb, str(path), &info, &value);
    return Held(runtime_, value);
  }

  void compare(const fs::path& folder, uint32_t index, const tenon_value* actual) const {
    const fs::path file = folder / ("output_" + std::to_string(index) + ".pb");
    if (!fs::exists(file)) return;
    tenon_io_info info = make_info();
    runtime_.api().session_output(session_, index, &info);
    const Held expected = read(file, info);
    const std::string wrong =
        difference(read_value(runtime_, actual), read_value(runtime_, expected.get()), Rigour::kOnnx);
    if (!wrong.empty()) throw std::runtime_error("output " + std::to_string(index) + ": " + wrong);
  }

  const Runtime& runtime_;
  tenon_session* session_ = nullptr;
};

std::vector<std::string> operators_of(const Runtime& runtime, const std::string& model) {
  tenon_text* text = nullptr;
  runtime.call(runtime.api().model_describe, str(model), runtime.config(), &text);
  std::vector<std::string> out;
  const Json operators = runtime.describe(text).value("operators", Json::object());
  for (const auto& [name, count] : operators.items()) out.push_back(name);
  return out;
}

Result run_case(const Runtime& runtime, const Target& target, const std::string& folder) {
  Result result;
  try {
    const std::string model = (fs::path(folder) / "model.onnx").string();
    result.operators = operators_of(runtime, model);
    std::string names;
    for (const std::string& op : result.operators) names += op + ",";
    report_activity(kOperatorsActivity + names);  // for the parent, in case this process crashes
    const Session session(runtime, model);
    session.check_placement(target.id());
    for (int n = 0;; ++n) {
      const fs::path set = fs::path(folder) / ("test_data_set_" + std::to_string(n));
      if (!fs::is_directory(set)) break;
      session.run(set);
    }
    result.status = "passed";
  } catch (const Declined& reason) {
    result.status = "declined", result.cause = reason.what();
  } catch (const std::exception& e) {
    result.status = "failed", result.cause = e.what();
  }
  return result;
}

}  // namespace

int serve_cases(const Target& target) {
  try {
    const Runtime runtime(target);
    for (std::string folder; std::getline(std::cin, folder);) answer(run_case(runtime, target, folder));
    return 0;
  } catch (const std::exception& e) {
    // The parent reports the exit and this line.
    std::cerr << e.what() << std::endl;
    return 1;
  }
}

}  // namespace tenon::cts
