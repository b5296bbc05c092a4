#include "host/provider/scan_wire.h"

#include "host/provider/negotiate.h"

namespace tenon::provider {
namespace {

// bounded_text returns valid UTF-8 without control characters, so only two characters need an escape.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (char c : bounded_text(text.data(), text.size())) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out += '"';
}

std::string device_json(const DeviceInfo& device) {
  std::string features;
  for (const std::string& feature : device.features)
    features += (features.empty() ? "" : ",") + json_text(feature);
  return str_cat(
      "{\"kind\":", device.kind, ",\"ordinal\":", device.ordinal, ",\"serialize\":", device.serialize,
      ",\"software_emulated\":", device.software_emulated ? "true" : "false",
      ",\"stable_id\":", json_text(device.stable_id), ",\"name\":", json_text(device.name),
      ",\"vendor\":", json_text(device.vendor), ",\"memory_bytes\":", device.memory_bytes & INT64_MAX,
      ",\"uuid\":", json_text(device.uuid), ",\"pci\":", json_text(device.pci),
      ",\"driver_version\":", json_text(device.driver_version), ",\"features\":[", features, "]}");
}

}  // namespace

std::string write_verdict(const ScanVerdict& verdict) {
  std::string devices;
  for (const DeviceInfo& device : verdict.devices)
    devices += (devices.empty() ? "" : ",") + device_json(device);
  return str_cat("{\"form\":", kVerdictForm, ",\"refusal\":", json_text(refusal_name(verdict.refusal)),
                 ",\"reason\":", json_text(verdict.reason),
                 ",\"out_of_memory\":", verdict.out_of_memory ? "true" : "false",
                 ",\"build_id\":", json_text(verdict.build_id), ",\"devices\":[", devices, "]}");
}

}  // namespace tenon::provider
