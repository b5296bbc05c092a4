#include "host/device/instance.h"

#include <utility>

namespace tenon::runtime {
namespace {

uint32_t number_of(config::Precision precision) {
  switch (precision) {
    case config::Precision::kExact:
      return TENON_PRECISION_EXACT;
    case config::Precision::kFast:
      return TENON_PRECISION_FAST;
    case config::Precision::kBf16:
      return TENON_PRECISION_BF16;
    case config::Precision::kFp16:
      return TENON_PRECISION_FP16;
  }
  return TENON_PRECISION_EXACT;
}

tenon_option border_option(const config::OptionSetting& setting) {
  tenon_option out{};
  out.name = {setting.name.data(), setting.name.size()};
  if (const bool* b = setting.value.as_bool()) {
    out.type = TENON_OPTION_BOOL;
    out.i = *b ? 1 : 0;
  } else if (const int64_t* i = setting.value.as_int()) {
    out.type = TENON_OPTION_INT;
    out.i = *i;
  } else if (const double* f = setting.value.as_double()) {
    out.type = TENON_OPTION_FLOAT;
    out.f = *f;
  } else if (const std::string* s = setting.value.as_string()) {
    out.type = TENON_OPTION_STRING;
    out.s = {s->data(), s->size()};
  }
  return out;
}

/// Tells the blobs of this instance from those of others, in every process.
std::string make_blob_prefix(const Device& device, const std::vector<config::OptionSetting>& options,
                             const InstanceSettings& settings) {
  std::string out = str_cat(device.provider()->library_sha256(), "/", device.info().stable_id, "/");
  for (const config::OptionSetting& option : options) out += option.name + "=" + option.value.to_toml() + ",";
  return out += str_cat("precision=", settings.precision, ",deterministic=", settings.deterministic,
                        settings.strict ? ",strict/" : "/");
}

}  // namespace

Status Recording::run(const Stream& stream) {
  tenon_error error = make_error();
  return instance_->status(instance_->api().recording_run(handle_, stream.handle(), &error), error);
}

void Recording::reset() {
  if (handle_ != nullptr) instance_->api().recording_destroy(std::exchange(handle_, nullptr));
  instance_.reset();
}

void Recording::swap(Recording& other) noexcept {
  std::swap(instance_, other.instance_);
  std::swap(handle_, other.handle_);
}

Status Stream::flush() {
  tenon_error error = make_error();
  return instance_->status(instance_->api().stream_flush(handle_, &error), error);
}

Result<uint64_t> Stream::point() {
  uint64_t point = 0;
  tenon_error error = make_error();
  const tenon_status status = instance_->api().stream_point(handle_, &point, &error);
  if (status != TENON_OK) return instance_->status(status, error);
  return point;
}

Status Stream::wait_for(const Stream& other, uint64_t point) {
  tenon_error error = make_error();
  return instance_->status(instance_->api().stream_wait(handle_, other.handle_, point, &error), error);
}

Status Stream::wait(uint64_t point, int64_t timeout_ns) {
  tenon_error error = make_error();
  return instance_->status(instance_->api().point_wait(handle_, point, timeout_ns, &error), error);
}

Status Stream::record_begin() {
  tenon_error error = make_error();
  return instance_->status(instance_->api().record_begin(handle_, &error), error);
}

Result<Recording> Stream::record_end() {
  Recording out;
  tenon_error error = make_error();
  const tenon_status status = instance_->api().record_end(handle_, &out.handle_, &error);
  if (status != TENON_OK) {
    out.handle_ = nullptr;
    return instance_->status(status, error);
  }
  out.instance_ = instance_;
  return out;
}

Status Stream::record_drop() {
  tenon_error error = make_error();
  return instance_->status(instance_->api().record_end(handle_, nullptr, &error), error);
}

Result<std::vector<WorkTime>> Stream::times() {
  std::vector<WorkTime> out;
  if (!instance_->has_times()) return out;
  tenon_time_sink sink{};
  sink.struct_size = sizeof(sink);
  sink.context = &out;
  sink.add = [](void* context, const tenon_time_span* span, tenon_error* error) noexcept {
    return guarded(error, [&]() -> Status {
      static_cast<std::vector<WorkTime>*>(context)->push_back(
          {std::string(span->name.data, span->name.size), span->work_id, static_cast<int64_t>(span->begin_ns),
           static_cast<int64_t>(span->end_ns)});
      return ok_status();
    });
  };
  tenon_error error = make_error();
  const tenon_status status = instance_->api().stream_times(handle_, &sink, &error);
  if (status != TENON_OK) return instance_->status(status, error);
  return out;
}

void Stream::reset() {
  if (handle_ != nullptr) instance_->api().stream_destroy(std::exchange(handle_, nullptr));
  instance_.reset();
}

void Stream::swap(Stream& other) noexcept {
  std::swap(instance_, other.instance_);
  std::swap(handle_, other.handle_);
}

Instance::~Instance() {
  if (handle_ != nullptr) api().instance_destroy(handle_);
}

Result<std::shared_ptr<Instance>> Instance::create(std::shared_ptr<Device> device,
                                                   std::vector<config::OptionSetting> options,
                                                   const InstanceSettings& settings) {
  auto out = std::shared_ptr<Instance>(new Instance);
  out->device_ = std::move(device);
  out->options_ = std::move(options);
  out->settings_ = settings;
  const std::string blobs = make_blob_prefix(*out->device_, out->options_, settings);
  // Nothing that was made with a device is valid for the same device when it is opened again.
  out->services_ = {str_cat("device=", out->device_->generation(), "/", blobs), blobs,
                    &SharedCache::process(), BlobCache::process()};
  std::vector<tenon_option> border_options;
  for (const config::OptionSetting& option : out->options_) border_options.push_back(border_option(option));
  tenon_instance_params params{};
  params.struct_size = sizeof(params);
  params.precision = number_of(settings.precision);
  params.deterministic = settings.deterministic ? 1 : 0;
  params.strict = settings.strict ? 1 : 0;
  params.option_count = static_cast<uint32_t>(border_options.size());
  params.options = border_options.data();
  out->services_.blob_limits = settings.blob_limits;
  params.host = &out->services_;
  params.memory_limit = settings.memory_limit;
  tenon_error error = make_error();
  const tenon_status status =
      out->api().instance_create(out->device_->handle(), &params, &out->handle_, &error);
  if (status != TENON_OK) {
    out->handle_ = nullptr;
    return out->status(status, error).with_context(str_cat("creating '", out->id(), "'"));
  }
  return out;
}

Result<std::shared_ptr<Instance>> Instance::renew() const {
  ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                   Device::open(device_->provider(), device_->info().selector()));
  return create(std::move(device), options_, settings_);
}

Result<Stream> Instance::make_stream(bool timed) {
  if (!has_streams()) return unsupported("'", id(), "' has no streams");
  Stream out;
  tenon_error error = make_error();
  tenon_stream_params params{};
  params.struct_size = sizeof(params);
  if (timed && has_times()) params.flags = TENON_STREAM_TIMED;
  const tenon_status status = api().stream_create(handle_, &params, &out.handle_, &error);
  if (status != TENON_OK) {
    out.handle_ = nullptr;
    return this->status(status, error);
  }
  out.instance_ = shared_from_this();
  return out;
}

}  // namespace tenon::runtime
