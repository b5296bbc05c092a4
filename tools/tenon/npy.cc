#include "tools/tenon/npy.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "tools/tenon/command.h"

namespace tenon::cli {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr uint64_t kMaxBytes = uint64_t{16} << 30;

struct Descr {
  const char* text;
  uint32_t dtype;
  uint32_t bytes;
};

constexpr Descr kDescrs[] = {
    {"|b1", TENON_BOOL, 1},      {"|u1", TENON_UINT8, 1},        {"|i1", TENON_INT8, 1},
    {"<u2", TENON_UINT16, 2},    {"<i2", TENON_INT16, 2},        {"<u4", TENON_UINT32, 4},
    {"<i4", TENON_INT32, 4},     {"<u8", TENON_UINT64, 8},       {"<i8", TENON_INT64, 8},
    {"<f2", TENON_FLOAT16, 2},   {"<f4", TENON_FLOAT32, 4},      {"<f8", TENON_FLOAT64, 8},
    {"<c8", TENON_COMPLEX64, 8}, {"<c16", TENON_COMPLEX128, 16},
};

// The text between the quotes that follow `key` in the header's dictionary.
std::string quoted_after(const std::string& header, const std::string& key) {
  size_t at = header.find("'" + key + "'");
  if (at == std::string::npos) return {};
  size_t open = header.find('\'', header.find(':', at));
  size_t close = open == std::string::npos ? open : header.find('\'', open + 1);
  return close == std::string::npos ? std::string() : header.substr(open + 1, close - open - 1);
}

std::vector<int64_t> shape_of(const std::string& header, const std::string& path) {
  size_t at = header.find("'shape'");
  size_t open = at == std::string::npos ? at : header.find('(', at);
  size_t close = open == std::string::npos ? open : header.find(')', open);
  if (close == std::string::npos) throw input_error("file '" + path + "'", "the .npy header has no shape");
  std::vector<int64_t> dims;
  const char* p = header.c_str() + open + 1;
  const char* end = header.c_str() + close;
  while (p < end) {
    char* next = nullptr;
    long long dim = std::strtoll(p, &next, 10);
    if (next == p) break;
    if (dim < 0) throw input_error("file '" + path + "'", "the .npy header has a negative dimension");
    dims.push_back(dim);
    p = next;
    while (p < end && (*p == ',' || *p == ' ' || *p == 'L')) ++p;
  }
  return dims;
}

}  // namespace

Value read_npy(const std::string& path) {
  const std::string where = "file '" + path + "'";
  std::ifstream in(path, std::ios::binary);
  if (!in) throw input_error(where, "cannot be opened; check the path and its permissions");
  char start[8];
  if (!in.read(start, 8) || std::memcmp(start, kMagic, 6) != 0)
    throw input_error(where, "is not a .npy file; write one with numpy.save");
  uint32_t header_size = 0;
  unsigned char bytes[4] = {};
  in.read(reinterpret_cast<char*>(bytes), start[6] == 1 ? 2 : 4);
  header_size = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | uint32_t{bytes[3]} << 24;
  if (!in || header_size > (1u << 20)) throw input_error(where, "the .npy header is damaged");
  std::string header(header_size, '\0');
  if (!in.read(header.data(), header_size)) throw input_error(where, "the .npy header is cut off");
  std::string descr = quoted_after(header, "descr");
  const Descr* found = nullptr;
  for (const Descr& entry : kDescrs)
    if (descr == entry.text) found = &entry;
  if (!found)
    throw input_error(
        where, "element type '" + descr + "' is not supported; convert with x.astype('float32') first");
  std::vector<int64_t> dims = shape_of(header, path);
  if (header.find("'fortran_order': True") != std::string::npos && dims.size() > 1)
    throw input_error(where, "is in Fortran order; save numpy.ascontiguousarray(x)");
  uint64_t total = found->bytes;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(total, static_cast<uint64_t>(dim), &total) || total > kMaxBytes)
      throw input_error(where, "the shape asks for more than 16 GiB");
  const auto data_start = in.tellg();
  in.seekg(0, std::ios::end);
  uint64_t there = static_cast<uint64_t>(in.tellg() - data_start);
  if (there < total)
    throw input_error(where, "is cut off: the shape needs " + std::to_string(total) +
                                 " bytes, but the file has " + std::to_string(there));
  in.seekg(data_start);
  Value value = Value::empty_tensor(found->dtype, dims);
  if (total) in.read(static_cast<char*>(value.describe().data), static_cast<std::streamsize>(total));
  return value;
}

void write_npy(const std::string& path, const Value& value) {
  tenon_tensor tensor = value.describe();
  if (tensor.dtype == TENON_STRING)
    throw input_error("file '" + path + "'", "strings cannot be written as .npy; use .pb");
  const char* descr = "|u1";
  std::vector<int64_t> dims(tensor.dims, tensor.dims + tensor.rank);
  bool named = false;
  for (const Descr& entry : kDescrs)
    if (entry.dtype == tensor.dtype) descr = entry.text, named = true;
  if (tensor.dtype == TENON_BFLOAT16) descr = "<u2", named = true;
  if (!named) dims = {static_cast<int64_t>(tensor.byte_size)};
  std::string shape;
  for (int64_t dim : dims) shape += std::to_string(dim) + ", ";
  if (dims.size() > 1)
    shape.resize(shape.size() - 2);
  else if (dims.size() == 1)
    shape.pop_back();
  std::string header =
      "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  const char version[] = {1, 0, static_cast<char>(header.size() & 0xff),
                          static_cast<char>(header.size() >> 8)};
  out.write(kMagic, 6).write(version, 4).write(header.data(), static_cast<std::streamsize>(header.size()));
  if (tensor.byte_size)
    out.write(static_cast<const char*>(tensor.data), static_cast<std::streamsize>(tensor.byte_size));
  out.close();
  if (!out)
    throw input_error("file '" + path + "'",
                      "cannot be written; check the folder, its permissions and free space");
}

}  // namespace tenon::cli
