// Steps of providers that bind or that run one at a time; copies between memory domains; signals and waits of streams.
#include "host/device/transfer.h"
#include "host/exec/steps.h"

namespace tenon::runtime {
namespace {

const StepArgs& own(const tenon_run_args* args) { return *static_cast<const StepArgs*>(args); }

/// The place of a tensor in `domain` for a copy that is enqueued on a stream of `device`, or on none. To a stream, memory of
/// another device that the host can access is host memory.
Place place_of(const MemoryDomain& domain, const tenon_tensor& tensor, const Device* device) {
  void* const address = domain.host_can_access() ? tensor.data : nullptr;
  const bool is_foreign = device != nullptr && domain.device != device;
  if (domain.is_host() || (is_foreign && address != nullptr)) return Place::host(address);
  return {&domain, tensor.buffer, address, tensor.byte_offset};
}

/// A copy between two devices of a provider, on a stream of the destination. A provider may refuse it.
Status copy_from_peer(Frame& frame, const PlanStep& step, const Place& destination, const Place& source,
                      uint64_t bytes) {
  Stream& stream = frame.stream(step.stream);
  Device &to = *destination.domain->device, &from = *source.domain->device;
  tenon_location peer = source.location();
  peer.device = from.handle();
  Status status = to.copy(destination.location(), peer, bytes, stream.handle(), frame.work_id_of(step));
  if (status.code() != StatusCode::kUnimplemented || frame.is_recording()) return status;
  frame.executable().refused_peers().add(to, from);
  frame.set_outdated();
  ASSIGN_OR_RETURN(const uint64_t point, stream.point());
  RETURN_IF_ERROR(stream.flush());
  RETURN_IF_ERROR(frame.wait_for(step.stream, point));  // the stream waits for the source
  return copy(destination, source, bytes);
}

}  // namespace

tenon_status run_bound(const tenon_run_args* args, tenon_error* error) {
  Frame& frame = *own(args).frame;
  const uint32_t index = own(args).index;
  const Program& program = frame.step(index).prepared->program();
  if (Status status = frame.bind(index); !status.ok()) return frame.fail(std::move(status));
  std::mutex* mutex = program.run_mutex();
  if (mutex == nullptr) return program.api().run(args, error);
  const std::lock_guard lock(*mutex);
  return program.api().run(args, error);
}

tenon_status run_copy(const tenon_run_args* args, tenon_error*) {
  Frame& frame = *own(args).frame;
  const PlanStep& step = frame.step(own(args).index);
  const Slot &from = frame.plan().slots[step.inputs[0]], &to = frame.plan().slots[step.outputs[0]];
  tenon_stream* stream = step.stream == plan::kNone ? nullptr : frame.stream(step.stream).handle();
  const tenon_tensor source = frame.slot(step.inputs[0]).tensor;
  Status status = ok_status();
  if (to.kind == SlotKind::kDynamic) {
    status = frame.make_room(step.outputs[0], source.dtype, {source.dims, source.rank}, stream);
  }
  if (status.ok()) {
    const tenon_tensor& target = frame.slot(step.outputs[0]).tensor;
    const Device* device = stream == nullptr ? nullptr : &frame.plan().streams[step.stream]->device();
    const Place destination = place_of(*to.domain, target, device);
    const Place origin = place_of(*from.domain, source, device);
    const bool is_peer = stream != nullptr && !destination.is_host() && !origin.is_host() &&
                         are_peers(*destination.domain, *origin.domain);
    status = is_peer ? copy_from_peer(frame, step, destination, origin, source.byte_size)
                     : copy(destination, origin, source.byte_size, stream, frame.work_id_of(step),
                            &args->run->threads);
  }
  if (!status.ok()) {
    const std::string& name = frame.executable().graph().value(to.value).name;
    return frame.fail(std::move(status).with_context(str_cat("copy of '", name, "' to ", to.domain->name)));
  }
  frame.release(step.releases);
  return TENON_OK;
}

tenon_status run_signal(const tenon_run_args* args, tenon_error*) {
  Frame& frame = *own(args).frame;
  const PlanStep& step = frame.step(own(args).index);
  Stream& stream = frame.stream(step.stream);
  Result<uint64_t> point = stream.point();
  if (!point.ok()) return frame.fail(std::move(point).error());
  frame.point(step.point) = *point;
  Status status = stream.flush();
  return status.ok() ? TENON_OK : frame.fail(std::move(status));
}

tenon_status run_wait(const tenon_run_args* args, tenon_error*) {
  Frame& frame = *own(args).frame;
  const PlanStep& step = frame.step(own(args).index);
  Status status = frame.wait_for(step.stream, frame.point(step.point));
  if (!status.ok()) return frame.fail(std::move(status));
  frame.release(step.releases);
  return TENON_OK;
}

tenon_status run_stream_wait(const tenon_run_args* args, tenon_error*) {
  Frame& frame = *own(args).frame;
  const PlanStep& step = frame.step(own(args).index);
  const Stream& other = frame.stream(frame.plan().points[step.point]);
  Status status = frame.stream(step.stream).wait_for(other, frame.point(step.point));
  return status.ok() ? TENON_OK : frame.fail(std::move(status));
}

}  // namespace tenon::runtime
