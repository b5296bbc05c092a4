// Image files as input tensors. The model's metadata says how to convert them (docs/command-line.md).
#pragma once

#include <map>
#include <string>

#include "host/include/tenon/tenon.hpp"

namespace tenon::cli {

/// Reads a PNG, JPEG or BMP file for `info` (float32, rank 3 or 4). Metadata keys:
/// tenon.image.{layout,color,resize,mean,std}.
Value read_image(const std::string& path, const tenon_io_info& info,
                 const std::map<std::string, std::string>& metadata);

}  // namespace tenon::cli
