// Checks of memory: allocations, copies, maps, and what stays when a device is trimmed.
#include <algorithm>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/buffer.h"
#include "ep-sdk/cts/queue.h"

namespace tenon::cts {
namespace {

constexpr uint64_t kRoom = 8192;

/// Allocates and looks at the address. Where it is for the host, host and copies must see the same bytes.
void check_address(const Subject& subject, const Domain& domain, uint64_t bytes) {
  const Buffer buffer(subject, domain, bytes);
  const bool given = buffer.address != nullptr;
  if (given != domain.has_address())
    throw Failed(std::string("allocate gives ") + (given ? "an address" : "no address") + " in domain '" +
                     domain.name + "', whose flags say that tensors carry " + (given ? "none" : "one"),
                 "set `address` where the domain has HOST_ADDRESS or DEVICE_ADDRESS, and only there");
  if (given && reinterpret_cast<uintptr_t>(buffer.address) % domain.alignment != 0)
    throw Failed("allocate gives an address that is not a multiple of " + std::to_string(domain.alignment),
                 "keep to the alignment that the domain states");
  if (!domain.has_host_address()) return;
  const std::vector<uint8_t> first = counted(bytes), second = counted(bytes, 1);
  buffer.write(first);
  const bool shown = std::memcmp(buffer.address, first.data(), bytes) == 0;
  std::memcpy(buffer.address, second.data(), bytes);
  if (!shown || buffer.read(bytes) != second)
    throw Failed(
        "in domain '" + domain.name + "' the address of the host and copies do not see the same bytes",
        "give HOST_ADDRESS only to memory that host and device share while no work is under way");
}

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
  copy_bytes(subject, to.at(512), from.from_afar(256),
             1000);  // the device may be named although it is this one
  copy_bytes(subject, host_at(back.data()), to.at(0), kRoom);
  std::copy_n(source.begin() + 256, 1000, zeros.begin() + 512);
  if (back != zeros)
    throw Failed("copy within domain '" + domain.name + "' copies other bytes than the given ones",
                 "copy exactly the given bytes");
}

/// Maps the middle of a buffer with these flags. Bytes that the host does not write must stay.
void check_map(const Subject& subject, const Domain& domain, uint32_t flags) {
  constexpr uint64_t kAt = 256, kBytes = 1000, kWritten = 600;
  const Buffer buffer(subject, domain, kRoom);
  std::vector<uint8_t> expected = counted(kRoom, 1);
  buffer.write(expected);
  const tenon_map_params params{sizeof(tenon_map_params), flags, buffer.handle, kAt, kBytes};
  void* address = nullptr;
  call("map", subject.api.map, subject.device, &params, &address);
  if (address == nullptr) throw Failed("map returns OK and no address", "set *out_address");
  const std::string how = " with the flags " + std::to_string(flags);
  const char* cure =
      "make device and host see the same bytes while nothing else is mapped; only DISCARD may lose bytes";
  if ((flags & TENON_MAP_READ) != 0 && std::memcmp(address, expected.data() + kAt, kBytes) != 0)
    throw Failed("a map" + how + " does not show what a copy wrote", cure);
  if ((flags & TENON_MAP_WRITE) != 0) {
    const uint64_t written = (flags & TENON_MAP_DISCARD) != 0 ? kBytes : kWritten;
    const std::vector<uint8_t> bytes = counted(written, 2);
    std::memcpy(address, bytes.data(), written);
    std::copy(bytes.begin(), bytes.end(), expected.begin() + kAt);
  }
  guarded_call("unmap", [&] { subject.api.unmap(subject.device, buffer.handle, address); });
  if (buffer.read(kRoom) != expected)
    throw Failed(
        "after a map" + how + " a copy sees other bytes than those before and those that the host wrote",
        cure);
}

/// Copies from a buffer of one device to a buffer of another. False when the provider leaves that to the host.
bool check_peer_copy(const Subject& to, const Domain& to_domain, const Subject& from,
                     const Domain& from_domain, uint64_t bytes, uint64_t offset, tenon_stream* stream) {
  const Buffer target(to, to_domain, kRoom), source(from, from_domain, kRoom);
  std::vector<uint8_t> expected = counted(kRoom, 1);
  target.write(expected);
  const std::vector<uint8_t> given = counted(kRoom, 2);
  source.write(given);
  const CallResult result = try_copy(to, target.at(offset), source.from_afar(2 * offset), bytes, stream);
  const std::string what = "a copy of " + std::to_string(bytes) + " bytes from device '" +
                           from.device_info.stable_id + "' to '" + to.device_info.stable_id + "'";
  if (result.status == TENON_UNIMPLEMENTED) return false;
  if (!result.ok())
    throw Failed(what + " gives status " + std::to_string(result.status) + ": " + result.text,
                 "copy, or answer UNIMPLEMENTED: the host then copies by way of its own memory");
  if (stream != nullptr) {
    uint64_t end = 0;
    call("stream_point", to.api.stream_point, stream, &end);
    call("stream_flush", to.api.stream_flush, stream);
    call("point_wait", to.api.point_wait, stream, end, int64_t{-1});
  }
  const auto begin = given.begin() + static_cast<long>(2 * offset);
  std::copy(begin, begin + static_cast<long>(bytes), expected.begin() + static_cast<long>(offset));
  if (target.read(kRoom) != expected)
    throw Failed(what + " copies other bytes", "copy exactly the given bytes, or answer UNIMPLEMENTED");
  if (source.read(kRoom) != given) throw Failed(what + " changes the source", "write the destination alone");
  return true;
}

}  // namespace

