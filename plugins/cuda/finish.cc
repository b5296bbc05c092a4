#include "finish.h"

namespace tenon::cuda {
namespace {

constexpr Source kSource{"finish", R"CU(
// NaN stays NaN.
KERNEL Finish(IN(T, bias), IN(T, addend), OUT(T, y), Walk w, int rows, int columns, int y_row, int bias_row,
              int bias_column, float beta, float lowest, float highest) {
  EACH_Z(batch, w.outer) {
    int64 y_batch = 0, bias_batch = 0;
    for (int d = w.rank - 1, r = (int)batch; d >= 0; --d) {
      const int q = r / w.size[d], at = r - q * w.size[d];
      y_batch += (int64)at * w.stride[2][d];
      bias_batch += (int64)at * w.stride[3][d];
      r = q;
    }
    EACH_Y(row, rows) {
      EACH(column, columns) {
        const int64 at = y_batch + row * y_row + column;
        C value = y[at];
        if (bias != nullptr) value += (C)beta * (C)bias[bias_batch + row * bias_row + column * bias_column];
        if (addend != nullptr) value += (C)addend[at];
#if IS_REAL
        if (lowest != highest)
          value = value < (C)lowest ? (C)lowest : value > (C)highest ? (C)highest : value;
#endif
        y[at] = value;
      }
    }
  }
}
)CU"};

}  // namespace

Finish::Finish(const NodeView& node, uint32_t dtype)
    : kernel_(load_kernel(node, kSource, defines_of({computes_in(dtype)}), "Finish")) {}

}  // namespace tenon::cuda
