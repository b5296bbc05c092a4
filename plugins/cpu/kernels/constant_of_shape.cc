#include "kernels/common/checked.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class ConstantOfShape {
 public:
  static constexpr int shape_inputs[] = {0};
  explicit ConstantOfShape(const NodeView& node) {
    const TensorView value = node.attr_tensor("value");
    if (!value.present()) return;
    require(value.size() == 1 && value.dtype() != TENON_STRING, TENON_INVALID_ARGUMENT, "value has ",
            value.size(), " elements; it must have one");
    std::memcpy(value_, value.bytes(), static_cast<size_t>(value.byte_size()));
  }

  void run(const Context& ctx) const {
    const OutputTensor out = ctx.output(0);
    if (dtype_bits(out.dtype()) >= 8) {
      dispatch_size(out.dtype(), [&]<class T>() {
        T value{};
        std::memcpy(&value, value_, sizeof(T));
        ctx.parallel_for(out.size(), kStepsPerLook, [&](int64_t begin, int64_t end) {
          ctx.check_cancelled();
          std::fill(out.data<T>() + begin, out.data<T>() + end, value);
        });
      });
      return;
    }
    tenon_tensor raw{};
    raw.kind = TENON_KIND_TENSOR;
    raw.dtype = out.dtype();
    raw.data = const_cast<unsigned char*>(value_);
    BlockWriter writer(ctx, 0);
    writer.repeat(TensorView(&raw), 0, out.size());
    writer.finish();
  }

 private:
  alignas(16) unsigned char value_[16] = {};  // without the attribute float32 0
};

TENON_KERNEL(ConstantOfShape, .op_type = "ConstantOfShape", .since = 9, .contract = "input: rank 1 @size")

}  // namespace
}  // namespace tenon::cpu