TENON_CHECK(
    "R18",
    "memory is aligned, has an address if and only if the domain has a flag for one, and runs out with "
    "RESOURCE_EXHAUSTED") {
  const Bench bench(target, Bench::Open::kDevice);
  const Subject& subject = *bench.subject;
  require_domains(subject);
  for (const Domain& domain : subject.domains) {
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{63}, uint64_t{4097}, uint64_t{100000}}) {
      if (domain.max_buffer_bytes == 0 || bytes <= domain.max_buffer_bytes)
        check_address(subject, domain, bytes);
    }
    const uint64_t limit = domain.max_buffer_bytes;
    for (const uint64_t bytes : {limit == 0 ? uint64_t{1} << 60 : limit + 1, uint64_t{1} << 60}) {
      tenon_allocation made;
      const CallResult result = try_allocate(subject, domain.id, bytes, &made);
      if (result.ok()) free_memory(subject, made.buffer);
      if (result.status != TENON_RESOURCE_EXHAUSTED)
        throw Failed(
            "a buffer of " + std::to_string(bytes) + " bytes gives status " + std::to_string(result.status),
            "return RESOURCE_EXHAUSTED when there is no such memory");
    }
  }
  tenon_allocation made;
  if (try_allocate(subject, 4711, 64, &made).ok())
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
  bool any = false;
  for (const Domain& domain : bench.subject->domains) {
    if (!domain.is_mappable()) continue;
    any = true;
    constexpr uint32_t kRead = TENON_MAP_READ, kWrite = TENON_MAP_WRITE, kDiscard = TENON_MAP_DISCARD;
    for (const uint32_t flags : {kRead, kWrite, kRead | kWrite, kWrite | kDiscard})
      check_map(*bench.subject, domain, flags);
  }
  if (!any) throw NotApplicable("no domain is mappable");
}

TENON_CHECK("R57", "after device_trim every program, buffer, binding and stream works as before") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  if (subject.api.device_trim == nullptr) throw NotApplicable("the provider has no device_trim function");
  const auto trim = [&] { call("device_trim", subject.api.device_trim, subject.device); };
  const char* cure = "give back only what no object of the host uses, and what can be made again";
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (const Domain& domain : subject.domains) {
    buffers.push_back(std::make_unique<Buffer>(subject, domain, kRoom));
    buffers.back()->write(counted(kRoom, domain.id));
  }
  for (const Claimed& claimed : claimed_probes(target, subject)) {
    if (!is_plain(claimed)) continue;
    const std::vector<Tensor> expected = run_claim(subject, claimed);
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    Execution execution(prepared);
    execution.run();
    trim();
    execution.fill_outputs(0xC7);
    execution.run();
    require_equal(execution.outputs(), expected, claimed.probe.name + " after device_trim", cure);
    if (!subject.has_streams()) continue;
    Queue queue(subject);
    RunSetup setup;
    setup.stream = queue.stream;
    Execution queued(prepared, setup);
    queued.run();
    trim();
    queue.finish();
    require_equal(queued.outputs(), expected, claimed.probe.name + ", enqueued before device_trim", cure);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i]->read(kRoom) != counted(kRoom, subject.domains[i].id))
      throw Failed("device_trim changes a buffer in domain '" + subject.domains[i].name + "'", cure);
  }
}

TENON_CHECK("R58", "a copy between two devices copies exactly the given bytes, or is left to the host") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  require_domains(subject);
  const std::unique_ptr<Subject> other =
      subject.open_other([](const Subject& found) { return !found.domains.empty(); });
  if (other == nullptr) throw NotApplicable("the provider has no two devices with memory of their own here");
  int copied = 0;
  for (const auto& [to, from] :
       {std::pair<const Subject*, const Subject*>{&subject, other.get()}, {other.get(), &subject}}) {
    std::unique_ptr<Queue> queue;
    if (to->has_streams()) queue = std::make_unique<Queue>(*to);
    for (const Domain& to_domain : to->domains) {
      for (const Domain& from_domain : from->domains) {
        for (const uint64_t bytes : {1, 64, 1000, 4097}) {
          copied += check_peer_copy(*to, to_domain, *from, from_domain, bytes, 512, nullptr) ? 1 : 0;
          if (queue == nullptr) continue;
          copied += check_peer_copy(*to, to_domain, *from, from_domain, bytes, 512, queue->stream) ? 1 : 0;
        }
      }
    }
  }
  if (copied == 0) throw NotApplicable("the provider leaves copies between its devices to the host");
}

}  // namespace tenon::cts
