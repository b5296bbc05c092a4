#include "instance.h"

#include <algorithm>

#include "convolutions.h"
#include "products.h"
#include "tenon/ep/device/launch.hpp"

namespace tenon::cuda {
namespace {

Worker worker_of(const std::string& wanted) {
  return wanted == "auto" ? Worker::kAuto : wanted == "own" ? Worker::kOwn : Worker::kLibrary;
}

}  // namespace

Instance::Instance(Device& opened, const tenon_instance_params& params)
    : ep::InstanceSettings(params), device(opened), stream(opened.make_stream()) {
  float16 = options.text("float16", "on") == "on";
  bfloat16 = options.text("bfloat16", "on") == "on";
  synchronize = options.flag("synchronize", false);
  products = worker_of(options.text("products", "auto"));
  convolutions = worker_of(options.text("convolutions", "auto"));
  form = forced_form(options.text("variants", "auto"));
  answers_are_used_ = measures();
  if (answers_are_used_) device.answers().load(*this);
  limit_ = static_cast<uint64_t>(std::max<int64_t>(options.integer("memory_limit", 0), 0)) << 20;
  if (limit_ == 0) return;
  device.device_memory().add_limit(limit_);
  memory_limit = memory_limit == 0 ? limit_ : std::min(memory_limit, limit_);  // bounds workspaces
}

Instance::~Instance() {
  if (is_forked()) return;
  try {
    if (limit_ != 0) device.device_memory().drop_limit(limit_);
    if (answers_are_used_) device.answers().save(*this);
    device.products().save(*this);
    device.convolutions().save(*this);
  } catch (...) {  // then the next process measures again
  }
}

bool Instance::stores(uint32_t dtype) const {
  if (dtype == TENON_FLOAT16) return float16;
  if (dtype == TENON_BFLOAT16) return bfloat16;
  return ep::kDeviceTypes.contains(dtype);
}

std::string Instance::unfit(const ep::ValueView& value) const {
  if (!value.present()) return {};
  if (value.kind() != TENON_KIND_TENSOR) return ep::cat("'", value.name(), "' is not a tensor");
  if (stores(value.dtype())) return {};
  return ep::cat("'", value.name(), "' has element type ", ep::dtype_name(value.dtype()),
                 ", which this provider does not support");
}

}  // namespace tenon::cuda
