#include "host/provider/scan_read.h"

#include "host/base/text.h"
#include "host/config/read.h"

namespace tenon::provider {
namespace {

using config::Table;
using config::Value;

const Value* find(const Table& table, std::string_view name) {
  for (const auto& member : table) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

std::string text_of(const Table& table, std::string_view name) {
  const Value* value = find(table, name);
  return value && value->as_string() ? *value->as_string() : std::string();
}

uint64_t number_of(const Table& table, std::string_view name) {
  const Value* value = find(table, name);
  return value && value->as_int() && *value->as_int() >= 0 ? static_cast<uint64_t>(*value->as_int()) : 0;
}

bool flag_of(const Table& table, std::string_view name) {
  const Value* value = find(table, name);
  return value && value->as_bool() && *value->as_bool();
}

DeviceInfo read_device(const Table& table) {
  DeviceInfo device;
  device.kind = static_cast<uint32_t>(number_of(table, "kind"));
  device.ordinal = static_cast<uint32_t>(number_of(table, "ordinal"));
  device.serialize = static_cast<uint32_t>(number_of(table, "serialize"));
  device.software_emulated = flag_of(table, "software_emulated");
  device.stable_id = text_of(table, "stable_id");
  device.name = text_of(table, "name");
  device.vendor = text_of(table, "vendor");
  device.memory_bytes = number_of(table, "memory_bytes");
  device.uuid = text_of(table, "uuid");
  device.pci = text_of(table, "pci");
  device.driver_version = text_of(table, "driver_version");
  const Value* features = find(table, "features");
  if (features && features->as_array()) {
    for (const Value& feature : *features->as_array()) {
      if (feature.as_string()) device.features.push_back(*feature.as_string());
    }
  }
  return device;
}

}  // namespace

std::optional<ScanVerdict> read_verdict(std::string_view json) {
  Result<Value> root = config::read_json(json, "verdict");
  if (!root) return std::nullopt;
  const Table& table = *root->as_table();
  if (number_of(table, "form") != kVerdictForm) return std::nullopt;
  const Value* refusal = find(table, "refusal");
  const Value* devices = find(table, "devices");
  if (!refusal || !refusal->as_string() || !devices || !devices->as_array()) return std::nullopt;
  ScanVerdict verdict;
  verdict.refusal = refusal_from_name(*refusal->as_string());
  if (verdict.refusal == Refusal::kNone && !refusal->as_string()->empty()) return std::nullopt;
  verdict.reason = text_of(table, "reason");
  verdict.out_of_memory = flag_of(table, "out_of_memory");
  verdict.build_id = text_of(table, "build_id");
  for (const Value& device : *devices->as_array()) {
    if (!device.as_table()) return std::nullopt;
    verdict.devices.push_back(read_device(*device.as_table()));
  }
  return verdict;
}

ScanTranscript read_transcript(std::string_view text) {
  constexpr std::string_view kAt = "at ", kVerdict = "verdict ";
  ScanTranscript transcript;
  for (const std::string& line : split(text, '\n')) {
    std::string_view view = line;
    if (view.substr(0, kAt.size()) == kAt) transcript.activity = view.substr(kAt.size());
    if (view.substr(0, kVerdict.size()) == kVerdict)
      transcript.verdict = read_verdict(view.substr(kVerdict.size()));
  }
  return transcript;
}

}  // namespace tenon::provider
