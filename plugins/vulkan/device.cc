#include "device.h"

#include <algorithm>
#include <cstring>

#include "stream.h"
#include "tenon/ep/dispatch.hpp"

namespace tenon::vulkan {
namespace {

constexpr int64_t kStepsOfLlvmpipe = 65535;
constexpr uint64_t kNothingBytes = 256;
constexpr uint64_t kLeastAlignment = 64;  // of tensors: a line of a processor's cache

VkPhysicalDeviceMemoryProperties memory_of(VkPhysicalDevice device) {
  VkPhysicalDeviceMemoryProperties out{};
  vkGetPhysicalDeviceMemoryProperties(device, &out);
  return out;
}

/// The first type with all of `flags`, which a driver lists in the order of speed.
std::optional<uint32_t> find_type(const VkPhysicalDeviceMemoryProperties& memory,
                                  VkMemoryPropertyFlags flags) {
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if ((memory.memoryTypes[i].propertyFlags & flags) == flags) return i;
  }
  return std::nullopt;
}

constexpr VkMemoryPropertyFlags kFast = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kSeen =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

}  // namespace

const Api& Provider::api() {
  const std::lock_guard lock(mutex_);
  if (!api_) api_.emplace();
  return *api_;
}

void Provider::devices(const ep::DeviceSink& sink) {
  for (const DeviceDescription& device : list_devices(api())) {
    std::vector<tenon_str> features;
    for (const std::string& feature : device.features) features.push_back(ep::to_str(feature));
    sink.add({.kind = device.kind,
              .stable_id = device.stable_id,
              .name = device.name,
              .vendor = device.vendor,
              .memory_bytes = device.memory_bytes,
              .flags = device.is_software ? static_cast<uint32_t>(TENON_DEVICE_SOFTWARE_EMULATED) : 0u,
              .serialize = TENON_SERIALIZE_BINDING,
              .features = features,
              .driver_version = device.driver_version,
              .pci = device.pci,
              .uuid = device.uuid});
  }
}

Device::Device(Provider& provider, std::string_view stable_id)
    : Device(provider, find_device(provider.api(), stable_id)) {}

Device::Device(Provider&, const DeviceDescription& description) : description_(description) {
  read_limits();
  try {
    make_device();
    const VkPhysicalDeviceMemoryProperties memory = memory_of(description_.device);
    const std::optional<uint32_t> unified = find_type(memory, kFast | kSeen);
    const std::optional<uint32_t> cached = find_type(memory, kSeen | kCached),
                                  seen = find_type(memory, kSeen);
    ep::require(seen.has_value(), TENON_INTERNAL, "the driver has no memory that the host sees");
    const uint32_t fast = limits_.unified_memory ? *unified : find_type(memory, kFast).value_or(*seen);
    const bool maps = (memory.memoryTypes[fast].propertyFlags & kSeen) == kSeen;
    device_memory_.emplace(device_, fast, maps, limits_.alignment, limits_.max_allocation);
    staging_memory_.emplace(device_, limits_.unified_memory ? fast : cached.value_or(*seen), true,
                            limits_.alignment, limits_.max_allocation);
    nothing_ = OwnedPiece(*device_memory_, kNothingBytes);
    descriptors_ = std::make_unique<Descriptors>(device_);
    pipelines_ = std::make_unique<Pipelines>(device_, *descriptors_, "pipelines/" + build_key_);
    variants_ = std::make_unique<Variants>("variants/" + build_key_);
  } catch (...) {
    if (device_ != VK_NULL_HANDLE) vkDestroyDevice(device_, nullptr);
    throw;
  }
}

Device::~Device() {
  own_stream_.reset();
  pipelines_.reset();
  descriptors_.reset();
  nothing_ = {};
  staging_memory_.reset();
  device_memory_.reset();
  if (!is_forked()) vkDestroyDevice(device_, nullptr);
}

