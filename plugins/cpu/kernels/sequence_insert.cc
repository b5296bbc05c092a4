#include "kernels/common/sequence.h"

namespace tenon::cpu {
namespace {

// Inserts an element at a position, or at the end.
struct SequenceInsert {
  void prepare(PrepareContext&) const {}
  void run(const Context& ctx) const {
    std::vector<ValueRef> elements = sequence_elements(ctx.input_value(0));
    const auto size = static_cast<int64_t>(elements.size());
    const int64_t at = ctx.has_input(2) ? sequence_position(ctx.input(2), size, true) : size;
    elements.insert(elements.begin() + at, ctx.input_value(1));
    ctx.set_object(0, make_value(TENON_KIND_SEQUENCE, ctx.input(1).dtype(), elements));
  }
};
TENON_KERNEL(SequenceInsert, .op_type = "SequenceInsert",
             .contract = "S: any; tensor: any; position?: one @index")

}  // namespace
}  // namespace tenon::cpu
