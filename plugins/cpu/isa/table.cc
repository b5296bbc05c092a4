#include "isa/parts.h"

namespace tenon::cpu::isa {
namespace TENON_ISA_NAMESPACE {

static Table make_table() {
  Table table{};
  table.name = TENON_ISA_TEXT_(TENON_ISA);
  fill_elementwise(table);
  fill_rows(table);
  fill_forest(table);
  fill_gemm(table);
  fill_move(table);
  fill_pool(table);
  fill_power(table);
  fill_recurrent(table);
  fill_reduce(table);
  fill_resample(table);
  return table;
}

}  // namespace TENON_ISA_NAMESPACE

const Table& TENON_ISA_JOIN_(table_, TENON_ISA)() {
  static const Table table = TENON_ISA_NAMESPACE::make_table();
  return table;
}

}  // namespace tenon::cpu::isa
