// Checks of devices and their domains.
#include <algorithm>
#include <numeric>
#include <set>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/buffer.h"
#include "ep-sdk/cts/process_state.h"

namespace tenon::cts {

TENON_CHECK(
    "R15",
    "each device is named once, with a uuid and a PCI address where it says so, and the devices are always "
    "the same in the same order") {
  const Bench bench(target, Bench::Open::kProvider);
  const std::vector<DeviceInfo> first = bench.subject->enumerate();
  std::set<std::string> ids;
  for (const DeviceInfo& device : first) {
    if (device.stable_id.empty())
      throw Failed("a device has no stable id", "name it by uuid, PCI address or index");
    if (device.name.empty())
      throw Failed("device '" + device.stable_id + "' has no name",
                   "give it a name that a person understands");
    if (!ids.insert(device.stable_id).second)
      throw Failed("the device '" + device.stable_id + "' is named twice",
                   "give each device an id of its own");
    const auto is_zero = [](const auto& numbers) {
      return std::all_of(numbers.begin(), numbers.end(), [](auto n) { return n == 0; });
    };
    const char* identity = "set the flag where the driver tells the identity, and fill the fields then";
    if ((device.flags & TENON_DEVICE_HAS_UUID) != 0 && is_zero(device.uuid))
      throw Failed("device '" + device.stable_id + "' says that it has a uuid, which is zero", identity);
    if ((device.flags & TENON_DEVICE_HAS_PCI) != 0 && is_zero(device.pci))
      throw Failed("device '" + device.stable_id + "' says that it has a PCI address, which is zero",
                   identity);
  }
  const char* cure = "derive ids and order from the machine, not from the run";
  if (bench.subject->enumerate() != first) throw Failed("a second enumeration differs from the first", cure);
  bench.subject->destroy_provider();
  bench.subject->create_provider(TENON_NEGOTIATE_SCAN);
  if (bench.subject->enumerate() != first)
    throw Failed("a provider made for the scan finds other devices", cure);
}

TENON_CHECK("R16", "a device is opened by its stable id alone, any number of times") {
  const Bench bench(target, Bench::Open::kProvider);
  Subject& subject = *bench.subject;
  for (const char* id : {"", "no-such-device", "0x", "\xff\xfe"}) {
    bool known = false;
    for (const DeviceInfo& device : subject.enumerate()) known = known || device.stable_id == id;
    tenon_device* device = nullptr;
    const CallResult result = subject.try_open(id, &device);
    if (result.ok() && device != nullptr) subject.api.device_close(device);
    if (result.ok() && !known)
      throw Failed(
          "device_open opens the device '" + std::string(id) + "', which enumerate_devices does not name",
          "open the device of that stable id or fail with NOT_FOUND");
  }
  // A driver may keep something after the first time. Growth with each cycle is a leak.
  const auto cycle = [&] {
    subject.open_device();
    subject.close_device();
  };
  cycle();
  cycle();
  const size_t files = open_files().size(), threads = count_threads();
  for (int i = 0; i < 10; ++i) cycle();
  if (open_files().size() > files + 1 || count_threads() > threads + 1)
    throw Failed("ten openings and closings leave " + std::to_string(open_files().size() - files) +
                     " descriptors and " +
                     std::to_string(static_cast<long>(count_threads()) - static_cast<long>(threads)) +
                     " threads",
                 "give back in device_close what device_open took");
}

TENON_CHECK(
    "R17",
    "each memory domain has its own id, 1 or more, and an alignment that is a power of two; at most one is "
    "for staging, with an address for the host") {
  const Bench bench(target, Bench::Open::kDevice);
  std::set<uint32_t> ids;
  int stagings = 0;
  for (const Domain& domain : bench.subject->domains) {
    const std::string name = "domain '" + domain.name + "'";
    if (domain.id == 0) throw Failed(name + " has the id 0, which is the host's", "use ids from 1");
    if (!ids.insert(domain.id).second)
      throw Failed("two domains have the id " + std::to_string(domain.id), "give each domain its own id");
    if (domain.alignment == 0 || (domain.alignment & (domain.alignment - 1)) != 0)
      throw Failed(name + " has the alignment " + std::to_string(domain.alignment), "give a power of two");
    if (domain.name.empty())
      throw Failed("domain " + std::to_string(domain.id) + " has no name",
                   "give it a name that a person understands");
    if (domain.is_mappable() && bench.api().map == nullptr)
      throw Failed(name + " is mappable, and there is no map function",
                   "fill map and unmap, or leave the flag out");
    if (domain.is_staging() && !domain.has_host_address())
      throw Failed(name + " is for staging and has no address for the host",
                   "set TENON_DOMAIN_HOST_ADDRESS with TENON_DOMAIN_STAGING, or neither");
    stagings += domain.is_staging() ? 1 : 0;
  }
  if (stagings > 1)
    throw Failed(std::to_string(stagings) + " domains are for staging",
                 "set TENON_DOMAIN_STAGING for the fastest host end of copies alone");
  const std::vector<Domain> again = bench.subject->read_domains();
  if (again.size() != ids.size())
    throw Failed("a second call of device_domains gives other domains", "answer the same each time");
  require_domains(*bench.subject);
}

}  // namespace tenon::cts
