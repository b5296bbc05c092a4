// Functions of each element that oneDNN has.
#include "compiler/ops/eltwise.h"

namespace tenon::onednn {
namespace {

struct Relu : EltwiseOperation {
  explicit Relu(const NodeView&) : EltwiseOperation({.eltwise = Eltwise::kRelu, .exact = false}) {}
};
ONEDNN_OPERATOR(Relu, .op_type = "Relu")

}  // namespace
}  // namespace tenon::onednn
