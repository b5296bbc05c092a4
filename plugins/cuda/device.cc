#include "device.h"

#include <algorithm>
#include <cstring>

#include "convolutions.h"
#include "products.h"
#include "stream.h"

namespace tenon::cuda {
namespace {

/// A process makes a device's primary context once: that takes some tenths of a second, which programs that open one session
/// after another would pay each time. The driver ends it with the process.
void keep_context(CUdevice device) {
  static std::mutex mutex;
  static auto* const kept = new std::set<CUdevice>;  // never destroyed
  const std::lock_guard lock(mutex);
  if (kept->contains(device)) return;
  CUcontext first = nullptr;
  check(driver().cuDevicePrimaryCtxRetain(&first, device), "cuDevicePrimaryCtxRetain");
  kept->insert(device);
}

CUcontext retain_context(CUdevice device) {
  keep_context(device);
  CUcontext out = nullptr;
  check(driver().cuDevicePrimaryCtxRetain(&out, device), "cuDevicePrimaryCtxRetain");
  return out;
}

}  // namespace

void Provider::devices(const ep::DeviceSink& sink) const {
  for (const DeviceDescription& device : list_devices()) {
    std::vector<tenon_str> features;
    for (const std::string& feature : device.features) features.push_back(ep::to_str(feature));
    sink.add({.kind = TENON_DEVICE_GPU,
              .stable_id = device.stable_id,
              .name = device.name,
              .vendor = "NVIDIA",
              .memory_bytes = device.memory_bytes,
              .serialize = TENON_SERIALIZE_BINDING,
              .features = features,
              .driver_version = device.driver_version,
              .pci = device.pci,
              .uuid = device.uuid});
  }
}

Device::Device(const Provider& provider, std::string_view stable_id)
    : Device(provider, find_device(stable_id)) {}

Device::Device(const Provider& provider, DeviceDescription description)
    : host_(provider.host()), description_(std::move(description)) {
  read_limits();
  build_key_ = ep::cat("sm_", limits_.capability, "/", driver().version, "/", description_.name);
  context_ = retain_context(id());
  try {
    device_memory_ = std::make_unique<DeviceMemory>(id(), context_, limits_.pools);
    staging_memory_ = std::make_unique<StagingMemory>(context_);
    answers_ = std::make_unique<ep::MeasuredAnswers>("answers/" + build_key_);
    products_ = std::make_unique<Products>(*this);
    convolutions_ = std::make_unique<Convolutions>(*this);
    own_stream_ = make_stream();
  } catch (...) {
    close();
    throw;
  }
}

Device::~Device() { close(); }

void Device::close() noexcept {
  if (is_forked()) return;
  try {
    const Current current(context_);
    own_stream_ = {};
    convolutions_.reset();
    products_.reset();
    modules_.clear();
    staging_memory_.reset();
    device_memory_.reset();
  } catch (...) {  // the process is lost: the driver ends what it still has
  }
  driver().cuDevicePrimaryCtxRelease(id());
}

void Device::read_limits() {
  const auto number = [&](CUdevice_attribute what) {
    return static_cast<uint32_t>(std::max(attribute(id(), what), 0));
  };
  limits_.capability = attribute(id(), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                       attribute(id(), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  limits_.processors = std::max(1u, number(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  limits_.max_blocks_x = number(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  limits_.max_blocks_yz =
      std::min(number(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y), number(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z));
  limits_.pools = number(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
}

StreamHandle Device::make_stream() const {
  const Current current(context_);
  CUstream out = nullptr;
  check(driver().cuStreamCreate(&out, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return StreamHandle(out);
}

void Device::do_now(const std::function<void(CUstream)>& enqueue) const {
  const std::lock_guard lock(own_stream_mutex_);
  const Current current(context_);
  try {
    enqueue(own_stream_.get());
  } catch (...) {
    driver().cuStreamSynchronize(
        own_stream_.get());  // what was enqueued may use memory that the caller frees
    throw;
  }
  check(driver().cuStreamSynchronize(own_stream_.get()), "work on the device");
}

void Device::log_once(uint32_t level, const std::string& code, const std::string& message) const {
  {
    const std::lock_guard lock(log_mutex_);
    if (!logged_.insert(code + "\n" + message).second) return;
  }
  if (host_ != nullptr) ep::log(host_, level, code, message);
}

void Device::domains(const ep::DomainSink& sink) const {
  sink.add({.id = kDeviceDomain, .alignment = static_cast<uint32_t>(kAlignment), .name = "device memory"});
  sink.add({.id = kStagingDomain,
            .flags = TENON_DOMAIN_HOST_ADDRESS | TENON_DOMAIN_STAGING,
            .alignment = static_cast<uint32_t>(kAlignment),
            .name = "pinned memory"});
}

tenon_memory_info Device::memory() const {
  const Current current(context_);
  size_t free_bytes = 0, total_bytes = 0;
  check(driver().cuMemGetInfo(&free_bytes, &total_bytes), "cuMemGetInfo");
  tenon_memory_info out{};
  out.free_bytes = free_bytes;
  out.total_bytes = total_bytes;
  return out;
}

void Device::trim() {
  device_memory_->trim();
  staging_memory_->trim();
}

ep::Allocation Device::allocate(uint32_t domain, uint64_t bytes, const Stream* stream) const {
  ep::require(domain == kStagingDomain || domain == kDeviceDomain, TENON_INVALID_ARGUMENT,
              "there is no memory domain ", domain);
  auto out = std::make_unique<Buffer>();
  out->is_staging = domain == kStagingDomain;
  if (out->is_staging) {
    out->piece = OwnedPiece(*staging_memory_, bytes);
  } else {
    out->piece = OwnedPiece(*device_memory_, bytes, stream == nullptr ? nullptr : stream->get());
    if (stream != nullptr) out->stream = stream->handle();
  }
  void* const address = out->piece.get().address;
  return {.buffer = to_border(out.release()), .address = address};
}

void Device::free(tenon_buffer* buffer, Stream* stream) const noexcept {
  const std::unique_ptr<Buffer> last(from_border(buffer));
  if (is_forked()) return;
  if (last->is_staging) {
    if (stream != nullptr) stream->keep(std::move(last->piece));
    return;
  }
  // The pool may give the memory again before work of the stream that it was allocated for, if that stream has not come to the
  // allocation yet. So it is freed in the order of that stream too.
  const std::shared_ptr<StreamHandle> owner = last->stream.lock();
  CUstream order = stream != nullptr ? stream->get() : nullptr;
  if (owner != nullptr && owner->get() != order) {
    if (order == nullptr) {
      order = owner->get();
    } else {
      stream->wait_for_stream(owner->get());
    }
  }
  last->piece.free_after(order);
}

namespace {

Place place_of(const Device& device, const tenon_location& location) {
  if (location.domain == TENON_DOMAIN_HOST)
    return {.address = static_cast<char*>(location.data), .is_pinned = false};
  const Buffer& buffer = *from_border(location.buffer);
  const Piece& piece = buffer.piece.get();
  if (buffer.is_staging) return {.address = piece.address + location.byte_offset};
  const auto* const owner =
      location.device == nullptr ? &device : reinterpret_cast<const Device*>(location.device);
  return {.pointer = piece.pointer + location.byte_offset, .device = owner};
}

}  // namespace

void Device::copy(const tenon_location& destination, const tenon_location& source, uint64_t bytes,
                  Stream* stream, uint64_t work_id) const {
  if (bytes == 0) return;
  const Transfer transfer{place_of(*this, destination), place_of(*this, source), bytes};
  if (transfer.from.device != nullptr && transfer.from.device != this)
    transfer.from.device->device_memory().open_to(id(), context_);
  if (stream != nullptr) return stream->copy(transfer, work_id);
  if (transfer.is_within_host()) {
    std::memmove(transfer.to.address, transfer.from.address, bytes);
    return;
  }
  do_now([&](CUstream own) { transfer.enqueue(own); });
}

}  // namespace tenon::cuda
