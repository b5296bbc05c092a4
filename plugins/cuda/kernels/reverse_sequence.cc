#include "tenon/ep/device/ops/reverse_sequence.hpp"

#include "kernels/common/kernel.h"

namespace tenon::cuda {
namespace {

// A row is one pair of indices of the batch and time axes, in the order of the axes. A length beyond the axis
// is reported as an index out of range.
constexpr Source kSource{"reverse_sequence", R"CU(
KERNEL ReverseSequence(IN(M, x), IN(int64, lengths), OUT(M, y), int* flag, int first, int second, int inner,
                       int time_first) {
  EACH_Y(row, (int64)first * second) {
    const int64 a = row / second, b = row - a * second;
    const int64 time = time_first ? a : b, count = time_first ? first : second;
    const int64 given = lengths[time_first ? b : a];
    if (given < 0 || given > count) flag_index(flag, given, (int)count);
    const int64 length = given < 0 ? 0 : given > count ? count : given;
    const int64 source = time < length ? length - 1 - time : time;
    const int64 from = time_first ? source * second + b : a * second + source;
    EACH(i, inner) y[row * inner + i] = x[from * inner + i];
  }
}
)CU"};

using Kernels = Backend<kSource>;

TENON_KERNEL(ops::ReverseSequence<Kernels>, .op_type = "ReverseSequence", .since = 10,
             .contract = "input: rank 2..; sequence_lens: [input.$batch_axis:1] @index")

}  // namespace
}  // namespace tenon::cuda