void Device::read_limits() {
  const VkPhysicalDevice device = description_.device;
  auto subgroup =
      make_struct<VkPhysicalDeviceSubgroupProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  auto maintenance = make_struct<VkPhysicalDeviceMaintenance3Properties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  auto driver =
      make_struct<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  maintenance.pNext = &subgroup;
  subgroup.pNext = &driver;
  auto properties = make_struct<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  properties.pNext = &maintenance;
  vkGetPhysicalDeviceProperties2(device, &properties);
  const VkPhysicalDeviceLimits& given = properties.properties.limits;
  if (driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE) limits_.max_steps = kStepsOfLlvmpipe;
  VkPhysicalDeviceFeatures features{};
  vkGetPhysicalDeviceFeatures(device, &features);
  limits_.is_software = description_.is_software;
  limits_.unified_memory = (description_.is_software ||
                            properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU) &&
                           find_type(memory_of(device), kFast | kSeen | kCached).has_value();
  limits_.int64 = features.shaderInt64 != VK_FALSE;
  limits_.float64 = features.shaderFloat64 != VK_FALSE;
  limits_.max_shared_bytes = given.maxComputeSharedMemorySize;
  limits_.max_group = std::min(given.maxComputeWorkGroupInvocations, given.maxComputeWorkGroupSize[0]);
  std::copy(std::begin(given.maxComputeWorkGroupCount), std::end(given.maxComputeWorkGroupCount),
            limits_.max_groups);
  limits_.subgroup = subgroup.subgroupSize;
  limits_.subgroup_arithmetic = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                                (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
  limits_.binding_alignment =
      std::max({given.minStorageBufferOffsetAlignment, given.minUniformBufferOffsetAlignment,
                given.minTexelBufferOffsetAlignment, VkDeviceSize{16}});
  limits_.alignment =
      std::max({limits_.binding_alignment, uint64_t{given.nonCoherentAtomSize}, kLeastAlignment});
  limits_.max_range = given.maxStorageBufferRange;
  limits_.max_texels = given.maxTexelBufferElements;
  limits_.max_allocation = maintenance.maxMemoryAllocationSize;
  family_ = *compute_family(device);
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  const uint32_t bits = families[family_].timestampValidBits;
  limits_.timestamp_ns = bits == 0 ? 0 : static_cast<double>(given.timestampPeriod);
  limits_.timestamp_mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  build_key_ = ep::cat(ep::hex(properties.properties.pipelineCacheUUID), "/", description_.name, "/",
                       description_.driver_version);
  tells_budget_ = has_extension(device, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
}

void Device::make_device() {
  const float priority = 1;
  auto queue = make_struct<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto newer =
      make_struct<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  newer.timelineSemaphore = VK_TRUE;
  newer.uniformBufferStandardLayout = VK_TRUE;
  auto features = make_struct<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.pNext = &newer;
  features.features.shaderInt64 = limits_.int64 ? VK_TRUE : VK_FALSE;
  features.features.shaderFloat64 = limits_.float64 ? VK_TRUE : VK_FALSE;
  auto create = make_struct<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  create.pNext = &features;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  const char* const budget = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
  create.enabledExtensionCount = tells_budget_ ? 1 : 0;
  create.ppEnabledExtensionNames = &budget;
  check(vkCreateDevice(description_.device, &create, nullptr, &device_), "vkCreateDevice");
  vkGetDeviceQueue(device_, family_, 0, &queue_);
}

BufferRange Device::nothing() const {
  return {nothing_.get().buffer(), nothing_.get().offset, kNothingBytes};
}

void Device::submit(std::span<const VkSubmitInfo> work, VkFence fence) {
  while (queue_is_busy_.exchange(true, std::memory_order_acquire))
    queue_is_busy_.wait(true, std::memory_order_relaxed);
  const VkResult code = vkQueueSubmit(queue_, static_cast<uint32_t>(work.size()), work.data(), fence);
  queue_is_busy_.store(false, std::memory_order_release);
  queue_is_busy_.notify_one();
  check(code, "vkQueueSubmit");
}

void Device::do_now(const std::function<void(Stream&)>& enqueue) {
  const std::lock_guard lock(own_stream_mutex_);
  if (own_stream_ == nullptr) own_stream_ = std::make_unique<Stream>(*this, false);
  enqueue(*own_stream_);
  const uint64_t end = own_stream_->point();
  own_stream_->flush();
  try {
    own_stream_->wait_point(end, -1);
  } catch (ep::Error& error) {
    error.flags &= ~static_cast<uint32_t>(TENON_ERROR_ASYNC);
    throw;
  }
}

void Device::domains(const ep::DomainSink& sink) const {
  sink.add({.id = kDeviceDomain,
            .flags = device_memory_->maps() ? static_cast<uint32_t>(TENON_DOMAIN_MAPPABLE) : 0u,
            .alignment = static_cast<uint32_t>(limits_.alignment),
            .max_buffer_bytes = limits_.max_allocation,
            .name = "device memory"});
  sink.add({.id = kStagingDomain,
            .flags = TENON_DOMAIN_HOST_ADDRESS | TENON_DOMAIN_STAGING,
            .alignment = static_cast<uint32_t>(limits_.alignment),
            .max_buffer_bytes = limits_.max_allocation,
            .name = limits_.unified_memory ? "shared memory" : "staging memory"});
}

tenon_memory_info Device::memory() const {
  tenon_memory_info out{};
  if (!tells_budget_) return out;  // unknown
  auto budget = make_struct<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
  auto memory =
      make_struct<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
  memory.pNext = &budget;
  vkGetPhysicalDeviceMemoryProperties2(description_.device, &memory);
  for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    if ((memory.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0) continue;
    out.total_bytes += memory.memoryProperties.memoryHeaps[i].size;
    out.free_bytes += budget.heapBudget[i] - std::min(budget.heapBudget[i], budget.heapUsage[i]);
  }
  return out;
}

void Device::trim() {
  device_memory_->trim();
  staging_memory_->trim();
}

ep::Allocation Device::allocate(uint32_t domain, uint64_t bytes, const Stream*) {
  ep::require(domain == kStagingDomain || domain == kDeviceDomain, TENON_INVALID_ARGUMENT,
              "there is no memory domain ", domain);
  auto out = std::make_unique<Buffer>();
  out->piece = OwnedPiece(domain == kStagingDomain ? *staging_memory_ : *device_memory_, bytes);
  void* const address = domain == kStagingDomain ? out->piece.get().address() : nullptr;
  return {.buffer = to_border(out.release()), .address = address};
}

void Device::free(tenon_buffer* buffer, Stream* stream) const {
  const std::unique_ptr<Buffer> last(from_border(buffer));
  if (stream != nullptr && !is_forked()) stream->keep(std::move(last->piece));
}

namespace {

Place place_of(const Device& device, const tenon_location& location) {
  if (location.domain == TENON_DOMAIN_HOST) return {.address = static_cast<char*>(location.data)};
  ep::require(location.device == nullptr || reinterpret_cast<const Device*>(location.device) == &device,
              TENON_UNIMPLEMENTED, "there is no copy between two Vulkan devices");
  const Piece& piece = from_border(location.buffer)->piece.get();
  char* const address = piece.address();
  return {piece.buffer(), piece.offset + location.byte_offset,
          address == nullptr ? nullptr : address + location.byte_offset};
}

}  // namespace

void Device::copy(const tenon_location& destination, const tenon_location& source, uint64_t bytes,
                  Stream* stream, uint64_t work_id) {
  if (bytes == 0) return;
  const Transfer transfer{place_of(*this, destination), place_of(*this, source), bytes};
  if (stream != nullptr) return stream->copy(transfer, work_id);
  if (transfer.to.address != nullptr && transfer.from.address != nullptr) {
    std::memmove(transfer.to.address, transfer.from.address, bytes);
    return;
  }
  do_now([&](Stream& own) { own.copy(transfer, 0); });
}

void* Device::map(tenon_buffer* buffer, uint64_t byte_offset, uint64_t, uint32_t flags) const {
  ep::require(flags != 0 && !((flags & TENON_MAP_READ) != 0 && (flags & TENON_MAP_DISCARD) != 0),
              TENON_INVALID_ARGUMENT, "map has the flags ", flags,
              "; pass READ, WRITE or both, or DISCARD without READ");
  char* const address = from_border(buffer)->piece.get().address();
  ep::require(address != nullptr, TENON_FAILED_PRECONDITION, "the host does not see this memory");
  return address + byte_offset;
}

void Device::unmap(tenon_buffer*, void*) const {}  // memory stays mapped

Instance::Instance(Device& opened, const tenon_instance_params& params)
    : ep::InstanceSettings(params), device(opened), in_host_memory(opened.limits().unified_memory) {
  float16 = options.text("float16", "on") == "on";
  const std::string memory = options.text("memory", "auto");
  if (memory == "device") in_host_memory = false;
  if (memory == "shared") {
    ep::require(opened.limits().unified_memory, TENON_INVALID_ARGUMENT,
                "memory = \"shared\" needs a device that shares the host's memory; leave it at \"auto\"");
  }
  form = forced_form(options.text("variants", "auto"), opened.limits().subgroup_arithmetic);
  device.pipelines().load(*this);
  if (measures()) device.variants().load(*this);
}

Instance::~Instance() {
  if (is_forked()) return;
  try {
    device.pipelines().save(*this);
    if (measures()) device.variants().save(*this);
  } catch (...) {  // then the next process compiles again
  }
}

std::string Instance::unfit(const ep::ValueView& value) const {
  if (!value.present()) return {};
  if (value.kind() != TENON_KIND_TENSOR) return ep::cat("'", value.name(), "' is not a tensor");
  constexpr auto kStored = ep::TypeList<float>() + ep::kIntTypes + ep::kBoolType;
  if (value.dtype() == TENON_FLOAT16 ? !float16 : !kStored.contains(value.dtype()))
    return ep::cat("'", value.name(), "' has element type ", ep::dtype_name(value.dtype()),
                   ", which this provider does not support");
  if (!value.has_rank()) return {};
  uint64_t bytes = ep::dtype_bits(value.dtype()) / 8;
  for (int d = 0; d < value.rank(); ++d) {
    if (value.dim(d) < 0) return {};  // not known
    bytes *= static_cast<uint64_t>(std::min<int64_t>(value.dim(d), int64_t{1} << 31));
    if (bytes > device.limits().max_range)
      return ep::cat("'", value.name(), "' has more than ", device.limits().max_range,
                     " bytes, the most that a kernel of this device sees");
  }
  return {};
}

}  // namespace tenon::vulkan
