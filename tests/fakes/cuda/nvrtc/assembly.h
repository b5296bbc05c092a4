// Inline PTX that the stand-in knows.
#pragma once

#include <string>
#include <vector>

#include "lexer.h"

namespace fake_cuda {

/// The statement that does the same; `tokens` are those between the brackets of asm(). Empty if it is not known.
std::string translate_assembly(const std::vector<Token>& tokens);

}  // namespace fake_cuda
