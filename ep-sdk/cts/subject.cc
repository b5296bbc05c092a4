#include "ep-sdk/cts/subject.h"

#include <algorithm>
#include <mutex>

#include "ep-sdk/cts/step.h"

namespace tenon::cts {
namespace {

constexpr char kUntouched = 0x5C;  // fills an error before the call

std::string text(tenon_str s) { return s.data == nullptr ? std::string() : std::string(s.data, s.size); }

/// A text that a call borrows. Overwritten after the call when the check asks for that.
class Lent {
 public:
  explicit Lent(std::string text) : text_(std::move(text)) {}
  ~Lent() {
    if (host_state().scramble) std::fill(text_.begin(), text_.end(), '?');
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    keep().push_back(std::move(text_));
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  tenon_str str() const { return {text_.data(), text_.size()}; }

 private:
  /// Keeps the last texts in memory: a provider that uses one too late reads wrong text instead of crashing.
  static std::vector<std::string>& keep() {
    static std::vector<std::string> list;
    if (list.size() > 1000) list.clear();
    return list;
  }
  std::string text_;
};

}  // namespace

tenon_ep_api table_of(const tenon_ep_api& table) {
  tenon_ep_api out{};
  std::memcpy(&out, &table, std::min<size_t>(table.struct_size, sizeof out));
  return out;
}

ErrorBox::ErrorBox() {
  std::memset(static_cast<void*>(&error_), kUntouched, sizeof error_);
  error_.struct_size = sizeof error_;
}

namespace {

/// A text of the error; empty when it was not written or is not terminated.
std::string part(const char* from, size_t size) {
  const void* end = std::memchr(from, 0, size);
  if (end == nullptr || from[0] == kUntouched) return {};
  return from;
}

}  // namespace

std::string ErrorBox::where() const { return part(error_.where, sizeof error_.where); }

std::string ErrorBox::text() const {
  const std::string place = where();
  return (place.empty() ? "" : place + ": ") + part(error_.message, sizeof error_.message);
}

void ErrorBox::look(tenon_status status, const char* name) const {
  const auto bad = [&](const std::string& what) { host_state().violate(10, std::string(name) + " " + what); };
  if (error_.struct_size != sizeof error_) return bad("changes the struct_size of the caller's error");
  if (status == TENON_OK) {
    const ErrorBox fresh;
    if (std::memcmp(&fresh.error_, &error_, sizeof error_) != 0)
      bad("returns OK and writes to the caller's error");
    return;
  }
  if (error_.message[0] == kUntouched || error_.message[0] == '\0')
    return bad("fails with status " + std::to_string(status) + " and no message");
  if (std::memchr(error_.message, 0, sizeof error_.message) == nullptr)
    return bad("fails with a message that is not terminated");
  if (std::memchr(error_.where, 0, sizeof error_.where) == nullptr)
    return bad("fails with a place that is not terminated");
  if (error_.code != status)
    bad("returns status " + std::to_string(status) + " and writes code " + std::to_string(error_.code));
  if ((error_.flags & ~15u) != 0)
    bad("fails with flags " + std::to_string(error_.flags) + ", which have no meaning");
  if (error_.kind != 0)
    host_state().violate(12, std::string(name) + " fails with kind " + std::to_string(error_.kind) +
                                 ", a word that only the host writes");
  if ((error_.flags & TENON_ERROR_ASYNC) != 0 && where().empty())
    host_state().violate(49,
                         std::string(name) + " reports an error of earlier work and does not name the work");
}

void begin_call(const char* name) {
  if (host_state().report_activity != nullptr) host_state().report_activity(name);
  if (host_state().before_call) host_state().before_call(name);
}

void end_call(const char* name) {
  if (host_state().after_call) host_state().after_call(name);
}

void exception_escaped(const char* name, const char* what) {
  throw Failed("R8: an exception came out of " + std::string(name) + ": " + what,
               "catch everything at the border; ep.hpp's guard() does");
}

void Subject::create_provider(uint32_t flags) {
  enter(Step::kProvider);
  const Lent path(params_.module_path), folder(params_.manifest_dir);
  static int host_provider;
  const tenon_provider_params params{sizeof(tenon_provider_params), flags,
                                     reinterpret_cast<tenon_host_provider*>(&host_provider), path.str(),
                                     folder.str()};
  call("provider_create", api.provider_create, &params, &provider);
  if (provider == nullptr) throw Failed("provider_create returns OK and no provider", "set *out_provider");
}

std::vector<DeviceInfo> Subject::enumerate() const {
  enter(Step::kDevices);
  std::vector<DeviceInfo> out;
  tenon_device_sink sink{sizeof(tenon_device_sink), 0, &out, nullptr};
  sink.add = [](void* context, const tenon_device_info* from, tenon_error*) -> tenon_status {
    tenon_device_info info{};
    std::memcpy(&info, from, std::min<size_t>(from->struct_size, sizeof info));
    if (info.struct_size < offsetof(tenon_device_info, driver_version) + sizeof info.driver_version)
      host_state().violate(
          11, "enumerate_devices gives an info whose struct_size is " + std::to_string(info.struct_size));
    if (info.reserved != 0 || (info.flags & ~7u) != 0 || info.serialize > TENON_SERIALIZE_DEVICE ||
        info.kind == 0 || info.kind > TENON_DEVICE_OTHER) {
      host_state().violate(
          12, "enumerate_devices uses numbers without meaning for '" + text(info.stable_id) + "'");
    }
    DeviceInfo& device = static_cast<std::vector<DeviceInfo>*>(context)->emplace_back();
    device.stable_id = text(info.stable_id), device.name = text(info.name);
    device.vendor = text(info.vendor), device.driver_version = text(info.driver_version);
    device.kind = info.kind, device.flags = info.flags, device.serialize = info.serialize;
    device.memory_bytes = info.memory_bytes;
    device.pci = {info.pci_domain, info.pci_bus, info.pci_device, info.pci_function};
    std::copy(std::begin(info.uuid), std::end(info.uuid), device.uuid.begin());
    return TENON_OK;
  };
  call("enumerate_devices", api.enumerate_devices, provider, &sink);
  return out;
}

void Subject::open_device() {
  const std::vector<DeviceInfo> devices = enumerate();
  enter(Step::kDevice);
  if (devices.empty())
    throw Failed("the provider finds no device on this machine", "run the kit where there is one");
  std::string known;
  for (const DeviceInfo& found : devices) known += (known.empty() ? "" : ", ") + found.stable_id;
  for (const DeviceInfo& found : devices) {
    if (!params_.device.empty() && found.stable_id != params_.device) continue;
    device_info = found;
    open_device(found.stable_id);
    return;
  }
  throw Failed("the provider has no device '" + params_.device + "' here",
               "name one of its devices with --device: " + known);
}

void Subject::open_device(const std::string& stable_id) {
  const CallResult result = try_open(stable_id, &device);
  if (!result.ok()) throw CallFailed(result.status, "device_open: " + result.text);
  if (device == nullptr) throw Failed("device_open returns OK and no device", "set *out_device");
  domains = read_domains();
}

CallResult Subject::try_open(const std::string& stable_id, tenon_device** out_device) const {
  enter(Step::kDevice);
  const Lent id(stable_id);
  const tenon_device_params params{sizeof(tenon_device_params), 0, id.str()};
  return try_call("device_open", api.device_open, provider, &params, out_device);
}

std::vector<Domain> Subject::read_domains() const {
  std::vector<Domain> out;
  if (api.device_domains == nullptr) return out;
  tenon_domain_sink sink{sizeof(tenon_domain_sink), 0, &out, nullptr};
  sink.add = [](void* context, const tenon_domain_info* from, tenon_error*) -> tenon_status {
    tenon_domain_info info{};
    std::memcpy(&info, from, std::min<size_t>(from->struct_size, sizeof info));
    if (info.struct_size < offsetof(tenon_domain_info, name) + sizeof info.name)
      host_state().violate(
          11, "device_domains gives an info whose struct_size is " + std::to_string(info.struct_size));
    if ((info.flags & ~15u) != 0)
      host_state().violate(12, "device_domains uses flags without meaning: " + std::to_string(info.flags));
    static_cast<std::vector<Domain>*>(context)->push_back(
        {info.id, info.flags, info.alignment, info.max_buffer_bytes, text(info.name)});
    return TENON_OK;
  };
  call("device_domains", api.device_domains, device, &sink);
  return out;
}

const Domain* Subject::domain(uint32_t id) const {
  for (const Domain& known : domains) {
    if (known.id == id) return &known;
  }
  return nullptr;
}

tenon_instance* Subject::make_instance(uint32_t precision) {
  enter(Step::kInstance);
  std::vector<std::unique_ptr<Lent>> lent;
  std::vector<tenon_option> options = params_.options;
  for (tenon_option& option : options) {
    lent.push_back(std::make_unique<Lent>(text(option.name)));
    option.name = lent.back()->str();
    if (option.type != TENON_OPTION_STRING) continue;
    lent.push_back(std::make_unique<Lent>(text(option.s)));
    option.s = lent.back()->str();
  }
  tenon_instance_params params{};
  params.struct_size = sizeof params;
  params.precision = precision;
  params.option_count = static_cast<uint32_t>(options.size());
  params.options = options.data();
  params.host = &services;
  params.memory_limit = params_.memory_limit;
  tenon_instance* out = nullptr;
  call("instance_create", api.instance_create, device, &params, &out);
  if (out == nullptr) throw Failed("instance_create returns OK and no instance", "set *out_instance");
  return out;
}

void Subject::create_instance() { instance = make_instance(); }

void Subject::open() {
  create_provider();
  open_device();
  create_instance();
}

void Subject::destroy_instance() { destroy("instance_destroy", api.instance_destroy, instance); }
void Subject::close_device() { destroy("device_close", api.device_close, device); }
void Subject::destroy_provider() {
  if (owns_provider_) destroy("provider_destroy", api.provider_destroy, provider);
}

std::unique_ptr<Subject> Subject::open_on(const DeviceInfo& other) const {
  auto out = std::make_unique<Subject>(api, params_);
  out->owns_provider_ = false;
  out->provider = provider;
  out->device_info = other;
  out->open_device(other.stable_id);
  out->create_instance();
  return out;
}

std::unique_ptr<Subject> Subject::open_other(const std::function<bool(const Subject&)>& fits) const {
  for (const DeviceInfo& found : enumerate()) {
    if (found.stable_id == device_info.stable_id) continue;
    try {
      std::unique_ptr<Subject> out = open_on(found);
      if (fits(*out)) return out;
    } catch (const CallFailed&) {  // a device that does not work is the matter of a check of that device
    }
  }
  return nullptr;
}

Subject::~Subject() {
  // A destructor must not throw.
  try {
    destroy_instance();
    close_device();
    destroy_provider();
  } catch (const std::exception& e) {
    host_state().violate(8, e.what());
  }
}

}  // namespace tenon::cts
