// Each file of isa/ fills its part of the table, once per instruction set. Its functions are static or in the
// namespace below, so that instruction sets share no symbol.
#pragma once

#include "isa/table.h"

#define TENON_ISA_JOIN2_(a, b) a##b
#define TENON_ISA_JOIN_(a, b) TENON_ISA_JOIN2_(a, b)
#define TENON_ISA_TEXT2_(a) #a
#define TENON_ISA_TEXT_(a) TENON_ISA_TEXT2_(a)
#define TENON_ISA_NAMESPACE TENON_ISA_JOIN_(isa_, TENON_ISA)

/// For functions and lambdas whose arguments must stay in registers.
#define TENON_INLINED __attribute__((always_inline))

namespace tenon::cpu::isa {
struct Integer;
}
namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {

void fill_elementwise(Table& table);
void fill_rows(Table& table);
void fill_forest(Table& table);
void fill_gemm(Table& table);
void fill_move(Table& table);
void fill_pool(Table& table);
void fill_power(Table& table);
void fill_recurrent(Table& table);
void fill_reduce(Table& table);
void fill_resample(Table& table);
void fill_integer_rows(Integer& table);
void fill_integer_depthwise(Integer& table);

/// Moves::transpose_4: out[r * out_stride + c] = in[c * in_stride + r], r < rows and c < columns.
void transpose_words(const void* from, int64_t in_stride, void* to, int64_t out_stride, int64_t rows,
                     int64_t columns);

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
