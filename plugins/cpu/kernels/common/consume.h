// Constants that a kernel keeps in a form of its own.
#pragma once

#include "kernels/common/shape.h"

namespace tenon::cpu {

/// Tells the host that it may release the bytes of constant input `input`: the kernel has packed them and reads none in a Run, only
/// type and shape. Does nothing if another input of the node is the same constant. Call in a kernel's constructor.
inline void consume_packed(const NodeView& n, int input) {
  for (int i = 0; i < n.input_count(); ++i) {
    if (i != input && n.has_input(i) && n.input(i).index() == n.input(input).index()) return;
  }
  n.input(input).consume();
}

}  // namespace tenon::cpu
