#include "host/config/config.h"

#include <algorithm>
#include <filesystem>
#include <new>

#include "host/base/environment.h"
#include "host/base/text_file.h"
#include "host/config/flatten.h"
#include "host/config/read.h"
#include "host/config/schema.h"

namespace tenon::config {
namespace {

constexpr std::string_view kProvider = "provider.";
constexpr std::string_view kOptions = ".options.";

// "provider.cuda.options.tf32" -> "tf32"; empty for other keys.
std::string_view option_in_key(std::string_view key) {
  std::string_view id = provider_in_key(key);
  if (id.empty()) return {};
  std::string_view rest = key.substr(kProvider.size() + id.size());
  if (rest.substr(0, kOptions.size()) != kOptions) return {};
  return rest.substr(kOptions.size());
}

// The key's place in the order of the schema. Options follow the other keys of their provider.
size_t row_of(std::string_view key) {
  const KeySpec* spec = find_key(key);
  if (spec != nullptr) return static_cast<size_t>(spec - schema().data());
  return static_cast<size_t>(find_key("provider.*.on_lost") - schema().data());
}

bool shown_before(const EffectiveValue& a, const EffectiveValue& b) {
  std::string_view provider_a = provider_in_key(a.key), provider_b = provider_in_key(b.key);
  if (!provider_a.empty() && !provider_b.empty() && provider_a != provider_b) return provider_a < provider_b;
  size_t row_a = row_of(a.key), row_b = row_of(b.key);
  if (row_a != row_b) return row_a < row_b;
  bool option_a = !option_in_key(a.key).empty(), option_b = !option_in_key(b.key).empty();
  return option_a != option_b ? option_b : a.key < b.key;
}

// The built-in layer, parsed once. The table is compiled in, and a test checks that it parses.
const FlatValues& builtin_values() {
  // Never destroyed: sessions may be made while statics are destroyed.
  static const FlatValues& values = *new const FlatValues([] {
    FlatValues out;
    for (const KeySpec& spec : schema()) {
      if (spec.default_toml.empty()) continue;
      Result<Value> root = read_toml(str_cat("v = ", spec.default_toml), "built-in");
      if (!root) throw std::bad_alloc();  // the only possible error
      out.emplace_back(std::string(spec.key), (*root->as_table())[0].second.at({"built-in", 0}));
    }
    return out;
  }());
  return values;
}

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

std::string_view provider_of(std::string_view order_entry) {
  return order_entry.substr(0, order_entry.find('/'));
}

std::string_view device_of(std::string_view order_entry) {
  size_t slash = order_entry.find('/');
  return slash == std::string_view::npos ? std::string_view() : order_entry.substr(slash + 1);
}

std::string_view layer_name(Layer layer) {
  constexpr std::string_view kNames[] = {"built-in", "system", "user", "file", "environment", "api"};
  return kNames[static_cast<int>(layer)];
}

std::string EffectiveValue::origin() const { return value.where().to_string(); }

Config::Config() {
  for (const auto& [key, value] : builtin_values()) values_[key] = {key, value, Layer::kBuiltin};
  rebuild();
}

Result<Config> Config::load(const std::string& path) {
  LoadOptions options;
  options.file = path;
  return load(options);
}

Result<Config> Config::load(const LoadOptions& options) {
  Config config;
  if (options.system_file && file_exists(options.system_path)) {
    RETURN_IF_ERROR(config.apply_file(options.system_path, Layer::kSystem));
  }
  if (std::optional<std::string> folder = user_directory("CONFIG", ".config"); options.user_file && folder) {
    std::string path = *folder + "/tenon/config.toml";
    if (file_exists(path)) RETURN_IF_ERROR(config.apply_file(path, Layer::kUser));
  }
  if (options.text) {
    RETURN_IF_ERROR(config.apply_text(*options.text, options.text_name));
  } else {
    std::string file = options.file;
    if (file.empty() && options.environment) file = environment("TENON_CONFIG").value_or("");
    if (!file.empty()) RETURN_IF_ERROR(config.apply_file(file, Layer::kFile));
  }
  if (options.environment) RETURN_IF_ERROR(config.apply_environment());
  return config;
}

Status Config::apply_file(const std::string& path, Layer layer) {
  Result<std::string> text = read_text_file(path, kMaxConfigBytes);
  if (!text && text.error().kind() == ErrorKind::kOutOfMemory) return text.error();
  if (!text) return config_error("config ", text.error().message());
  return ends_with(path, ".json") ? apply_json(*text, path, layer) : apply_toml(*text, path, layer);
}

Status Config::apply_text(std::string_view text, const std::string& source) {
  if (text.size() > kMaxConfigBytes)
    return config_error(source, " has ", text.size(), " bytes; the limit is ", kMaxConfigBytes);
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && text[first] == '{';
  return is_json ? apply_json(text, source) : apply_toml(text, source);
}

Status Config::apply_toml(std::string_view text, const std::string& source, Layer layer) {
  ASSIGN_OR_RETURN(Value root, read_toml(text, source));
  return merge(root, layer);
}

Status Config::apply_json(std::string_view text, const std::string& source, Layer layer) {
  ASSIGN_OR_RETURN(Value root, read_json(text, source));
  return merge(root, layer);
}

// A weaker layer that is applied later does not replace a stronger layer's value.
Status Config::merge(const Value& root, Layer layer) {
  ASSIGN_OR_RETURN(FlatValues values, flatten(root));
  Config merged(*this);  // a copy, so that *this is unchanged when memory runs out
  for (auto& [key, value] : values) {
    auto found = merged.values_.find(key);
    if (found != merged.values_.end() && found->second.layer > layer) continue;
    merged.values_[key] = {key, std::move(value), layer};
  }
  merged.rebuild();
  std::swap(*this, merged);
  return ok_status();
}

void Config::rebuild() {
  settings_ = Settings();
  for (const auto& [key, effective] : values_) {
    std::string_view id = provider_in_key(key), option = option_in_key(key);
    if (!option.empty()) {
      settings_.providers[std::string(id)].options.emplace_back(std::string(option), effective.value);
    } else {
      find_key(key)->assign(settings_, id, effective.value);
    }
  }
}

const ProviderSettings& Config::provider(std::string_view id) const {
  static const ProviderSettings kDefaults;
  auto found = settings_.providers.find(std::string(id));
  return found == settings_.providers.end() ? kDefaults : found->second;
}

std::vector<EffectiveValue> Config::show() const {
  std::vector<EffectiveValue> out;
  for (const auto& entry : values_) out.push_back(entry.second);
  std::stable_sort(out.begin(), out.end(), shown_before);
  return out;
}

const EffectiveValue* Config::find(std::string_view key) const {
  auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::string Config::to_toml(bool origins) const {
  auto line = [&](const EffectiveValue& effective, std::string_view name) {
    std::string text = str_cat(name, " = ", effective.value.to_toml());
    return origins ? str_cat(text, "  # ", effective.origin(), "\n") : text + "\n";
  };
  std::string top = "schema = 1\n", sections, open;
  for (const EffectiveValue& effective : show()) {
    std::string_view option = option_in_key(effective.key);
    size_t name_size = option.empty() ? effective.key.size() - effective.key.rfind('.') - 1 : option.size();
    if (effective.key.find('.') == std::string::npos) {
      top += line(effective, effective.key);
      continue;
    }
    std::string section = effective.key.substr(0, effective.key.size() - name_size - 1);
    if (section != open) sections += str_cat("\n[", section, "]\n");
    open = section;
    std::string name = effective.key.substr(effective.key.size() - name_size);
    sections += line(effective, option.find('.') == std::string_view::npos ? name : quote_toml(name));
  }
  return top + sections;
}

bool is_valid_provider_id(std::string_view id) {
  if (id.empty() || id.size() > 63 || id[0] == '-' || id[0] == '_') return false;
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace tenon::config
