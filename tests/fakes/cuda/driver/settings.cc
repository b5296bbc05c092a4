#include "settings.h"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tests/fakes/cuda/device/protocol.h"

namespace fake_cuda {
namespace {

class Reader {
 public:
  explicit Reader(Settings* out) : out_(out) {}

  std::optional<std::string> text(const char* name) {
    const char* value = std::getenv((std::string("TENON_FAKE_CUDA_") + name).c_str());
    return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
  }
  std::optional<uint64_t> number(const char* name) {
    const auto value = text(name);
    if (!value) return std::nullopt;
    uint64_t out = 0;
    const auto [end, code] = std::from_chars(value->data(), value->data() + value->size(), out);
    if (code == std::errc() && end == value->data() + value->size()) return out;
    refuse(name, *value, "is no whole number");
    return std::nullopt;
  }
  void flag(const char* name, bool* out) {
    const auto value = text(name);
    if (!value) return;
    if (*value != "0" && *value != "1") refuse(name, *value, "is neither 0 nor 1");
    *out = *value == "1";
  }
  void refuse(const char* name, const std::string& value, const char* why) {
    out_->error = std::string("TENON_FAKE_CUDA_") + name + "=" + value + " " + why;
  }

 private:
  Settings* out_;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// "9.0" is 90. Returns 0 for what is none.
int capability_of(const std::string& text) {
  const size_t dot = text.find('.');
  if (dot == std::string::npos || dot == 0 || dot + 2 != text.size()) return 0;
  int out = 0;
  for (const char digit : text.substr(0, dot) + text.back()) {
    if (digit < '0' || digit > '9') return 0;
    out = out * 10 + (digit - '0');
  }
  return out;
}

/// %p becomes the number of the process.
std::string path_of(std::string text) {
  const size_t at = text.find("%p");
  if (at != std::string::npos) text.replace(at, 2, std::to_string(getpid()));
  return text;
}

}  // namespace

Settings settings_of_environment() {
  Settings out;
  Reader read(&out);
  if (const auto count = read.number("DEVICES")) {
    out.devices = static_cast<uint32_t>(std::min<uint64_t>(*count, kMaxDevices));
    if (*count > kMaxDevices) read.refuse("DEVICES", std::to_string(*count), "is more than 8");
  }
  if (const auto text = read.text("CC")) {
    out.capabilities.clear();
    for (const std::string& one : split(*text)) {
      out.capabilities.push_back(capability_of(one));
      if (out.capabilities.back() == 0) read.refuse("CC", *text, "is no compute capability such as 9.0");
    }
    if (out.capabilities.empty()) out.capabilities = {90};
  }
  if (const auto version = read.number("DRIVER")) out.driver_version = static_cast<int>(*version);
  if (const auto size = read.number("MEMORY")) out.memory = *size << 20;
  read.flag("PEER", &out.peer);
  read.flag("POOLS", &out.pools);
  read.flag("RACES", &out.races);
  read.flag("STRICT", &out.strict);
  if (const auto text = read.text("TIMEOUT")) {
    char* end = nullptr;
    const double seconds = std::strtod(text->c_str(), &end);
    if (*end != '\0' || !(seconds > 0)) read.refuse("TIMEOUT", *text, "is no number of seconds");
    out.timeout_us = static_cast<uint64_t>(std::llround(seconds * 1e6));
  }
  out.log = path_of(read.text("LOG").value_or(""));
  out.counts = path_of(read.text("COUNTS").value_or(""));
  out.cache = read.text("CACHE").value_or(FAKE_CUDA_CACHE);
  out.oom_after = read.number("OOM_AFTER");
  out.fail_launch = read.number("FAIL_LAUNCH");
  out.lost_after = read.number("LOST_AFTER");
  for (const std::string& name : split(read.text("BLANK").value_or(""))) out.blank.insert(name);
  if (const auto delay = read.number("DELAY_US")) out.delay_us = static_cast<uint32_t>(*delay);
  return out;
}

}  // namespace fake_cuda
