// The packed products of the instruction set in use.
#pragma once

#include "isa/packing.h"

namespace tenon::cpu {

/// Belongs to isa_table().
const isa::Packing& isa_packing();

}  // namespace tenon::cpu
