#include "tenon/ep/device/ops/reverse_sequence.hpp"

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// A row is one pair of indices of the batch and time axes, in the order of the axes. A length beyond the axis
// is reported as an index out of range.
constexpr Source kSource{"reverse_sequence", R"CL(
__kernel void ReverseSequence(IN(M, x), IN(long, lengths), OUT(M, y), __global int* flag, int first, int second, int inner,
                              int time_first) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= inner || row >= first * second) return;
  const int a = row / second, b = row % second;
  const int time = time_first ? a : b, count = time_first ? first : second;
  const long given = PTR(lengths)[time_first ? b : a];
  if (given < 0 || given > count) flag_index(flag, given, count);
  const int length = (int)clamp(given, (long)0, (long)count);
  const int source = time < length ? length - 1 - time : time;
  const int from = time_first ? source * second + b : a * second + source;
  PTR(y)[row * inner + i] = PTR(x)[from * inner + i];
}
)CL"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::ReverseSequence<Kernels>, .op_type = "ReverseSequence", .since = 10,
             .contract = "input: rank 2..; sequence_lens: [input.$batch_axis:1] @index")

}  // namespace
}  // namespace tenon::opencl
