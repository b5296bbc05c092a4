// Dropout in inference, and BitCast: their output is their input.
#include "kernels/common/copy.h"
#include "tenon/ep/device/bits.hpp"

namespace tenon::cuda {
namespace {

constexpr Source kSource{"dropout", R"CU(
KERNEL Keep(OUT(M, mask), int n, uint32 low, uint32 high) {
  EACH(i, n) mask[i] = (M)((uint64)high << 32 | low);
}
)CU"};
using Kernels = Backend<kSource>;

class Dropout {
 public:
  static Support supports(const NodeView& n) {
    const bool is_off = !n.has_input(2) || is_false(n.input(2));
    return Check(n)
        .input(0, kDeviceRealTypes)
        .output(1, kDeviceRealTypes + kBoolType)
        .that(n.since_version() >= 7 || n.attr_i("is_test", 1) != 0, TENON_REJECT_ATTRIBUTE,
              "is_test is 0; training is not supported")
        .that(n.since_version() < 12 || is_off, TENON_REJECT_OTHER,
              "training_mode is no constant that is false; training is not supported");
  }
  explicit Dropout(const NodeView& n) : copy_(n, n.input(0).dtype()) {
    if (!n.has_output(1)) return;
    // Before version 10 the mask had the type of the input.
    const uint32_t dtype = n.output(1).dtype();
    dispatch(kDeviceRealTypes + kBoolType, dtype, [&]<class T>() { one_ = bits_of(static_cast<T>(1)); });
    keep_ = Kernels::load(n, "Keep", {moves(dtype)});
  }
  void prepare(PrepareContext& p) const {
    for (int i = 0; i < 2; ++i) p.set_output(i, p.input(0).dims());
    p.view(0, 0);
  }
  void record(Recorder& ctx) const {
    if (ctx.has_output(0)) copy_.record_dense(ctx, ctx.input(0), ctx.output(0));
    if (!ctx.has_output(1)) return;
    const int64_t n = ctx.output(1).size();
    launch(ctx, keep_, items_of(n), out(ctx.output(1)), narrow(n), one_.low, one_.high);
  }

 private:
  static bool is_false(const ValueView& mode) {
    return mode.is_constant() && mode.dtype() == TENON_BOOL && mode.constant().size() == 1 &&
           mode.constant().data<uint8_t>()[0] == 0;
  }
  CopyKernels copy_;
  KernelRef keep_;
  ElementBits one_{};
};
TENON_KERNEL(Dropout, .op_type = "Dropout", .until = 11, .contract = "data: any")
TENON_KERNEL(Dropout, .op_type = "Dropout", .since = 12,
             .contract = "data: any; ratio?: one; training_mode?: one")

class BitCast {
 public:
  static Support supports(const NodeView& n) {
    const uint32_t from = n.input(0).dtype(), to = n.output(0).dtype();
    return Check(n)
        .input(0, kDeviceTypes)
        .output(0, kDeviceTypes)
        .that(dtype_bits(from) == dtype_bits(to), TENON_REJECT_TYPE, "from ", dtype_name(from), " to ",
              dtype_name(to));
  }
  explicit BitCast(const NodeView& n) : copy_(n, n.input(0).dtype()) {}
  void prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    p.view(0, 0);
  }
  void record(Recorder& ctx) const { copy_.record_dense(ctx, ctx.input(0), ctx.output(0)); }

 private:
  CopyKernels copy_;
};
TENON_KERNEL(BitCast, .op_type = "BitCast", .since = 26, .contract = "input: any")

}  // namespace
}  // namespace tenon::cuda
