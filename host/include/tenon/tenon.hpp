// tenon/tenon.hpp: the C++20 face of tenon.h, header-only.
//
//   tenon::Session session("model.onnx");
//   auto outputs = session.run({{"x", tenon::Value::tensor<float>({1, 3}, {1, 2, 3})}});
//   std::span<const float> y = outputs["y"].data<float>();
//
// Failures are thrown as tenon::Error; try_ functions return them instead. Handles are movable owners; a
// Value is a counted reference and cheap to copy. Thread rules are those of tenon.h.
#pragma once

#include <complex>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/tenon.h"

namespace tenon {

/// The library's table. Throws std::runtime_error when the library is older than this header: its table ends before the
/// functions that are called here.
inline const tenon_api& api() {
  static const tenon_api* const table = [] {
    const tenon_api* const found = tenon_get_api(TENON_API_VERSION);
    if (found == nullptr || found->struct_size < sizeof(tenon_api))
      throw std::runtime_error(
          "libtenon is older than the header tenon/tenon.hpp that this program was compiled with");
    return found;
  }();
  return *table;
}

inline tenon_str as_str(std::string_view text) { return {text.data(), text.size()}; }
inline std::string as_string(tenon_str text) { return std::string(text.data, text.size); }

/// Where the lines go that providers log; see tenon_api::log_set. Null drops them.
inline void set_log(tenon_log_fn fn, void* context = nullptr) { api().log_set(fn, context); }

/// A failure. `kind` is one of TENON_ERROR_x and `code` a tenon_status; `where` names the node, file or
/// provider.
class Error : public std::exception {
 public:
  Error(uint32_t kind, tenon_status code, std::string where, std::string message)
      : kind_(kind), code_(code), where_(std::move(where)), message_(std::move(message)) {
    text_ = where_.empty() ? message_ : where_ + ": " + message_;
  }
  const char* what() const noexcept override { return text_.c_str(); }
  uint32_t kind() const { return kind_; }
  tenon_status code() const { return code_; }
  const std::string& where() const { return where_; }
  const std::string& message() const { return message_; }

 private:
  uint32_t kind_;
  tenon_status code_;
  std::string where_, message_, text_;
};

namespace detail {

/// A tenon_error to hand out, turned into tenon::Error when the call failed.
class Check {
 public:
  Check() { error_.struct_size = sizeof error_; }
  tenon_error* out() { return &error_; }
  void operator()(tenon_status status) const {
    if (status != TENON_OK) throw make(status);
  }
  Error make(tenon_status status) const {
    return Error(api().error_kind(&error_), status, error_.where, error_.message);
  }

