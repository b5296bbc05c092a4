// A whole kernel-style provider: one claim per node that a registered kernel supports, in plain host memory.
//
//   struct Cpu {
//     static constexpr std::string_view kId = TENON_PROVIDER_ID, kVersion = TENON_PROVIDER_VERSION;
//     static void devices(const DeviceSink& sink) {
//       sink.add({.kind = TENON_DEVICE_CPU, .stable_id = "0", .name = "CPU"});
//     }
//   };
//   TENON_KERNEL_PROVIDER(Cpu)
#ifndef TENON_EP_KERNEL_PROVIDER_HPP_
#define TENON_EP_KERNEL_PROVIDER_HPP_

#include "tenon/ep/kernel_node.hpp"
#include "tenon/ep/provider.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// The traits for Provider. T has kId, kVersion, devices(const DeviceSink&), and optionally kBuildId and refuse(), as
/// Provider's traits have them.
template <class T>
struct KernelProvider : T {
  static std::string refuse() {
    std::string reason = KernelRegistry::get().conflict();
    if constexpr (requires { T::refuse(); }) {
      if (reason.empty()) reason = T::refuse();
    }
    return reason;
  }

  struct Provider {
    explicit Provider(const tenon_provider_params&) {}
    void devices(const DeviceSink& sink) { T::devices(sink); }
  };

  struct Device {
    Device(Provider&, std::string_view stable_id) {
      Wanted wanted{stable_id};
      const tenon_device_sink sink{sizeof(tenon_device_sink), 0, &wanted, find};
      T::devices(DeviceSink(&sink));
      require(wanted.found, TENON_NOT_FOUND, "there is no device '", stable_id, "'");
    }

   private:
    struct Wanted {
      std::string_view id;
      bool found = false;
    };
    static tenon_status find(void* context, const tenon_device_info* device, tenon_error*) {
      auto& wanted = *static_cast<Wanted*>(context);
      wanted.found = wanted.found || view(device->stable_id) == wanted.id;
      return TENON_OK;
    }
  };

  struct Instance {
    Instance(Device&, const tenon_instance_params& params) : settings(params) {}
    void offer(const tenon_graph* graph, const tenon_claim_sink* sink) const {
      offer_nodes(settings, graph, sink);
    }
    const InstanceSettings settings;
  };

  struct Program : KernelNode {
    Program(const Instance& instance, const tenon_compile_args& args) {
      compile(GraphView(args.graph), instance.settings);
    }
  };
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#define TENON_KERNEL_PROVIDER(Traits) TENON_PROVIDER(::tenon::ep::KernelProvider<Traits>)

#endif  // TENON_EP_KERNEL_PROVIDER_HPP_
