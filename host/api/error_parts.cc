// What an error says about its place, cause and cure, found in its texts. Names in them are quoted and escaped
// (core/base/quote.h), so that they are found again whatever they contain.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "host/api/border.h"
#include "host/api/functions.h"

namespace tenon::c_api {
namespace {

template <size_t kRoom>
std::string_view text_in(const char (&text)[kRoom]) {
  return {text, strnlen(text, kRoom)};
}

/// The size of the quoted name at the begin of `text`, with both quotes; 0 when there is none.
size_t quoted_size(std::string_view text) {
  if (text.empty() || text[0] != '\'') return 0;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '\'') {
      return i + 1;
    }
  }
  return 0;
}

/// The name in quotes at the begin of `text`.
std::string_view quoted(std::string_view text) {
  const size_t size = quoted_size(text);
  return size == 0 ? std::string_view() : text.substr(1, size - 2);
}

/// Takes the outermost place from `where`, up to the next ": " outside of quotes.
std::string_view take_place(std::string_view* where) {
  size_t at = 0;
  while (at < where->size() && where->substr(at, 2) != ": ")
    at += std::max<size_t>(quoted_size(where->substr(at)), 1);
  const std::string_view place = where->substr(0, at);
  where->remove_prefix(std::min(at + 2, where->size()));
  return place;
}

bool take_prefix(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

/// "cuda 1.4.0": an id and a version.
bool is_label(std::string_view text) {
  const auto is_id = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  const size_t space = text.find(' ');
  if (space == 0 || space == std::string_view::npos || space + 1 == text.size()) return false;
  const std::string_view version = text.substr(space + 1);
  return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(space), is_id) &&
         version[0] >= '0' && version[0] <= '9' && version.find(' ') == std::string_view::npos;
}

struct Places {
  std::string_view model, node, op, provider;
};

/// The places before and after what was left out (give_status), without those that were cut, which end with a quote or a bracket.
std::array<std::string_view, 2> whole_places(std::string_view where) {
  const size_t mark = where.find("... [cut: ");
  if (mark == std::string_view::npos) return {where, {}};
  const auto ends_at = [](std::string_view text, size_t from) {
    return (text[from] == '\'' || text[from] == ')') && text.substr(from + 1, 2) == ": ";
  };
  size_t head = mark, rest = mark;
  while (head > 0 && !ends_at(where, head - 1)) --head;
  while (rest < where.size() && !ends_at(where, rest)) ++rest;
  return {where.substr(0, head), rest == where.size() ? std::string_view() : where.substr(rest + 3)};
}

/// The innermost place of each kind, from the outermost place to the innermost.
void add_places(std::string_view where, Places* out) {
  while (!where.empty()) {
    std::string_view place = take_place(&where);
    if (is_label(place)) {
      out->provider = place;
    } else if (take_prefix(&place, "provider ")) {
      const std::string_view name = quoted(place);
      out->provider = name.empty() ? place.substr(0, std::min(place.find(" ("), place.size())) : name;
    } else if (take_prefix(&place, "node ")) {
      const size_t size = quoted_size(place);
      out->node = quoted(place);
      place.remove_prefix(size);
      out->op = take_prefix(&place, " (") ? place.substr(0, place.find(')')) : std::string_view();
    } else if (place == "model in memory") {
      out->model = place;
    } else if (take_prefix(&place, "model ")) {
      out->model = quoted(place);
    }
  }
}

Places places_in(std::string_view where) {
  Places out;
  for (const std::string_view whole : whole_places(where)) add_places(whole, &out);
  return out;
}

struct Sentences {
  std::string_view refusal, reason, cause, cure;
};

/// Only a message with the code of a refusal has a cause and a cure of their own.
Sentences sentences_in(std::string_view message) {
  constexpr std::string_view kCause = ". Cause: ", kCure = ". Cure: ";
  Sentences out;
  const size_t code = message.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
  if (message.substr(0, 2) == "E_" && code != std::string_view::npos && message.substr(code, 2) == ": ") {
    out.refusal = message.substr(0, code);
    message.remove_prefix(code + 2);
  }
  out.reason = message;
  const size_t cure = out.refusal.empty() ? std::string_view::npos : message.rfind(kCure);
  const size_t cause = cure == std::string_view::npos ? cure : message.rfind(kCause, cure);
  if (cause == std::string_view::npos) return out;
  out.reason = message.substr(0, cause);
  out.cause = message.substr(cause + kCause.size(), cure - cause - kCause.size());
  out.cure = message.substr(cure + kCure.size());
  return out;
}

}  // namespace

tenon_str error_part(const tenon_error* error, uint32_t part) {
  if (error == nullptr || error->struct_size < sizeof(tenon_error) || error->code == TENON_OK) return {"", 0};
  const std::string_view where = text_in(error->where), message = text_in(error->message);
  const auto found = [](std::string_view text) { return text.empty() ? tenon_str{"", 0} : to_str(text); };
  switch (part) {
    case TENON_ERROR_PART_MODEL:
      return found(places_in(where).model);
    case TENON_ERROR_PART_NODE:
      return found(places_in(where).node);
    case TENON_ERROR_PART_OPERATOR:
      return found(places_in(where).op);
    case TENON_ERROR_PART_PROVIDER:
      return found(places_in(where).provider);
    case TENON_ERROR_PART_REFUSAL:
      return found(sentences_in(message).refusal);
    case TENON_ERROR_PART_REASON:
      return found(sentences_in(message).reason);
    case TENON_ERROR_PART_CAUSE:
      return found(sentences_in(message).cause);
    case TENON_ERROR_PART_CURE:
      return found(sentences_in(message).cure);
    default:
      return {"", 0};
  }
}

}  // namespace tenon::c_api
