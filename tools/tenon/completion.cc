#include "tools/tenon/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tools/tenon/command.h"

namespace tenon::cli {
namespace {

/// The commands and flags that may follow the words `path` ("tenon providers list").
struct Place {
  std::string path;
  std::vector<std::string> words;
};

void add_places(const CLI::App& app, const std::string& path, std::vector<Place>& out) {
  Place place{path, {}};
  for (const CLI::App* command : app.get_subcommands({})) place.words.push_back(command->get_name());
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) place.words.push_back("--" + name);
  out.push_back(std::move(place));
  for (const CLI::App* command : app.get_subcommands({}))
    add_places(*command, path + " " + command->get_name(), out);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

/// A shell function `_tenon_words` that prints the words that may follow its arguments.
std::string words_function(const std::vector<Place>& places) {
  std::string out = "_tenon_words() {\n  case \"$*\" in\n";
  for (const Place& place : places)
    out += "    \"" + place.path + "\") printf '%s' \"" + joined(place.words) + "\" ;;\n";
  return out + "  esac\n}\n";
}

std::string for_bash(const std::vector<Place>& places) {
  return words_function(places) + R"sh(_tenon() {
  local current=${COMP_WORDS[COMP_CWORD]} path=tenon word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [ -n "$(_tenon_words "$path $word")" ]; then path="$path $word"; fi
  done
  COMPREPLY=()
  if [[ $current == -* || $path == tenon || $path == "tenon providers" || $path == "tenon config" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_tenon_words "$path")" -- "$current")
  fi
}
complete -o default -F _tenon tenon
)sh";
}

std::string for_zsh(const std::vector<Place>& places) {
  return "#compdef tenon\nautoload -U +X bashcompinit && bashcompinit\n" + for_bash(places);
}

std::string for_fish(const std::vector<Place>& places) {
  std::string out = "complete -c tenon -f\n";
  for (const Place& place : places) {
    const size_t space = place.path.find(' ');
    const std::string seen = space == std::string::npos ? "__fish_use_subcommand"
                                                        : "__fish_seen_subcommand_from " +
                                                              place.path.substr(place.path.rfind(' ') + 1);
    for (const std::string& word : place.words)
      out += "complete -c tenon -n '" + seen + "' " +
             (word.compare(0, 2, "--") == 0 ? "-l " + word.substr(2) : "-a " + word) + "\n";
    if (space != std::string::npos) out += "complete -c tenon -n '" + seen + "' -F\n";
  }
  return out;
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& shell) {
  std::vector<Place> places;
  add_places(app, "tenon", places);
  if (shell == "bash") return for_bash(places);
  if (shell == "zsh") return for_zsh(places);
  if (shell == "fish") return for_fish(places);
  throw Error(TENON_FAILURE_INVALID_INPUT, TENON_INVALID_ARGUMENT, "tenon completion " + shell,
              "is not a known shell: bash, zsh or fish");
}

}  // namespace tenon::cli
