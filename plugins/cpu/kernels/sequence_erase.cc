#include "kernels/common/sequence.h"

namespace tenon::cpu {
namespace {

// Removes the element at a position, or the last one.
struct SequenceErase {
  void prepare(PrepareContext&) const {}
  void run(const Context& ctx) const {
    std::vector<ValueRef> elements = sequence_elements(ctx.input_value(0));
    const auto size = static_cast<int64_t>(elements.size());
    require(size > 0, TENON_OUT_OF_RANGE, "the sequence is empty");
    const int64_t at = ctx.has_input(1) ? sequence_position(ctx.input(1), size) : size - 1;
    elements.erase(elements.begin() + at);
    ctx.set_object(0, make_value(TENON_KIND_SEQUENCE, ctx.input(0).dtype(), elements));
  }
};
TENON_KERNEL(SequenceErase, .op_type = "SequenceErase", .contract = "S: any; position?: one @index")

}  // namespace
}  // namespace tenon::cpu
