// Checks of devices and their memory.
#include <algorithm>
#include <numeric>
#include <set>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/process_state.h"

namespace tenon::cts {
namespace {

/// A buffer of a domain, without margins.
class Buffer {
 public:
  Buffer(const Subject& subject, const Domain& domain, uint64_t bytes) : subject_(subject), domain_(domain) {
    call("allocate", subject.api.allocate, subject.device, domain.id, bytes,
         static_cast<tenon_stream*>(nullptr), &handle, &address);
  }
  ~Buffer() {
    if (handle != nullptr) subject_.api.free(subject_.device, handle, nullptr);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  tenon_location at(uint64_t offset) const { return {domain_.id, 0, handle, nullptr, offset}; }

  tenon_buffer* handle = nullptr;
  void* address = nullptr;

 private:
  const Subject& subject_;
  const Domain& domain_;
};

void require_domains(const Subject& subject) {
  if (subject.domains.empty()) throw NotApplicable("the device has no memory domain of its own");
}

tenon_location host_at(void* address) { return {TENON_DOMAIN_HOST, 0, nullptr, address, 0}; }

std::vector<uint8_t> counted(size_t bytes) {
  std::vector<uint8_t> out(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<uint8_t>(i * 37 + 11);
  return out;
}

constexpr uint64_t kRoom = 8192;

/// Copies host -> buffer -> host at these offsets. Bytes around must not change.
void check_copy(const Subject& subject, const Domain& domain, uint64_t bytes, uint64_t host_offset,
                uint64_t offset) {
  const std::string what = std::to_string(bytes) + " bytes, host offset " + std::to_string(host_offset) +
                           ", buffer offset " + std::to_string(offset);
  Buffer buffer(subject, domain, kRoom);
  std::vector<uint8_t> zeros(kRoom, 0x11), back(kRoom, 0x22);
  copy_bytes(subject, buffer.at(0), host_at(zeros.data()), kRoom);
  std::vector<uint8_t> source = counted(kRoom);
  copy_bytes(subject, buffer.at(offset), host_at(source.data() + host_offset), bytes);
  copy_bytes(subject, host_at(back.data()), buffer.at(0), kRoom);
  std::vector<uint8_t> expected = zeros;
  std::copy_n(source.begin() + static_cast<long>(host_offset), bytes,
              expected.begin() + static_cast<long>(offset));
  const char* cure = "copy exactly the given bytes, to and from host memory of any alignment";
  if (back != expected)
    throw Failed("copy into domain '" + domain.name + "' of " + what + " copies other bytes", cure);
  std::vector<uint8_t> part(kRoom, 0x33), wanted(kRoom, 0x33);
  copy_bytes(subject, host_at(part.data() + host_offset), buffer.at(offset), bytes);
  std::copy_n(expected.begin() + static_cast<long>(offset), bytes,
              wanted.begin() + static_cast<long>(host_offset));
  if (part != wanted)
    throw Failed("copy out of domain '" + domain.name + "' of " + what + " copies other bytes", cure);
}

/// Copies between two buffers of the device.
void check_inner_copy(const Subject& subject, const Domain& domain) {
  Buffer from(subject, domain, kRoom), to(subject, domain, kRoom);
  std::vector<uint8_t> source = counted(kRoom), zeros(kRoom, 0x11), back(kRoom);
  copy_bytes(subject, from.at(0), host_at(source.data()), kRoom);
  copy_bytes(subject, to.at(0), host_at(zeros.data()), kRoom);
  copy_bytes(subject, to.at(512), from.at(256), 1000);
  copy_bytes(subject, host_at(back.data()), to.at(0), kRoom);
  std::copy_n(source.begin() + 256, 1000, zeros.begin() + 512);
  if (back != zeros)
    throw Failed("copy within domain '" + domain.name + "' copies other bytes than the given ones",
                 "copy exactly the given bytes");
}

}  // namespace

TENON_CHECK("R15", "each device is named once, and the devices are always the same in the same order") {
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
    const CallResult result = try_call("device_open", subject.api.device_open, subject.provider,
                                       tenon_str{id, std::strlen(id)}, &device);
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

TENON_CHECK("R17", "each memory domain has its own id, 1 or more, and an alignment that is a power of two") {
  const Bench bench(target, Bench::Open::kDevice);
  std::set<uint32_t> ids;
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
    if (domain.is_host_visible() && (bench.api().map == nullptr || bench.api().unmap == nullptr))
      throw Failed(name + " is host-visible, and there is no map function",
                   "fill map and unmap, or leave the flag out");
  }
  const std::vector<Domain> again = bench.subject->read_domains();
  if (again.size() != ids.size())
    throw Failed("a second call of device_domains gives other domains", "answer the same each time");
  require_domains(*bench.subject);
}

TENON_CHECK("R18",
            "memory is aligned, has an address if and only if the domain is addressable, and runs out with "
            "RESOURCE_EXHAUSTED") {
  const Bench bench(target, Bench::Open::kDevice);
  const Subject& subject = *bench.subject;
  require_domains(subject);
  for (const Domain& domain : subject.domains) {
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{63}, uint64_t{4097}, uint64_t{100000}}) {
      if (domain.max_buffer_bytes != 0 && bytes > domain.max_buffer_bytes) continue;
      const Buffer buffer(subject, domain, bytes);
      if (buffer.handle == nullptr) throw Failed("allocate returns OK and no buffer", "set *out_buffer");
      if ((buffer.address != nullptr) != domain.is_addressable())
        throw Failed(std::string("allocate gives ") +
                         (buffer.address == nullptr ? "no address" : "an address") + " in domain '" +
                         domain.name + "', which " + (domain.is_addressable() ? "is" : "is not") +
                         " addressable",
                     "set out_address where the domain says TENON_DOMAIN_ADDRESSABLE, and only there");
      if (domain.is_addressable() && reinterpret_cast<uintptr_t>(buffer.address) % domain.alignment != 0)
        throw Failed(
            "allocate gives an address that is not a multiple of " + std::to_string(domain.alignment),
            "keep to the alignment that the domain states");
    }
    const uint64_t limit = domain.max_buffer_bytes;
    for (const uint64_t bytes : {limit == 0 ? uint64_t{1} << 60 : limit + 1, uint64_t{1} << 60}) {
      tenon_buffer* buffer = nullptr;
      void* address = nullptr;
      const CallResult result = try_call("allocate", subject.api.allocate, subject.device, domain.id, bytes,
                                         static_cast<tenon_stream*>(nullptr), &buffer, &address);
      if (result.ok()) subject.api.free(subject.device, buffer, nullptr);
      if (result.status != TENON_RESOURCE_EXHAUSTED)
        throw Failed(
            "a buffer of " + std::to_string(bytes) + " bytes gives status " + std::to_string(result.status),
            "return RESOURCE_EXHAUSTED when there is no such memory");
    }
  }
  tenon_buffer* buffer = nullptr;
  void* address = nullptr;
  if (try_call("allocate", subject.api.allocate, subject.device, 4711u, uint64_t{64},
               static_cast<tenon_stream*>(nullptr), &buffer, &address)
          .ok())
    throw Failed("memory is given in domain 4711, which the device does not have",
                 "refuse domains that you did not name");
}

TENON_CHECK("R19", "copy copies exactly the given bytes, to and from host memory of any alignment") {
  const Bench bench(target, Bench::Open::kDevice);
  const Subject& subject = *bench.subject;
  require_domains(subject);
  for (const Domain& domain : subject.domains) {
    for (const uint64_t bytes : {0, 1, 3, 64, 1000, 4097}) {
      for (const uint64_t host_offset : {0, 1, 7}) {
        check_copy(subject, domain, bytes, host_offset, 0);
        check_copy(subject, domain, bytes, host_offset, std::max<uint64_t>(domain.alignment, 1) % 4096);
      }
    }
    check_inner_copy(subject, domain);
  }
}

TENON_CHECK("R20", "copies see what was written through a map, and a map shows what a copy wrote") {
  const Bench bench(target, Bench::Open::kDevice);
  const Subject& subject = *bench.subject;
  bool any = false;
  for (const Domain& domain : subject.domains) {
    if (!domain.is_host_visible()) continue;
    any = true;
    Buffer buffer(subject, domain, kRoom);
    std::vector<uint8_t> zeros(kRoom, 0x11), back(kRoom), bytes = counted(1000);
    copy_bytes(subject, buffer.at(0), host_at(zeros.data()), kRoom);
    void* address = nullptr;
    call("map", subject.api.map, subject.device, buffer.handle, uint64_t{256}, uint64_t{1000}, &address);
    if (address == nullptr) throw Failed("map returns OK and no address", "set *out_address");
    const char* cure = "make device and host see the same bytes while nothing else is mapped";
    if (std::memcmp(address, zeros.data(), 1000) != 0)
      throw Failed("a map does not show what a copy wrote", cure);
    std::memcpy(address, bytes.data(), 1000);
    guarded_call("unmap", [&] { subject.api.unmap(subject.device, buffer.handle, address); });
    copy_bytes(subject, host_at(back.data()), buffer.at(0), kRoom);
    std::copy(bytes.begin(), bytes.end(), zeros.begin() + 256);
    if (back != zeros) throw Failed("a copy does not see what was written through a map", cure);
  }
  if (!any) throw NotApplicable("no domain is host-visible");
}

}  // namespace tenon::cts
