// The attributes and sizes of RNN, GRU and LSTM.
#pragma once

#include <string>
#include <vector>

#include "kernels/common/kernel.h"

namespace tenon::cuda {

enum class Cell { kRnn, kGru, kLstm };

/// Gates of a cell: as many as it has products with its last result.
constexpr int64_t gates_of(Cell cell) { return cell == Cell::kRnn ? 1 : cell == Cell::kGru ? 3 : 4; }

/// What the kernels are told. Declared alike in the text. Activations: those of the first direction, then of the second.
struct Recurrence {
  int32_t time = 0, batch = 0, hidden = 0, directions = 1;
  int32_t is_batch_first = 0, is_reverse = 0, is_linear_before_reset = 0, is_input_forget = 0;
  float clip = 0;  // 0: none
  int32_t activation[6] = {};
  float alpha[6] = {}, beta[6] = {};
};

/// The attributes; without sizes. Throws INVALID_ARGUMENT for activations that do not fit.
Recurrence recurrence_of(const NodeView& n, Cell cell);

Support check_recurrent(const NodeView& n);

/// Adds the sizes, sets the outputs, and checks what depends on direction and layout.
Recurrence with_sizes(PrepareContext& p, const Recurrence& attributes, Cell cell);

}  // namespace tenon::cuda
