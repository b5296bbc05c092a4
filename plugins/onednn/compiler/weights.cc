#include "compiler/weights.h"

#include <cstdlib>
#include <new>

namespace tenon::onednn {
namespace {

struct Owned : Packed {
  explicit Owned(uint64_t bytes) {
    data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (data == nullptr) throw std::bad_alloc();
  }
  ~Owned() override { std::free(data); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
};

/// One reference to an object that the host shares between sessions.
struct Shared : Packed {
  Shared(tenon_host_instance* host, std::string key) : host(host), key(std::move(key)) {}
  ~Shared() override {
    if (data != nullptr) ep::host().shared_release(host, ep::to_str(key));
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  tenon_host_instance* host;
  std::string key;
};

struct Order {
  const Engine& engine;
  const void* data;
  const Layout &from, &to;
};

std::unique_ptr<Owned> make(const Order& order) {
  auto out = std::make_unique<Owned>(std::max<uint64_t>(order.to.bytes(), 1));
  const Primitive reorder = make_reorder(order.engine, order.from, order.to);
  std::vector<int> roles{kSource, kDestination};
  if (reorder.scratch_bytes() != 0) roles.push_back(kScratch);
  const Owned scratch(std::max<uint64_t>(reorder.scratch_bytes(), 1));
  Call call(order.engine, reorder, roles);
  call.set(0, const_cast<void*>(order.data));
  call.set(1, out->data);
  if (roles.size() > 2) call.set(2, scratch.data);
  call.run();
  return out;
}

tenon_status make_shared_object(void* context, void** out, tenon_error* error) {
  return ep::guard(error, [&] { *out = make(*static_cast<const Order*>(context)).release(); });
}

}  // namespace

std::string constant_id(const ep::GraphView& graph, uint32_t value) {
  if (ep::host().graph_constant_id == nullptr) return {};
  uint8_t id[32];
  const tenon_status status = ep::host().graph_constant_id(graph.raw(), value, id);
  require(status == TENON_OK, status, "the host failed to name constant ", value);
  std::string out;
  for (const uint8_t byte : id) {
    constexpr const char* kDigits = "0123456789abcdef";
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::shared_ptr<const Packed> pack(const Instance& instance, const std::string& name, const void* data,
                                   const Layout& from, const Layout& to) {
  Order order{instance.device.engine(), data, from, to};
  if (name.empty() || instance.settings.host == nullptr || ep::host().shared == nullptr) return make(order);
  auto out = std::make_shared<Shared>(instance.settings.host, cat(name, "/", from.key(), "/", to.key()));
  void* object = nullptr;
  ep::call_host(
      ep::host().shared, out->host, ep::to_str(out->key), &make_shared_object, static_cast<void*>(&order),
      +[](void* o) { delete static_cast<Owned*>(o); }, &object);
  out->data = static_cast<Owned*>(object)->data;
  return out;
}

}  // namespace tenon::onednn
