// Checks a value against its row of the schema, and converts checked values to typed ones.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "host/base/size.h"
#include "host/base/text.h"
#include "host/base/version.h"
#include "host/config/placement.h"
#include "host/config/schema.h"

namespace tenon::config {
namespace {

// Checks the value of one key. Complaints go to `errors` with the location of the faulty part.
struct Check {
  const KeySpec& spec;
  std::string_view key;
  std::vector<std::string>& errors;

  template <class... Parts>
  void fail(const Value& at, const Parts&... parts) {
    errors.push_back(str_cat(at.where().to_string(), ": '", key, "' ", parts...));
  }
  void wrong_type(const Value& value, std::string_view wanted) {
    fail(value, "must be ", wanted, ", not ", value.type_name());
  }

  void number(const Value& value, bool integer) {
    if (!value.as_int() && (integer || !value.as_double())) {
      return wrong_type(value, integer ? "an integer" : "a number");
    }
    double given = to_number(value);
    if (std::isnan(given) || given < spec.min || given > spec.max) {
      fail(value, "is ", value.to_toml(), ", outside its range ", spec.min, "..", spec.max);
    }
  }

  void size(const Value& value) {
    if (const int64_t* bytes = value.as_int()) {
      if (*bytes < 0) fail(value, "is negative");
    } else if (const std::string* text = value.as_string()) {
      Result<uint64_t> bytes_of = parse_size(*text);
      if (!bytes_of) fail(value, "is invalid: ", bytes_of.error().message());
    } else {
      wrong_type(value, "a size such as \"4GiB\" or a number of bytes");
    }
  }

  void choice(const Value& value) {
    const std::string* text = value.as_string();
    const std::vector<std::string> usable = usable_words(spec);
    if (!text) return wrong_type(value, "one of \"" + join(usable, "\", \"") + "\"");
    const auto found = std::find_if(spec.words.begin(), spec.words.end(),
                                    [&](const Word& word) { return word.text == *text; });
    if (found == spec.words.end()) {
      fail(value, "cannot be \"", *text, "\"", suggestion(*text, usable));
    } else if (!found->refusal.empty()) {
      fail(value, "cannot be \"", *text, "\": ", found->refusal);
    }
  }

  void strings(const Value& value) {
    const Array* array = value.as_array();
    if (!array) return wrong_type(value, "a list of strings");
    for (const Value& element : *array) {
      const std::string* text = element.as_string();
      if (!text) {
        fail(element, "must hold strings only, not ", element.type_name());
      } else if (text->empty()) {
        fail(element, "holds an empty string");
      } else if (key == "discovery.search" && !std::filesystem::path(*text).is_absolute()) {
        fail(element, "holds '", *text, "', which is not an absolute path");
      }
    }
  }

  void order(const Value& value) {
    if (const std::string* text = value.as_string()) {
      if (*text != "auto") fail(value, "must be \"auto\" or a list such as [\"", *text, "\"]");
      return;
    }
    if (!value.as_array()) return wrong_type(value, "\"auto\" or a list of providers");
    strings(value);
    if (value.as_array()->empty()) fail(value, "is an empty list; name at least one provider");
    std::vector<std::string> seen;
    for (const Value& element : *value.as_array()) {
      const std::string* text = element.as_string();
      if (!text) continue;
      if (provider_of(*text).empty()) fail(element, "holds '", *text, "', which does not name a provider");
      if (std::find(seen.begin(), seen.end(), *text) != seen.end())
        fail(element, "names '", *text, "' twice");
      seen.push_back(*text);
    }
  }

  void pairs(const Value& value) {
    strings(value);
    if (!value.as_array()) return;
    for (const Value& element : *value.as_array()) {
      const std::string* text = element.as_string();
      if (!text || text->empty()) continue;
      const size_t equals = text->find('=');
      const std::string input = text->substr(0, equals),
                        output = equals == std::string::npos ? "" : text->substr(equals + 1);
      const auto stars = [](const std::string& side) { return std::count(side.begin(), side.end(), '*'); };
      if (input.empty() || output.empty() || output.find('=') != std::string::npos) {
        fail(element, "holds '", *text, "', which is not of the form \"input=output\"");
      } else if (stars(input) != stars(output) || stars(input) > 1) {
        fail(element, "holds '", *text, "'; both sides must hold one \"*\", or none");
      }
    }
  }

  void range(const Value& value) {
    const std::string* text = value.as_string();
    if (!text) return wrong_type(value, "a version range such as \">=1.2, <2\"");
    auto parsed = VersionRange::parse(*text);
    if (!parsed) fail(value, "is invalid: ", parsed.error().message());
  }

  void shapes(const Value& list) {
    if (!list.as_array()) return fail(list, "must hold lists of shapes such as [[1, 128], [8, 128]]");
    for (const Value& shape : *list.as_array()) {
      const Array* dims = shape.as_array();
      bool good = dims != nullptr && std::all_of(dims->begin(), dims->end(), [](const Value& dim) {
                    return dim.as_int() && *dim.as_int() >= 0;
                  });
      if (!good) fail(shape, "holds ", shape.to_toml(), ", which is not a shape; a shape is a list of sizes");
    }
  }

  void input(const Value& value) {
    const Table* table = value.as_table();
    if (!table) return sets(value);
    if (table->empty()) return fail(value, "must name at least one input");
    for (const auto& member : *table) sets(member.second);
    for (const auto& member : *table) {
      const Array *first = table->front().second.as_array(), *other = member.second.as_array();
      if (first == nullptr || other == nullptr || first->size() == other->size()) continue;
      fail(member.second, "gives ", other->size(), " shapes for '", member.first, "' and ", first->size(),
           " for '", table->front().first, "'; shapes at the same position belong together");
    }
  }

  void sets(const Value& list) {
    shapes(list);
    if (list.as_array() && list.as_array()->empty()) fail(list, "must hold at least one shape");
  }
};

}  // namespace

void check_value(const KeySpec& spec, std::string_view key, const Value& value,
                 std::vector<std::string>& errors) {
  Check check{spec, key, errors};
  switch (spec.kind) {
    case KeyKind::kBool:
      if (!value.as_bool()) check.wrong_type(value, "true or false");
      return;
    case KeyKind::kInt:
      return check.number(value, true);
    case KeyKind::kFloat:
      return check.number(value, false);
    case KeyKind::kString:
      if (!value.as_string()) check.wrong_type(value, "a string");
      return;
    case KeyKind::kSize:
      return check.size(value);
    case KeyKind::kEnum:
      return check.choice(value);
    case KeyKind::kStrings:
      return check.strings(value);
    case KeyKind::kOrder:
      return check.order(value);
    case KeyKind::kRange:
      return check.range(value);
    case KeyKind::kInput:
      return check.input(value);
    case KeyKind::kPairs:
      return check.pairs(value);
    case KeyKind::kPlacement:
      return check_placement(value, errors);
  }
}

std::vector<std::string> to_strings(const Value& value) {
  std::vector<std::string> out;
  for (const Value& element : *value.as_array()) out.push_back(*element.as_string());
  return out;
}

uint64_t to_bytes(const Value& value) {
  if (const int64_t* bytes = value.as_int()) return static_cast<uint64_t>(*bytes);
  return parse_size(*value.as_string()).value_or(0);
}

double to_number(const Value& value) {
  return value.as_int() ? static_cast<double>(*value.as_int()) : *value.as_double();
}

int to_choice(std::span<const Word> words, const Value& value) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const Word& word) { return word.text == *value.as_string(); });
  return found == words.end() ? 0 : found->value;
}

}  // namespace tenon::config
