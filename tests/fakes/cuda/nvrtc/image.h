// What the compiler makes and the driver loads: compiled kernels in a "cubin", or in a "PTX" text that any newer device takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fakes/cuda/device/kernel_abi.h"

namespace fake_cuda {

struct Image {
  int architecture = 0;  // 90 is sm_90
  bool is_ptx = false;   // runs on newer devices, too
  bool finds_races = false;
  std::string key;     // of the object: a hash of all that it was made from
  std::string object;  // a shared object
};

/// A cubin is the bytes "\x7f" "FAKECUBIN\n", then lines of text, then the object.
std::string cubin_of(const Image& image);
/// A text that ends with a 0 which does not count.
std::string ptx_of(const Image& image);

/// How long the image is that begins there. 0 if there is none. Reads no more than its header, or in a PTX up to its 0.
size_t image_size(const void* image);
/// Returns an empty text, or what is wrong with the image.
std::string read_image(std::string_view bytes, Image* out);

/// The kernels of an object, in the order of their entries. False if it is damaged. `static_shared`: bytes of __shared__
/// variables.
bool read_kernels(std::string_view object, std::vector<KernelInfo>* out, size_t* static_shared);
/// The names that an object takes from others.
std::vector<std::string> undefined_names(std::string_view object);

/// 16 hexadecimal digits.
std::string hash_of(std::string_view bytes);

/// Puts a file into the folder of compiled kernels, unless it is there. Other processes see all of it or nothing. Returns an
/// empty text, or what went wrong.
std::string store_file(const std::string& folder, const std::string& name, std::string_view content);
/// False if it cannot be read.
bool load_file(const std::string& path, std::string* out);

}  // namespace fake_cuda
