#include "host/provider/device_list.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "host/provider/negotiate.h"

namespace tenon::provider {
namespace {

std::string copy(tenon_str text) {
  return text.data == nullptr ? std::string() : bounded_text(text.data, std::min<uint64_t>(text.size, 1024));
}

// A copy of the part that the provider filled. The rest is zero.
tenon_device_info extended(const tenon_device_info& given) {
  tenon_device_info info{};
  std::memcpy(&info, &given, std::min<size_t>(given.struct_size, sizeof info));
  return info;
}

void say(tenon_error* error, const char* text) noexcept {
  if (error == nullptr || error->struct_size < offsetof(tenon_error, message) + sizeof error->message) return;
  std::strncpy(error->message, text, sizeof error->message - 1);
  error->message[sizeof error->message - 1] = '\0';
}

/// "8d2e4b1c-0011-2233-4455-66778899aabb".
std::string uuid_text(const uint8_t (&uuid)[16]) {
  std::string out;
  for (size_t i = 0; i < sizeof uuid; ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += kDigits[uuid[i] >> 4];
    out += kDigits[uuid[i] & 15];
  }
  return out;
}

/// "0000:01:00.0", as Linux and lspci write it.
std::string pci_text(const tenon_device_info& info) {
  char out[48];
  std::snprintf(out, sizeof out, "%04x:%02x:%02x.%x", info.pci_domain, info.pci_bus, info.pci_device,
                info.pci_function);
  return out;
}

void add(const tenon_device_info& given, std::vector<DeviceInfo>& devices) {
  tenon_device_info info = extended(given);
  DeviceInfo device;
  device.kind = info.kind;
  device.serialize = info.serialize;
  device.software_emulated = (info.flags & TENON_DEVICE_SOFTWARE_EMULATED) != 0;
  device.stable_id = copy(info.stable_id);
  device.name = copy(info.name);
  device.vendor = copy(info.vendor);
  device.memory_bytes = info.memory_bytes;
  if ((info.flags & TENON_DEVICE_HAS_UUID) != 0) device.uuid = uuid_text(info.uuid);
  if ((info.flags & TENON_DEVICE_HAS_PCI) != 0) device.pci = pci_text(info);
  device.driver_version = copy(info.driver_version);
  for (uint32_t i = 0; info.features != nullptr && i < std::min(info.feature_count, 256u); ++i) {
    device.features.push_back(copy(info.features[i]));
  }
  auto same_kind = [&](const DeviceInfo& other) {
    return device_kind_name(other.kind) == device_kind_name(device.kind);
  };
  device.ordinal = static_cast<uint32_t>(std::count_if(devices.begin(), devices.end(), same_kind));
  devices.push_back(std::move(device));
}

tenon_status add_device(void* context, const tenon_device_info* given, tenon_error* error) noexcept {
  if (given == nullptr || given->struct_size < sizeof(uint32_t)) return TENON_INVALID_ARGUMENT;
  auto& devices = *static_cast<std::vector<DeviceInfo>*>(context);
  if (devices.size() >= kMaxDevices) {
    say(error, "more devices than a provider may have");
    return TENON_OUT_OF_RANGE;
  }
  try {
    add(*given, devices);
    return TENON_OK;
  } catch (const std::bad_alloc&) {
    say(error, "no memory for the description of a device");
    return TENON_RESOURCE_EXHAUSTED;
  }
}

}  // namespace

std::string_view device_kind_name(uint32_t kind) {
  if (kind == TENON_DEVICE_CPU) return "cpu";
  if (kind == TENON_DEVICE_GPU) return "gpu";
  if (kind == TENON_DEVICE_NPU) return "npu";
  return "other";
}

std::string DeviceInfo::selector() const { return str_cat(device_kind_name(kind), ":", ordinal); }

bool DeviceInfo::is_same_hardware(const DeviceInfo& other) const {
  return (!uuid.empty() && uuid == other.uuid) || (!pci.empty() && pci == other.pci);
}

tenon_status list_devices(const tenon_ep_api& api, tenon_provider* provider,
                          std::vector<DeviceInfo>& out_devices, tenon_error& out_error) {
  tenon_device_sink sink{};
  sink.struct_size = sizeof sink;
  sink.context = &out_devices;
  sink.add = add_device;
  try {
    return api.enumerate_devices(provider, &sink, &out_error);
  } catch (const std::bad_alloc&) {
    say(&out_error, "no memory for enumerating devices");
    return TENON_RESOURCE_EXHAUSTED;
  } catch (const std::exception& exception) {
    std::string text = str_cat("a C++ exception crossed the border: ", exception.what());
    say(&out_error, text.c_str());
  } catch (...) {
    say(&out_error, "an exception crossed the border");
  }
  return TENON_INTERNAL;
}

}  // namespace tenon::provider
