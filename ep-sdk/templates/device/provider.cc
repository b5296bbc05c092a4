// A provider of a device with its own memory, streams and recordings. The device is simulated: its memory belongs to this
// process, and stream_flush works its queue off. Put the calls of your driver in their places.
//
// A kernel hands its work to SimStream::submit(), which does, enqueues or records it. To add an operator, copy Relu.
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>

#include "tenon/ep.hpp"

namespace {

using namespace tenon::ep;

struct SimInstance;

class SimStream {
 public:
  struct Work {
    std::string place;  // stands in its error
    std::function<void()> body;
  };
  struct Recording {
    void run(SimStream& stream) const {
      for (const Work& work : works) stream.add(work);
    }
    std::vector<Work> works;
  };
  explicit SimStream(SimInstance&) {}

  // Without a stream the work is done on return.
  template <class Body>
  static void submit(SimStream* stream, std::string_view place, const Body& body) {
    stream == nullptr ? body() : stream->add({std::string(place), body});
  }
  void add(Work work) {
    const std::lock_guard lock(mutex_);
    (recording_ != nullptr ? recording_->works : queue_).push_back(std::move(work));
  }
  void flush() {
    const std::lock_guard lock(mutex_);
    for (const Work& work : queue_) {
      ++done_;
      try {
        work.body();
      } catch (const Error& e) {  // told by the wait for a later point
        failures_[done_] = {e.code, e.text, e.flags | TENON_ERROR_ASYNC, work.place};
      }
    }
    queue_.clear();
  }
  // Work and points are numbered in one row.
  uint64_t point() {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return ++done_;
    queue_.push_back({"a point", [] {}});
    return done_ + queue_.size();
  }
  /// The work of `other` is done: the host has flushed it. If it failed, later work here would use its results.
  void wait(SimStream& other, uint64_t point) {
    std::unique_lock lock(other.mutex_);
    const auto first = other.failures_.begin();
    if (first == other.failures_.end() || first->first > point) return;
    Work failing{first->second.where, [error = first->second] { throw error; }};
    lock.unlock();
    add(std::move(failing));
  }
  void wait_point(uint64_t point, int64_t /*timeout_ns*/) {
    const std::lock_guard lock(mutex_);
    require(point != 0 && point <= done_ + queue_.size(), TENON_INVALID_ARGUMENT, "there is no point ",
            point);
    require(point <= done_, TENON_DEADLINE_EXCEEDED, "the work before point ", point, " is not flushed");
    if (failures_.empty() || failures_.begin()->first > point) return;
    throw Error(failures_.extract(failures_.begin()).mapped());  // once
  }

  void record_begin() { recording_ = std::make_unique<Recording>(); }
  std::unique_ptr<Recording> record_end() { return std::move(recording_); }

 private:
  std::mutex mutex_;         // a host may wait on another thread
  std::vector<Work> queue_;  // not flushed
  uint64_t done_ = 0;
  std::map<uint64_t, Error> failures_;  // by number
  std::unique_ptr<Recording> recording_;
};

struct Relu {
  static Support supports(const NodeView& node) {
    return Check(node)
        .input(0, TypeList<float>())
        .that(!node.input(0).is_constant(), TENON_REJECT_COST, "the input is a constant");
  }
  void prepare(PrepareContext& context) const { context.set_output(0, context.input(0).dims()); }
  void run(const Context& context) const {
    const auto address = [](const TensorView& tensor) {
      return reinterpret_cast<float*>(reinterpret_cast<char*>(tensor.raw()->buffer) +
                                      tensor.raw()->byte_offset);
    };
    auto* stream = reinterpret_cast<SimStream*>(context.args().stream);
    const float* x = address(context.input(0));
    float* y = address(context.output(0));
    SimStream::submit(stream, context.place(), [x, y, n = context.input(0).size()] {
      for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];
    });
  }
};
TENON_KERNEL(Relu, .op_type = "Relu", .since = 6)

struct Base {
  static constexpr std::string_view kId = TENON_PROVIDER_ID, kVersion = TENON_PROVIDER_VERSION;
  static void devices(const DeviceSink& sink) {
    sink.add({.kind = TENON_DEVICE_OTHER, .stable_id = "0", .name = "simulated device"});
  }
};

constexpr uint32_t kDomain = 1;  // memory of which the host has buffers, but no addresses
constexpr uint64_t kLargest = uint64_t{1} << 30, kAlignment = 64;

struct SimDevice : KernelProvider<Base>::Device {
  using KernelProvider<Base>::Device::Device;

  void domains(const DomainSink& sink) const {
    sink.add({.id = kDomain, .alignment = kAlignment, .max_buffer_bytes = kLargest, .name = "device"});
  }
  Allocation allocate(uint32_t domain, uint64_t bytes, SimStream*) const {
    require(domain == kDomain, TENON_INVALID_ARGUMENT, "there is no memory domain ", domain);
    void* memory =
        bytes > kLargest ? nullptr : std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
    require(memory != nullptr, TENON_RESOURCE_EXHAUSTED, "no device memory for ", bytes, " bytes");
    return {static_cast<tenon_buffer*>(memory), nullptr};
  }
  void free(tenon_buffer* buffer, SimStream* stream) const {
    if (stream != nullptr) stream->flush();  // what is enqueued may use it
    std::free(buffer);
  }
  void copy(const tenon_location& to, const tenon_location& from, uint64_t bytes, SimStream* stream) const {
    const auto address = [](const tenon_location& place) {
      return static_cast<char*>(place.domain == TENON_DOMAIN_HOST ? place.data : place.buffer) +
             place.byte_offset;
    };
    SimStream::submit(stream, "a copy", [target = address(to), source = address(from), bytes] {
      if (bytes != 0) std::memmove(target, source, bytes);
    });
  }
};

struct SimInstance : KernelProvider<Base>::Instance {
  using KernelProvider<Base>::Instance::Instance;
  void offer(const tenon_graph* graph, const tenon_claim_sink* sink) const {
    offer_nodes(settings, graph, sink, kDomain);
  }
};

struct Traits : KernelProvider<Base> {
  using Device = SimDevice;
  using Instance = SimInstance;
  using Stream = SimStream;
  using Recording = SimStream::Recording;
};

}  // namespace

TENON_PROVIDER(Traits)
