#include "kernels/common/rows.h"

#include <algorithm>
#include <bit>

#include "measure.h"

namespace tenon::cuda {
namespace {

constexpr size_t kShortRow = 32;  // a thread does shorter ones: nothing is measured
// Of the rows that are timed, in elements.
constexpr size_t kMostOfRow = size_t{1} << 16;  // a thread on its own does not take long with it
constexpr size_t kMostOfProbe = size_t{1} << 22;
constexpr size_t kMembers = 64, kMostMembers = 256;
constexpr size_t kElementsPerMember = 8;

/// Memory for the tensors of a probe, of elements of any type. It is zero: the numbers of garbage may take long.
OwnedPiece make_scratch(const Device& device) {
  OwnedPiece out(device.device_memory(), kMostOfProbe * sizeof(double));
  device.do_now([&](CUstream stream) {
    check(driver().cuMemsetD8Async(out.get().pointer, 0, out.get().bytes, stream), "cuMemsetD8Async");
  });
  return out;
}

}  // namespace

KernelForms load_forms(const NodeView& node, const Source& source, std::string_view name,
                       const Settings& settings) {
  const std::string defines = defines_of(settings);
  KernelForms out;
  for (const Form form : {Form::kThread, Form::kBlock})
    out.of[static_cast<size_t>(form)] = load_kernel(
        node, source, cat(defines, "-DFORM=", static_cast<uint32_t>(form), " "), std::string(name));
  return out;
}

namespace detail {

Form form_for(Recorder& ctx, const KernelForms& kernel, const Rows& rows, const ListProbe& list) {
  if (rows.length == 0) return Form::kThread;
  const Instance& instance = ctx.launches().node().instance();
  if (instance.form) return *instance.form;
  if (rows.length < kShortRow) return Form::kThread;
  if (!instance.measures()) return form_by_rule(rows);
  Device& device = instance.device;
  const Rows probe = probe_of(rows, kMostOfRow, kMostOfProbe);
  OwnedPiece read, written;  // made by the first measurement
  const auto measure = [&](uint32_t way) {
    if (!read) {
      read = make_scratch(device);
      written = make_scratch(device);
    }
    Launches launches(ctx.launches().node());
    Recorder recorder(ctx.args(), launches);
    list(recorder, Form(way), probe, {&read.get()}, {&written.get(), true});
    return time_of(device, [&](CUstream stream) { launches.enqueue(stream); });
  };
  const std::string question = cat(kernel.of[0].key, " rows ", text_of(probe));
  const uint32_t ways[] = {static_cast<uint32_t>(Form::kThread), static_cast<uint32_t>(Form::kBlock)};
  try {
    return Form(device.answers().fastest(question, ways, measure));
  } catch (const Error& error) {
    if (error.code != TENON_RESOURCE_EXHAUSTED) throw;
    return form_by_rule(rows);  // a node that fits runs; the next one measures
  }
}

Size3 members_for(const Rows& rows) {
  const size_t wanted = std::bit_ceil(rows.length / kElementsPerMember + 1);
  return {std::clamp(wanted, kMembers, kMostMembers), 1, 1};
}

}  // namespace detail
}  // namespace tenon::cuda
