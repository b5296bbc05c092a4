#include "tenon/ep.hpp"

namespace tenon::cpu {
namespace {

using namespace tenon::ep;

struct SequenceConstruct {
  void prepare(PrepareContext&) const {}
  void run(const Context& ctx) const {
    std::vector<ValueRef> elements;
    for (int i = 0; i < ctx.input_count(); ++i) elements.push_back(ctx.input_value(i));
    ctx.set_object(0, make_value(TENON_KIND_SEQUENCE, ctx.input(0).dtype(), elements));
  }
};
TENON_KERNEL(SequenceConstruct, .op_type = "SequenceConstruct", .contract = "X: any; Y...: any")

}  // namespace
}  // namespace tenon::cpu
