#include "host/device/device.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <utility>

#include "host/base/fork.h"
#include "host/device/idle_memory.h"

namespace tenon::runtime {
namespace {

std::atomic<uint32_t> g_last_domain{0};
std::atomic<uint64_t> g_last_generation{0};

struct DeviceTable {
  std::mutex mutex;
  std::map<const provider::Device*, std::weak_ptr<Device>> open;
};
PerProcess<DeviceTable> g_table;
DeviceTable& table() { return g_table.get(); }

Status no_address_or_crooked(const MemoryDomain& domain, const void* address) {
  const std::string_view what = address == nullptr ? "no address in a domain with addresses"
                                                   : "an address that is not aligned for its domain";
  return internal_error("R18: allocate returned ", what).with_context(domain.device->provider()->label());
}

/// Asks the provider. Fills `handle` and `address` on success.
tenon_status ask(const MemoryDomain& domain, uint64_t bytes, tenon_stream* stream, tenon_buffer** handle,
                 void** address, tenon_error* error) {
  tenon_allocate_params params{};
  params.struct_size = sizeof(params);
  params.domain = domain.local_id;
  params.bytes = bytes;
  params.stream = stream;
  tenon_allocation allocation{};
  allocation.struct_size = sizeof(allocation);
  Device& device = *domain.device;
  const tenon_status status = device.api().allocate(device.handle(), &params, &allocation, error);
  if (status != TENON_OK) return status;
  *handle = allocation.buffer;
  *address = domain.has_address() ? allocation.address : nullptr;
  return status;
}

/// The bytes that the device has, for a message; empty when the provider cannot say.
std::string memory_note(const Device& device) {
  const Result<tenon_memory_info> memory = device.memory();
  if (!memory.ok() || (memory->total_bytes == 0 && memory->free_bytes == 0)) return {};
  const std::string of = memory->total_bytes == 0 ? std::string() : str_cat(" of ", memory->total_bytes);
  return str_cat("; ", memory->free_bytes, of, " bytes of the device's memory are free");
}

}  // namespace

const MemoryDomain& host_domain() {
  static const MemoryDomain domain;
  return domain;
}

Result<Buffer> Buffer::allocate(const MemoryDomain& domain, uint64_t bytes, tenon_stream* stream,
                                WhenFull when_full) {
  Buffer out;
  if (bytes == 0) return out;
  if (domain.is_host()) {
    ASSIGN_OR_RETURN(out.charge_, MemoryCharge::take(bytes));
    if (bytes <= PTRDIFF_MAX) out.address_ = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (out.address_ == nullptr)
      return out_of_memory("out of host memory: cannot allocate ", bytes, " bytes");
  } else {
    RETURN_IF_ERROR(out.allocate_on_device(domain, bytes, stream, when_full));
  }
  out.domain_ = &domain;
  out.bytes_ = bytes;
  return out;
}

Status Buffer::allocate_on_device(const MemoryDomain& domain, uint64_t bytes, tenon_stream* stream,
                                  WhenFull when_full) {
  Device& device = *domain.device;
  tenon_error error = make_error();
  tenon_status status = ask(domain, bytes, stream, &handle_, &address_, &error);
  Status trimmed;
  if (status == TENON_RESOURCE_EXHAUSTED && when_full == WhenFull::kFreeIdle &&
      (error.flags & TENON_ERROR_DEVICE_LOST) == 0) {
    drop_idle_memory(device);
    trimmed = device.trim();
    error = make_error();
    status = ask(domain, bytes, stream, &handle_, &address_, &error);
  }
  if (status != TENON_OK) {
    handle_ = nullptr;
    Status failed = device.status(status, error);
    if (failed.kind() == ErrorKind::kOutOfMemory) failed = std::move(failed).with_note(memory_note(device));
    if (!trimmed.ok())
      failed = std::move(failed).with_note(str_cat("; device_trim failed: ", trimmed.message()));
    return std::move(failed).with_context(str_cat("allocating ", bytes, " bytes of '", domain.name, "'"));
  }
  device_ = device.shared_from_this();
  domain_ = &domain;  // from here on the destructor frees the memory
  if (!domain.has_address()) return ok_status();
  if (address_ == nullptr || reinterpret_cast<uintptr_t>(address_) % domain.alignment != 0)
    return no_address_or_crooked(domain, address_);
  return ok_status();
}

void Buffer::place(tenon_tensor* tensor, uint64_t byte_offset) const {
  tensor->domain = domain_ == nullptr ? TENON_DOMAIN_HOST : domain_->local_id;
  tensor->buffer = handle_;
  tensor->byte_offset = handle_ == nullptr ? 0 : byte_offset;
  tensor->data = address_ == nullptr ? nullptr : address() + byte_offset;
}

tenon_location Buffer::location(uint64_t byte_offset) const {
  if (handle_ != nullptr) return {domain_->local_id, 0, nullptr, handle_, nullptr, byte_offset};
  return {TENON_DOMAIN_HOST, 0, nullptr, nullptr, address_ == nullptr ? nullptr : address() + byte_offset, 0};
}

void Buffer::reset() {
  if (handle_ != nullptr) {
    device_->api().free(device_->handle(), handle_, nullptr);
  } else if (domain_ != nullptr && domain_->is_host()) {
    std::free(address_);
  }
  handle_ = nullptr;
  address_ = nullptr;
  domain_ = nullptr;
  bytes_ = 0;
  charge_ = MemoryCharge();
  device_.reset();
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(domain_, other.domain_);
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(charge_, other.charge_);
}

Device::Device(std::shared_ptr<provider::Device> device)
    : device_(std::move(device)),
      id_(str_cat(device_->provider()->id(), "/", device_->info().selector())),
      generation_(++g_last_generation) {
  for (const provider::DomainInfo& info : device_->domains()) {
    auto domain = std::make_unique<MemoryDomain>();
    domain->number = ++g_last_domain;
    domain->local_id = info.id;
    domain->device = this;
    domain->alignment = info.alignment;
    domain->max_buffer_bytes = info.max_buffer_bytes;
    domain->mappable = (info.flags & TENON_DOMAIN_MAPPABLE) != 0;
    domain->host_address = (info.flags & TENON_DOMAIN_HOST_ADDRESS) != 0;
    domain->device_address = (info.flags & TENON_DOMAIN_DEVICE_ADDRESS) != 0;
    domain->staging = (info.flags & TENON_DOMAIN_STAGING) != 0;
    domain->name = str_cat(id_, " ", info.name);
    if (domain->staging) staging_ = domain.get();
    domains_.push_back(std::move(domain));
  }
}

Device::~Device() {
  const std::lock_guard lock(table().mutex);
  const auto at = table().open.find(device_.get());
  if (at != table().open.end() && at->second.expired()) table().open.erase(at);
}

Result<std::shared_ptr<Device>> Device::open(const std::shared_ptr<provider::LoadedProvider>& provider,
                                             std::string_view selector) {
  ASSIGN_OR_RETURN(std::shared_ptr<provider::Device> opened, provider->open_device(selector));
  // Declared before the lock, so that it is destroyed after it: the destructor takes the lock too.
  const std::shared_ptr<Device> made(new Device(opened));
  const std::lock_guard lock(table().mutex);
  std::weak_ptr<Device>& known = table().open[opened.get()];
  if (auto device = known.lock()) return device;
  known = made;
  return made;
}

const MemoryDomain* Device::find_domain(uint32_t local_id) const {
  if (local_id == TENON_DOMAIN_HOST) return &host_domain();
  for (const auto& domain : domains_) {
    if (domain->local_id == local_id) return domain.get();
  }
  return nullptr;
}

Result<tenon_memory_info> Device::memory() const {
  if (api().device_memory == nullptr) return unsupported("'", id_, "' does not tell how much memory it has");
  tenon_memory_info info{};
  info.struct_size = sizeof(info);
  tenon_error error = make_error();
  const tenon_status status = api().device_memory(handle(), &info, &error);
  if (status != TENON_OK) return this->status(status, error);
  return info;
}

Status Device::trim() {
  if (api().device_trim == nullptr) return ok_status();
  tenon_error error = make_error();
  const tenon_status status = api().device_trim(handle(), &error);
  return status == TENON_OK ? ok_status() : this->status(status, error);
}

Status Device::copy(const tenon_location& destination, const tenon_location& source, uint64_t bytes,
                    tenon_stream* stream, uint64_t work_id) {
  if (bytes == 0) return ok_status();
  tenon_copy_params params{};
  params.struct_size = sizeof(params);
  params.destination = destination;
  params.source = source;
  params.bytes = bytes;
  params.stream = stream;
  params.work_id = work_id;
  tenon_error error = make_error();
  const tenon_status status = api().copy(handle(), &params, &error);
  return status == TENON_OK ? ok_status() : this->status(status, error);
}

Result<void*> Device::map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes, uint32_t flags) {
  tenon_map_params params{};
  params.struct_size = sizeof(params);
  params.flags = flags;
  params.buffer = buffer;
  params.byte_offset = byte_offset;
  params.bytes = bytes;
  void* address = nullptr;
  tenon_error error = make_error();
  const tenon_status status = api().map(handle(), &params, &address, &error);
  if (status != TENON_OK) return this->status(status, error);
  return address;
}

Status Device::status(tenon_status code, const tenon_error& error) const {
  if (code == TENON_OK) return ok_status();  // before the label is made, in every Run
  Status status = take_status(code, error, "", provider()->is_built_in());
  if (is_late(error) && status.where().empty())
    status = std::move(status).with_context("work that was enqueued earlier");
  return blame(std::move(status).with_context(provider()->label()));
}

Status Device::blame(Status status) const {
  if (status.kind() == ErrorKind::kDeviceLost) device_->mark_lost();
  return std::move(status).with_instance(id_);
}

}  // namespace tenon::runtime
