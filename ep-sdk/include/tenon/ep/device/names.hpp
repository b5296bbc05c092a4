// Names of devices that stay the same from one process to the next.
#ifndef TENON_EP_DEVICE_NAMES_HPP_
#define TENON_EP_DEVICE_NAMES_HPP_

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "tenon/ep/sinks.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// Two lower-case hexadecimal digits per byte.
inline std::string hex(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

/// Keeps letters (in lower case) and digits, and replaces each run of other characters with one dash. `otherwise`: for
/// a name without any.
inline std::string slug(std::string_view name, std::string_view otherwise) {
  std::string out;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? std::string(otherwise) : out;
}

/// "pci-0-1-0-0" if the address is known, else "uuid-..." if the uuid is, else the driver's name and the position of
/// the device among those of the driver.
inline std::string stable_id(const std::optional<PciAddress>& pci,
                             const std::optional<std::array<uint8_t, 16>>& uuid, std::string_view driver,
                             size_t position) {
  if (pci) return cat("pci-", pci->domain, "-", pci->bus, "-", pci->device, "-", pci->function);
  if (uuid) return "uuid-" + hex(*uuid);
  return cat(driver, "-", position);
}

/// Makes the ids different, should two drivers share a name or a driver report one uuid twice. `id_of(device)`: the id of
/// an element of `devices`, by reference.
template <class Devices, class IdOf>
void make_unique_ids(Devices& devices, IdOf id_of) {
  std::vector<std::string> given;
  for (auto& device : devices) {
    std::string& id = id_of(device);
    given.push_back(id);
    const auto same = std::count(given.begin(), given.end(), id) - 1;
    if (same > 0) id += cat("-", same);
  }
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_NAMES_HPP_
