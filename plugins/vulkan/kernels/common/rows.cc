#include "kernels/common/rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon::vulkan {
namespace {

constexpr size_t kShortRow = 32;                       // a work-item does shorter ones: nothing is measured
constexpr size_t kMediumRow = 1024;                    // longer ones have more members
constexpr uint32_t kMembers = 64, kMostMembers = 256;  // powers of two; kMostMembers as in shaders/group.glsl

constexpr int kRounds = 3, kLaunchesPerRound = 4;
constexpr int64_t kLongRoundNs = 20'000'000;

/// A kernel's name, with what tells its pipelines from others.
std::string name_of(const KernelRef& kernel) {
  std::string out(kernel.shader->name);
  for (const uint32_t constant : kernel.constants) out += cat("/", constant);
  return out;
}

/// Memory for the tensors of a probe. Where the host sees it, it is zero: on a processor the numbers of garbage may be slow.
OwnedPiece make_scratch(Device& device) {
  OwnedPiece out(device.device_memory(), kMostOfProbe * sizeof(float));
  if (out.get().address() != nullptr) std::memset(out.get().address(), 0, out.get().bytes);
  return out;
}

/// The time of one of the launches.
int64_t time_of(Device& device, const Launches& launches) {
  const auto run = [&](int times) {
    const uint64_t begin = now_ns();
    device.do_now([&](Stream& stream) {
      for (int i = 0; i < times; ++i) stream.run(launches, 0);
    });
    return static_cast<int64_t>(now_ns() - begin) / times;
  };
  run(1);  // a driver may compile at the first use of a pipeline
  int64_t least = run(1);
  for (int round = 0; round < kRounds && least < kLongRoundNs; ++round)
    least = std::min(least, run(kLaunchesPerRound));
  return least;
}

}  // namespace

KernelForms load_forms(const NodeView& node, std::span<const KernelSource> sources, std::string_view name,
                       const Settings& settings) {
  const KernelRef item = load_kernel(node, sources, name, settings);
  KernelForms out{{item, item, item}};
  const KernelSource& source = sources[item.constants[0]];
  const bool is_real = item.shader == source.real;
  const bool has_subgroups = item.device->limits().subgroup_arithmetic;
  out.of[static_cast<size_t>(Form::kShared)].shader = is_real ? source.shared : nullptr;
  out.of[static_cast<size_t>(Form::kSubgroup)].shader = is_real && has_subgroups ? source.subgroup : nullptr;
  return out;
}

namespace detail {

Form form_for(Recorder& ctx, const KernelForms& kernel, const Rows& rows, const ListProbe& list) {
  if (rows.length == 0 || kernel.of[static_cast<size_t>(Form::kShared)].shader == nullptr) return Form::kItem;
  const Instance& instance = ctx.launches().node().instance();
  if (instance.form) return *instance.form;
  if (rows.length < kShortRow) return Form::kItem;
  if (!instance.measures()) return form_by_rule(rows);
  std::vector<Form> forms{Form::kItem, Form::kShared};
  if (kernel.of[static_cast<size_t>(Form::kSubgroup)].shader != nullptr) forms.push_back(Form::kSubgroup);
  Device& device = instance.device;
  OwnedPiece read, written;  // made by the first measurement
  const auto measure = [&](Form form, const Rows& probe) {
    if (!read) {
      read = make_scratch(device);
      written = make_scratch(device);
    }
    Launches launches(ctx.launches().node(), ctx.launches().elements_per_item());
    Recorder recorder(ctx.args(), launches);
    list(recorder, form, probe, {&read.get()}, {&written.get(), true});
    launches.finish();
    return time_of(device, launches);
  };
  try {
    return device.variants().fastest(name_of(kernel.of[0]), rows, forms, measure);
  } catch (const Error& error) {
    if (error.code != TENON_RESOURCE_EXHAUSTED) throw;
    return form_by_rule(rows);  // a node that fits runs; the next one measures
  }
}

Size3 members_for(const Recorder& ctx, const Rows& rows) {
  const uint32_t wanted = rows.length < kMediumRow ? kMembers : kMostMembers;
  return {std::bit_floor(std::min(wanted, ctx.launches().device().limits().max_group)), 1, 1};
}

Size3 groups_for(const Recorder& ctx, const Size3& items) {
  const Limits& limits = ctx.launches().device().limits();
  Size3 out{};
  for (size_t d = 0; d < 3; ++d) out[d] = std::min<size_t>(items[d], limits.max_groups[d]);
  return out;
}

}  // namespace detail
}  // namespace tenon::vulkan
