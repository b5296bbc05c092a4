// `--input name=source`: reads files of several kinds, makes random and zero tensors.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "tools/tenon/command.h"
#include "tools/tenon/image.h"
#include "tools/tenon/npy.h"

namespace tenon::cli {
namespace {

std::vector<int64_t> concrete_dims(const tenon_io_info& info, int64_t free_dim) {
  std::vector<int64_t> dims(info.dims, info.dims + std::max(info.rank, 0));
  for (int64_t& dim : dims)
    if (dim < 0) dim = free_dim;
  return dims;
}

template <class T, class Make>
void fill(Value& value, Make make) {
  for (T& element : value.mutable_data<T>()) element = make();
}

std::map<std::string, std::string> metadata_of(const std::string& model_description) {
  nlohmann::json json = nlohmann::json::parse(model_description, nullptr, false);
  std::map<std::string, std::string> out;
  if (json.is_object() && json.contains("metadata"))
    for (auto& [key, value] : json["metadata"].items())
      if (value.is_string()) out[key] = value.get<std::string>();
  return out;
}

Value read_source(const std::string& source, const tenon_io_info& info,
                  const std::map<std::string, std::string>& metadata, uint64_t seed) {
  if (source == "random") return random_value(info, seed);
  if (source == "zeros") {
    Value value = random_value(info, seed);
    tenon_tensor tensor = value.describe();
    if (tensor.byte_size) std::memset(tensor.data, 0, tensor.byte_size);
    return value;
  }
  std::string ending = std::filesystem::path(source).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (!std::filesystem::exists(source))
    throw input_error("input '" + as_string(info.name) + "'", "file '" + source + "' does not exist");
  if (ending == ".npy") return read_npy(source);
  if (ending == ".png" || ending == ".jpg" || ending == ".jpeg" || ending == ".bmp")
    return read_image(source, info, metadata);
  if (ending == ".pb") {
    tenon_value* value = nullptr;
    detail::Check check;
    check(api().value_read_pb(as_str(source), &info, &value, check.out()));
    return Value::adopt(value);
  }
  throw input_error("input '" + as_string(info.name) + "'",
                    "'" + source + "' must be a .npy, .pb, .png, .jpg or .bmp file, 'random' or 'zeros'");
}

const tenon_io_info& find_input(const std::vector<tenon_io_info>& infos, const std::string& name) {
  std::string known;
  for (const tenon_io_info& info : infos) {
    if (as_string(info.name) == name) return info;
    known += (known.empty() ? "" : ", ") + as_string(info.name);
  }
  throw input_error("--input " + name, "the model has no input '" + name + "'; its inputs are: " + known);
}

}  // namespace

Value random_value(const tenon_io_info& info, uint64_t seed, int64_t free_dim) {
  if (info.kind != TENON_KIND_TENSOR)
    throw input_error("input '" + as_string(info.name) + "'",
                      "cannot be random: it is " + as_string(info.type_text));
  std::vector<int64_t> dims = concrete_dims(info, free_dim);
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<float> real(0.0f, 1.0f);
  if (info.dtype == TENON_STRING) {
    uint64_t count = 1;
    for (int64_t dim : dims) count *= static_cast<uint64_t>(dim);
    return Value::strings(dims, std::vector<std::string>(count, "a"));
  }
  Value value = Value::empty_tensor(info.dtype, dims);
  tenon_tensor tensor = value.describe();
  switch (info.dtype) {
    case TENON_FLOAT32:
      fill<float>(value, [&] { return real(engine); });
      break;
    case TENON_FLOAT64:
      fill<double>(value, [&] { return real(engine); });
      break;
    case TENON_BOOL:
      fill<bool>(value, [&] { return (engine() & 1) != 0; });
      break;
    // Small numbers: integer inputs are mostly indices, token ids and masks.
    case TENON_INT32:
      fill<int32_t>(value, [&] { return static_cast<int32_t>(engine() % 2); });
      break;
    case TENON_INT64:
      fill<int64_t>(value, [&] { return static_cast<int64_t>(engine() % 2); });
      break;
    case TENON_FLOAT16:  // 0.5 .. 1: exponent 14, random mantissa
      for (uint64_t i = 0; i < tensor.byte_size / 2; ++i)
        static_cast<uint16_t*>(tensor.data)[i] = static_cast<uint16_t>(0x3800 | (engine() & 0x3ff));
      break;
    case TENON_BFLOAT16:
      for (uint64_t i = 0; i < tensor.byte_size / 2; ++i)
        static_cast<uint16_t*>(tensor.data)[i] = static_cast<uint16_t>(0x3f00 | (engine() & 0x7f));
      break;
    default:
      for (uint64_t i = 0; i < tensor.byte_size; ++i)
        static_cast<uint8_t*>(tensor.data)[i] = static_cast<uint8_t>(engine() & 1);
  }
  return value;
}

std::vector<NamedValue> read_inputs(const Session& session, const std::string& model_description,
                                    const std::vector<std::string>& specs, uint64_t seed) {
  std::vector<tenon_io_info> infos = session.inputs();
  std::map<std::string, std::string> metadata = metadata_of(model_description);
  std::vector<NamedValue> out;
  std::string others;  // "random" or "zeros": source of all inputs that are not named
  for (const std::string& spec : specs) {
    if (infos.size() != 1 && (spec == "random" || spec == "zeros")) {
      if (!others.empty())
        throw input_error(
            "--input " + spec,
            "--input " + others + " is given, too: only one source can be given for all inputs");
      others = spec;
      continue;
    }
    // A name may contain '=', so the text up to the first '=' is used only when no input name matches.
    // Of several names that match, the longest.
    size_t equals = spec.find('=');
    for (const tenon_io_info& info : infos)
      if (spec.size() > info.name.size && spec.compare(0, info.name.size, as_string(info.name)) == 0 &&
          spec[info.name.size] == '=')
        equals = std::max(equals, static_cast<size_t>(info.name.size));
    if (equals == std::string::npos) {
      if (infos.size() != 1)
        throw input_error("--input " + spec, "the model has " + std::to_string(infos.size()) +
                                                 " inputs: say which with NAME=" + spec);
      out.push_back({as_string(infos[0].name), read_source(spec, infos[0], metadata, seed)});
      continue;
    }
    std::string name = spec.substr(0, equals);
    const tenon_io_info& info = find_input(infos, name);
    for (const NamedValue& given : out)
      if (given.name == name) throw input_error("--input " + name, "is given twice");
    out.push_back({name, read_source(spec.substr(equals + 1), info, metadata, seed + out.size())});
  }
  for (const tenon_io_info& info : infos) {
    const bool given = std::any_of(
        out.begin(), out.end(), [&](const NamedValue& value) { return value.name == as_string(info.name); });
    if (others.empty() || given || info.has_default || info.kind == TENON_KIND_OPTIONAL) continue;
    out.push_back({as_string(info.name), read_source(others, info, metadata, seed + out.size())});
  }
  return out;
}

std::vector<NamedValue> InputFlags::read(const Session& session) const {
  std::vector<NamedValue> out = read_inputs(session, session.describe(TENON_DESCRIBE_MODEL), inputs, seed);
  for (const tenon_io_info& info : session.inputs()) {
    std::string name = as_string(info.name);
    const bool given =
        std::any_of(out.begin(), out.end(), [&](const NamedValue& input) { return input.name == name; });
    if (!given && !info.has_default) out.push_back({name, random_value(info, seed, free_dim)});
  }
  return out;
}

}  // namespace tenon::cli
