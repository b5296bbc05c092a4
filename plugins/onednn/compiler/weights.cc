#include "compiler/weights.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

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

/// A 128-bit keyed hash: four lanes of multiply and fold over words. The key is random per process, so that
/// nobody can craft constants that collide with another model's. It runs at memory speed.
class Fingerprint {
 public:
  std::string of(const void* data, uint64_t bytes) const {
    const auto* at = static_cast<const unsigned char*>(data);
    uint64_t lanes[8];
    std::memcpy(lanes, secret_, sizeof(lanes));
    uint64_t left = bytes;
    for (; left >= 64; left -= 64, at += 64) mix(lanes, at);
    unsigned char tail[64] = {};
    if (left != 0) std::memcpy(tail, at, left);
    mix(lanes, tail);
    uint64_t a = bytes, b = ~bytes;
    for (size_t i = 0; i < 4; ++i) {
      a = fold(a ^ lanes[2 * i], secret_[2 * i + 1] | 1);
      b = fold(b ^ lanes[2 * i + 1], secret_[2 * i] | 1);
    }
    return std::to_string(a) + "-" + std::to_string(b);
  }

 private:
  static uint64_t fold(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  void mix(uint64_t* lanes, const unsigned char* at) const {
    uint64_t words[8];
    std::memcpy(words, at, sizeof(words));
    for (int i = 0; i < 8; i += 2) {
      const uint64_t both = fold(words[i] ^ lanes[i], words[i + 1] ^ lanes[i + 1] ^ secret_[i]);
      lanes[i] = both + words[i + 1];
      lanes[i + 1] = (lanes[i + 1] + words[i]) * 0x9E3779B97F4A7C15ull ^ both;
    }
  }
  static uint64_t draw() {
    static std::random_device device;
    return (static_cast<uint64_t>(device()) << 32) | device();
  }
  uint64_t secret_[8] = {draw(), draw(), draw(), draw(), draw(), draw(), draw(), draw()};
};

tenon_status make_shared_object(void* context, void** out, tenon_error* error) {
  return ep::guard(error, [&] { *out = make(*static_cast<const Order*>(context)).release(); });
}

}  // namespace

std::shared_ptr<const Packed> pack(const Instance& instance, const void* data, const Layout& from,
                                   const Layout& to) {
  Order order{instance.device.engine(), data, from, to};
  if (instance.settings.host == nullptr || ep::host().shared == nullptr) return make(order);
  static const Fingerprint fingerprint;
  auto out = std::make_shared<Shared>(
      instance.settings.host, cat(fingerprint.of(data, from.bytes()), "/", from.key(), "/", to.key()));
  void* object = nullptr;
  ep::call_host(
      ep::host().shared, out->host, ep::to_str(out->key), &make_shared_object, static_cast<void*>(&order),
      +[](void* o) { delete static_cast<Owned*>(o); }, &object);
  out->data = static_cast<Owned*>(object)->data;
  return out;
}

}  // namespace tenon::onednn
