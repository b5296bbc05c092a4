#include "host/config/flatten.h"

#include "host/base/text.h"
#include "host/config/config.h"
#include "host/config/schema.h"

namespace tenon::config {
namespace {

constexpr int64_t kSchemaVersion = 1;

class Flattener {
 public:
  Result<FlatValues> run(const Value& root) {
    for (const auto& [name, value] : *root.as_table()) top(name, value);
    if (unread_ != 0)
      errors_.push_back(str_cat(root.where().source, ": ", unread_, " more keys were not checked"));
    if (!errors_.empty()) return config_error(join(errors_, "\n"));
    return std::move(values_);
  }

 private:
  // True after kMaxComplaints mistakes, because searching the nearest valid name for each takes time.
  bool enough() {
    if (errors_.size() < kMaxComplaints) return false;
    ++unread_;
    return true;
  }

  template <class... Parts>
  void fail(const Value& at, const Parts&... parts) {
    errors_.push_back(str_cat(at.where().to_string(), ": ", parts...));
  }

  void unknown(const std::string& prefix, const std::string& name, const Value& value) {
    std::string section = prefix.empty() ? "" : prefix + ".";
    fail(value, "unknown key '", section, name, "'", suggestion(name, names_below(prefix), section));
  }

  void top(const std::string& name, const Value& value) {
    if (enough()) return;
    if (name == "schema") {
      if (!value.as_int() || *value.as_int() != kSchemaVersion) {
        fail(value, "'schema' is ", value.to_toml(), ", but this version reads only ", kSchemaVersion);
      }
    } else if (name == "provider") {
      providers(value);
    } else if (find_key(name)) {
      leaf(name, value);
    } else if (!names_below(name).empty()) {
      section(name, value);
    } else {
      unknown("", name, value);
    }
  }

  void section(const std::string& prefix, const Value& value) {
    const Table* table = value.as_table();
    if (!table) return fail(value, "'", prefix, "' must be a table, not ", value.type_name());
    for (const auto& [name, member] : *table) {
      if (enough()) continue;
      if (find_key(prefix + "." + name)) {
        leaf(prefix + "." + name, member);
      } else {
        unknown(prefix, name, member);
      }
    }
  }

  void providers(const Value& value) {
    const Table* table = value.as_table();
    if (!table) return fail(value, "'provider' must be a table of providers, not ", value.type_name());
    for (const auto& [id, settings] : *table) {
      if (enough()) continue;
      if (!is_valid_provider_id(id)) {
        fail(settings, "'", id, "' is not a provider id: an id is made of a-z, 0-9, '_' and '-'");
      } else if (!settings.as_table()) {
        fail(settings, "'provider.", id, "' must be a table, not ", settings.type_name());
      } else {
        one_provider("provider." + id, *settings.as_table());
      }
    }
  }

  void one_provider(const std::string& prefix, const Table& settings) {
    for (const auto& [name, value] : settings) {
      if (enough()) continue;
      if (name == "options") {
        options(prefix + ".options", value);
      } else if (find_key(prefix + "." + name)) {
        leaf(prefix + "." + name, value);
      } else {
        unknown(prefix, name, value);
      }
    }
  }

  // Options are not checked here: only their provider's manifest declares them.
  void options(const std::string& prefix, const Value& value) {
    const Table* table = value.as_table();
    if (!table) return fail(value, "'", prefix, "' must be a table, not ", value.type_name());
    for (const auto& [name, option] : *table) values_.emplace_back(prefix + "." + name, option);
  }

  void leaf(const std::string& key, const Value& value) {
    check_value(*find_key(key), key, value, errors_);
    values_.emplace_back(key, value);
  }

  FlatValues values_;
  std::vector<std::string> errors_;
  size_t unread_ = 0;
};

}  // namespace

Result<FlatValues> flatten(const Value& root) { return Flattener().run(root); }

}  // namespace tenon::config
