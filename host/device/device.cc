#include "host/device/device.h"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <map>
#include <utility>

#include "host/base/fork.h"

namespace tenon::runtime {
namespace {

std::atomic<uint32_t> g_last_domain{0};

struct DeviceTable {
  std::mutex mutex;
  std::map<const provider::Device*, std::weak_ptr<Device>> open;
};
PerProcess<DeviceTable> g_table;
DeviceTable& table() { return g_table.get(); }

Status check_domains(const provider::Device& device) {
  uint32_t last = TENON_DOMAIN_HOST;
  std::map<uint32_t, bool> seen;
  for (const provider::DomainInfo& domain : device.domains()) {
    last = domain.id;
    if (domain.id == TENON_DOMAIN_HOST || !std::has_single_bit(domain.alignment) || seen[domain.id]) {
      return Status(
                 StatusCode::kInternal,
                 str_cat(
                     "R17: memory domain ", last, " ('", domain.name,
                     "') has a number that is 0 or used twice, or an alignment that is not a power of two"),
                 ErrorKind::kInternal)
          .with_context(device.provider()->label());
    }
    seen[domain.id] = true;
  }
  return ok_status();
}

}  // namespace

const MemoryDomain& host_domain() {
  static const MemoryDomain domain;
  return domain;
}

Result<Buffer> Buffer::allocate(const MemoryDomain& domain, uint64_t bytes, tenon_stream* stream) {
  Buffer out;
  if (bytes == 0) return out;
  if (domain.is_host()) {
    ASSIGN_OR_RETURN(out.charge_, MemoryCharge::take(bytes));
    if (bytes <= PTRDIFF_MAX) out.address_ = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (out.address_ == nullptr)
      return out_of_memory("out of host memory: cannot allocate ", bytes, " bytes");
  } else {
    Device& device = *domain.device;
    tenon_error error = make_error();
    const tenon_status status = device.api().allocate(device.handle(), domain.local_id, bytes, stream,
                                                      &out.handle_, &out.address_, &error);
    if (status != TENON_OK) {
      return device.status(status, error)
          .with_context(str_cat("allocating ", bytes, " bytes of '", domain.name, "'"));
    }
    out.device_ = device.shared_from_this();
    if (!domain.addressable) out.address_ = nullptr;
    if (domain.addressable && reinterpret_cast<uintptr_t>(out.address_) % domain.alignment != 0) {
      out.domain_ = &domain;  // needed to free it
      return Status(StatusCode::kInternal,
                    "R18: allocate returned an address that is not aligned for its domain",
                    ErrorKind::kInternal)
          .with_context(device.provider()->label());
    }
  }
  out.domain_ = &domain;
  out.bytes_ = bytes;
  return out;
}

void Buffer::place(tenon_tensor* tensor, uint64_t byte_offset) const {
  tensor->domain = domain_ == nullptr ? TENON_DOMAIN_HOST : domain_->local_id;
  tensor->buffer = handle_;
  tensor->byte_offset = handle_ == nullptr ? 0 : byte_offset;
  tensor->data = address_ == nullptr ? nullptr : address() + byte_offset;
}

tenon_location Buffer::location(uint64_t byte_offset) const {
  if (handle_ != nullptr) return {domain_->local_id, 0, handle_, nullptr, byte_offset};
  return {TENON_DOMAIN_HOST, 0, nullptr, address_ == nullptr ? nullptr : address() + byte_offset, 0};
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
    : device_(std::move(device)), id_(str_cat(device_->provider()->id(), "/", device_->info().selector())) {
  for (const provider::DomainInfo& info : device_->domains()) {
    auto domain = std::make_unique<MemoryDomain>();
    domain->number = ++g_last_domain;
    domain->local_id = info.id;
    domain->device = this;
    domain->alignment = info.alignment;
    domain->max_buffer_bytes = info.max_buffer_bytes;
    domain->host_visible = (info.flags & TENON_DOMAIN_HOST_VISIBLE) != 0;
    domain->addressable = (info.flags & TENON_DOMAIN_ADDRESSABLE) != 0;
    domain->name = str_cat(id_, " ", info.name);
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
  RETURN_IF_ERROR(check_domains(*opened));
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

Status Device::copy(const tenon_location& destination, const tenon_location& source, uint64_t bytes,
                    tenon_stream* stream) {
  if (bytes == 0) return ok_status();
  tenon_error error = make_error();
  const tenon_status status = api().copy(handle(), &destination, &source, bytes, stream, &error);
  return status == TENON_OK ? ok_status() : this->status(status, error);
}

Result<void*> Device::map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes) {
  void* address = nullptr;
  tenon_error error = make_error();
  const tenon_status status = api().map(handle(), buffer, byte_offset, bytes, &address, &error);
  if (status != TENON_OK) return this->status(status, error);
  return address;
}

Status Device::status(tenon_status code, const tenon_error& error) const {
  return blame(take_status(code, error, provider()->label()));
}

Status Device::blame(Status status) const {
  if (status.kind() == ErrorKind::kDeviceLost) device_->mark_lost();
  return std::move(status).with_instance(id_);
}

}  // namespace tenon::runtime