 private:
  tenon_error error_{};
};

template <auto Release>
struct Deleter {
  template <class T>
  void operator()(T* handle) const {
    (api().*Release)(handle);
  }
};

template <class T, auto Release>
using Owner = std::unique_ptr<T, Deleter<Release>>;

inline std::string take_text(tenon_text* text) {
  Owner<tenon_text, &tenon_api::text_release> owner(text);
  return as_string(api().text_get(text));
}

}  // namespace detail

/// The element type of a C++ type. float16, bfloat16 and the smaller ones travel as raw bytes (Value::raw).
template <class T>
constexpr uint32_t element_type_of() {
  if constexpr (std::is_same_v<T, float>)
    return TENON_FLOAT32;
  else if constexpr (std::is_same_v<T, double>)
    return TENON_FLOAT64;
  else if constexpr (std::is_same_v<T, bool>)
    return TENON_BOOL;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return TENON_COMPLEX64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return TENON_COMPLEX128;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return sizeof(T) == 1   ? TENON_INT8
           : sizeof(T) == 2 ? TENON_INT16
           : sizeof(T) == 4 ? TENON_INT32
                            : TENON_INT64;
  else if constexpr (std::is_integral_v<T>)
    return sizeof(T) == 1   ? TENON_UINT8
           : sizeof(T) == 2 ? TENON_UINT16
           : sizeof(T) == 4 ? TENON_UINT32
                            : TENON_UINT64;
  else
    static_assert(!sizeof(T), "no element type for this C++ type");
}

/// A counted reference to a tensor, sequence, optional or map; empty when default-made.
class Value {
 public:
  Value() = default;
  /// Takes over one count.
  static Value adopt(tenon_value* value) {
    Value out;
    out.value_ = value;
    return out;
  }
  Value(const Value& other) : value_(other.value_) {
    if (value_) api().value_retain(value_);
  }
  Value(Value&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Value& operator=(Value other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Value() {
    if (value_) api().value_release(value_);
  }

  /// A tensor of its own memory, 64-byte aligned, not initialised.
  static Value empty_tensor(uint32_t dtype, std::span<const int64_t> dims) {
    detail::Check check;
    tenon_value* value = nullptr;
    void* data = nullptr;
    check(api().value_make_tensor(dtype, static_cast<uint32_t>(dims.size()), dims.data(), &value, &data,
                                  check.out()));
    return adopt(value);
  }
  /// A copy of `elements`, which must be as many as dims say.
  template <class T>
  static Value tensor(const std::vector<int64_t>& dims, std::span<const T> elements) {
    Value out = empty_tensor(element_type_of<T>(), dims);
    std::span<T> data = out.mutable_data<T>();
    if (data.size() != elements.size())
      throw Error(TENON_ERROR_INVALID_INPUT, TENON_INVALID_ARGUMENT, "tenon::Value::tensor",
                  "dims ask for " + std::to_string(data.size()) + " elements, given are " +
                      std::to_string(elements.size()));
    if (!elements.empty()) std::memcpy(data.data(), elements.data(), elements.size_bytes());
    return out;
  }
  template <class T>
  static Value tensor(const std::vector<int64_t>& dims, std::initializer_list<T> elements) {
    return tensor<T>(dims, std::span<const T>(elements.begin(), elements.size()));
  }
  /// Refers to memory that must outlive every count of the value.
  template <class T>
  static Value view(const std::vector<int64_t>& dims, std::span<const T> elements) {
    tenon_tensor tensor{};
    tensor.kind = TENON_KIND_TENSOR;
    tensor.dtype = element_type_of<T>();
    tensor.rank = static_cast<uint32_t>(dims.size());
    tensor.dims = dims.data();
    tensor.data = const_cast<T*>(elements.data());
    tensor.byte_size = elements.size_bytes();
    detail::Check check;
    tenon_value* value = nullptr;
    check(api().value_wrap(&tensor, nullptr, nullptr, &value, check.out()));
    return adopt(value);
  }
  static Value strings(const std::vector<int64_t>& dims, const std::vector<std::string>& elements) {
    std::vector<int64_t> offsets{0};
    std::string bytes;
    for (const std::string& element : elements) {
      bytes += element;
      offsets.push_back(static_cast<int64_t>(bytes.size()));
    }
    detail::Check check;
    tenon_value* value = nullptr;
    check(api().value_make_strings(static_cast<uint32_t>(dims.size()), dims.data(), offsets.data(),
                                   bytes.data(), &value, check.out()));
    return adopt(value);
  }

  explicit operator bool() const { return value_ != nullptr; }
  tenon_value* get() const { return value_; }
  tenon_value* release() { return std::exchange(value_, nullptr); }
  uint32_t kind() const { return value_ ? api().value_kind(value_) : uint32_t{TENON_KIND_NONE}; }
  /// Number of elements of a sequence, optional (0 or 1) or map (2: keys and values).
  uint64_t size() const { return api().value_size(value_); }
  Value operator[](uint64_t index) const {
    tenon_value* element = api().value_element(value_, index);
    if (element) api().value_retain(element);
    return adopt(element);
  }

  /// The tensor's description; borrowed from this value.
  tenon_tensor describe() const {
    tenon_tensor tensor{};
    detail::Check check;
    check(api().value_tensor(value_, &tensor));
    return tensor;
  }
  uint32_t dtype() const { return describe().dtype; }
  std::vector<int64_t> dims() const {
    tenon_tensor tensor = describe();
    return {tensor.dims, tensor.dims + tensor.rank};
  }
  uint64_t element_count() const {
    uint64_t count = 1;
    const tenon_tensor tensor = describe();
    for (uint32_t i = 0; i < tensor.rank; ++i) count *= static_cast<uint64_t>(tensor.dims[i]);
    return count;
  }
  template <class T>
  std::span<const T> data() const {
    tenon_tensor tensor = typed<T>();
    return {static_cast<const T*>(tensor.data), tensor.byte_size / sizeof(T)};
  }
  template <class T>
  std::span<T> mutable_data() {
    tenon_tensor tensor = typed<T>();
    return {static_cast<T*>(tensor.data), tensor.byte_size / sizeof(T)};
  }
  std::span<const std::byte> raw() const {
    tenon_tensor tensor = describe();
    return {static_cast<const std::byte*>(tensor.data), tensor.byte_size};
  }
  std::string_view string_at(uint64_t index) const {
    tenon_tensor tensor = describe();
    const char* bytes = static_cast<const char*>(tensor.data);
    return {bytes + tensor.offsets[index],
            static_cast<size_t>(tensor.offsets[index + 1] - tensor.offsets[index])};
  }

 private:
  template <class T>
  tenon_tensor typed() const {
    tenon_tensor tensor = describe();
    if (tensor.dtype != element_type_of<std::remove_const_t<T>>())
      throw Error(TENON_ERROR_INVALID_INPUT, TENON_INVALID_ARGUMENT, "tenon::Value::data",
                  "the tensor has element type " + std::to_string(tensor.dtype) + ", asked was " +
                      std::to_string(element_type_of<std::remove_const_t<T>>()));
    return tensor;
  }
  tenon_value* value_ = nullptr;
};

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
  /// `value` is TOML: set("select.order", "[\"cpu\"]"). `source` is what messages call its origin, such as a
  /// command's flag.
  Config& set(std::string_view key, std::string_view value, std::string_view source = "config_set") {
    detail::Check check;
    check(api().config_set(config_.get(), as_str(key), as_str(value), as_str(source), check.out()));
    return *this;
  }
  std::string describe() const {
    detail::Check check;
    tenon_text* text = nullptr;
    check(api().config_describe(config_.get(), &text, check.out()));
    return detail::take_text(text);
  }
  /// What a session with it would fail on, and what has no effect, as JSON: see config_check of the C API.
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

class Cancel {
 public:
  Cancel() {
    tenon_cancel* cancel = nullptr;
    detail::Check check;
    check(api().cancel_create(&cancel));
    cancel_.reset(cancel);
  }
  void trigger() { api().cancel_trigger(cancel_.get()); }
  tenon_cancel* get() const { return cancel_.get(); }

 private:
  detail::Owner<tenon_cancel, &tenon_api::cancel_release> cancel_;
};

struct RunOptions {
  int64_t deadline_ns = 0;  // from now; 0: none
  const Cancel* cancel = nullptr;
  std::string* trace = nullptr;  // receives Chrome trace JSON
};

/// Calls `body` with the C form of `options`; fills the trace afterwards.
namespace detail {
template <class Body>
void with_run_options(const RunOptions& options, Body body) {
  tenon_text* trace = nullptr;
  tenon_run_options c{};
  c.struct_size = sizeof c;
  c.deadline_ns = options.deadline_ns;
  c.cancel = options.cancel ? options.cancel->get() : nullptr;
  c.out_trace = options.trace ? &trace : nullptr;
  body(&c);
  if (trace) *options.trace = take_text(trace);
}
}  // namespace detail

struct NamedValue {
  std::string name;
  Value value;
};

/// The outputs of a Run in the model's order, also by name.
class Outputs : public std::vector<NamedValue> {
 public:
  using std::vector<NamedValue>::operator[];
  const Value& operator[](std::string_view name) const {
    for (const NamedValue& entry : *this)
      if (entry.name == name) return entry.value;
    throw Error(TENON_ERROR_INVALID_INPUT, TENON_NOT_FOUND, "tenon::Outputs",
                "there is no output '" + std::string(name) + "'");
  }
};

/// Called with a fraction in [0, 1] and the stage; false cancels.
using Progress = std::function<bool(double, std::string_view)>;

class Session {
 public:
  explicit Session(std::string_view model_path) { create(model_path, nullptr, {}, 0); }
  /// `flags`: TENON_SESSION_x.
  Session(std::string_view model_path, const Config& config, const Progress& progress = {},
          uint32_t flags = 0) {
    create(model_path, config.get(), progress, flags);
  }
  /// A model that is in memory. `directory`: where external data is, if anywhere. Without `keep` the memory may go
  /// afterwards; with it nothing is copied, and the memory stays as it is until the session is gone.
  static Session from_memory(const void* data, size_t size, const Config* config = nullptr,
                             std::string_view directory = {}, bool keep = false) {
    detail::Check check;
    tenon_session* session = nullptr;
    check(api().session_create_from_memory(data, size, keep ? 1 : 0, as_str(directory),
                                           config ? config->get() : nullptr, nullptr, &session, check.out()));
    return Session(session);
  }
  /// The failure as a value.
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

  Outputs run(const std::vector<NamedValue>& inputs, const RunOptions& options = {}) {
    std::vector<tenon_named_value> c_inputs;
    for (const NamedValue& input : inputs) c_inputs.push_back({as_str(input.name), input.value.get()});
    std::vector<tenon_value*> c_outputs(api().session_output_count(session_.get()), nullptr);
    detail::Check check;
    detail::with_run_options(options, [&](const tenon_run_options* c_options) {
      check(api().run(session_.get(), c_options, c_inputs.data(), static_cast<uint32_t>(c_inputs.size()),
                      nullptr, 0, c_outputs.data(), check.out()));
    });
    Outputs out;
    std::vector<tenon_io_info> infos = outputs();
    for (size_t i = 0; i < infos.size(); ++i)
      out.push_back({as_string(infos[i].name), Value::adopt(c_outputs[i])});
    return out;
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
  explicit Session(tenon_session* session) : session_(session) {}
  void create(std::string_view path, const tenon_config* config, const Progress& progress, uint32_t flags) {
    tenon_session_options options{};
    options.struct_size = sizeof options;
    options.flags = flags;
    options.progress_context = const_cast<Progress*>(&progress);
    if (progress)
      options.progress = [](void* context, double fraction, tenon_str stage) -> int32_t {
        return (*static_cast<Progress*>(context))(fraction, {stage.data, stage.size}) ? 0 : 1;
      };
    detail::Check check;
    tenon_session* session = nullptr;
    check(api().session_create(as_str(path), config, &options, &session, check.out()));
    session_.reset(session);
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
  detail::Owner<tenon_session, &tenon_api::session_release> session_;
};

/// Inputs and outputs bound to memory once. One Run at a time; the session must outlive it.
class Slots {
 public:
  explicit Slots(const Session& session) {
    detail::Check check;
    tenon_slots* slots = nullptr;
    check(api().slots_create(session.get(), &slots, check.out()));
    slots_.reset(slots);
  }
  void bind_input(uint32_t index, const tenon_tensor& tensor) {
    detail::Check check;
    check(api().slots_bind_input(slots_.get(), index, &tensor, check.out()));
  }
  void bind_output(uint32_t index, const tenon_tensor& tensor) {
    detail::Check check;
    check(api().slots_bind_output(slots_.get(), index, &tensor, check.out()));
  }
  void run(const RunOptions& options = {}) {
    detail::Check check;
    detail::with_run_options(options, [&](const tenon_run_options* c_options) {
      check(api().slots_run(slots_.get(), c_options, check.out()));
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
  detail::Owner<tenon_slots, &tenon_api::slots_release> slots_;
};

/// JSON of every provider found; see tenon.h. `afresh`: without regard to answers of earlier scans.
inline std::string describe_providers(const Config& config, bool deep, bool afresh = false) {
  detail::Check check;
  tenon_text* text = nullptr;
  check(api().providers_describe(config.get(), afresh ? 2 : deep ? 1 : 0, &text, check.out()));
  return detail::take_text(text);
}

}  // namespace tenon
