// An application that stays up while packages are upgraded under it.
//   session_holder MODEL [KEY=VALUE...]: takes a picture's model, and settings of the config with values in TOML.
// Each line of its input is a command, "make NAME", "run NAME" or "end NAME" of a session; each gets a line as answer:
// the session's instances, its outputs, "ended", or what was wrong.
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

struct Holder {
  const char* model;
  tenon::Config config{};
  std::map<std::string, tenon::Session> sessions{};

  std::string make(const std::string& name) {
    std::string answer;
    const auto made = sessions.insert_or_assign(name, tenon::Session(model, config)).first;
    for (const tenon::InstanceInfo& instance : made->second.instances())
      answer += instance.provider + " " + instance.version + " " + instance.library + ";";
    return answer;
  }

  std::string run(const std::string& name) {
    std::vector<float> image(64);
    for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i) / 64;
    const auto outputs = sessions.at(name).run({{"image", tenon::Value::view<float>({1, 1, 8, 8}, image)}});
    std::string answer;
    for (const float number : outputs[0].value.data<float>()) {
      char text[32];
      std::snprintf(text, sizeof text, "%a ", static_cast<double>(number));
      answer += text;
    }
    return answer;
  }

  std::string obey(const std::string& command, const std::string& name) {
    if (command == "make") return make(name);
    if (command == "run") return run(name);
    if (command == "end") return sessions.erase(name) == 1 ? "ended" : "wrong: there is no such session";
    return "wrong: there is no command " + command;
  }
};

std::string one_line(std::string text) {
  for (char& letter : text)
    if (letter == '\n') letter = ' ';
  return text;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fprintf(stderr, "usage: session_holder MODEL [KEY=VALUE...]\n");
    return 2;
  }
  Holder holder{argv[1]};
  for (int i = 2; i < argc; ++i) {
    const std::string setting = argv[i];
    const size_t equals = setting.find('=');
    holder.config.set(setting.substr(0, equals), setting.substr(equals + 1));
  }
  for (std::string command, name; std::cin >> command >> name;) {
    std::string answer;
    try {
      answer = holder.obey(command, name);
    } catch (const std::exception& error) {
      answer = std::string("wrong: ") + error.what();
    }
    std::cout << one_line(answer) << std::endl;
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
