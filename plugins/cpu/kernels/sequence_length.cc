#include "tenon/ep.hpp"

namespace tenon::cpu {
namespace {

using namespace tenon::ep;

struct SequenceLength {
  void prepare(PrepareContext& p) const { p.set_output(0, {}); }
  void run(const Context& ctx) const { *ctx.output(0).data<int64_t>() = ctx.input_value(0).size(); }
};
TENON_KERNEL(SequenceLength, .op_type = "SequenceLength", .contract = "S: any")

}  // namespace
}  // namespace tenon::cpu
