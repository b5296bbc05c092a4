#include "tenon/ep.hpp"

namespace tenon::cpu {
namespace {

using namespace tenon::ep;

class SequenceEmpty {
 public:
  explicit SequenceEmpty(const NodeView& n)
      : dtype_(static_cast<uint32_t>(n.attr_i("dtype", TENON_FLOAT32))) {}
  void prepare(PrepareContext&) const {}
  void run(const Context& ctx) const { ctx.set_object(0, make_value(TENON_KIND_SEQUENCE, dtype_, {})); }

 private:
  uint32_t dtype_;
};
TENON_KERNEL(SequenceEmpty, .op_type = "SequenceEmpty", .contract = "none")

}  // namespace
}  // namespace tenon::cpu
