// What NVIDIA's library and its stand-in answer to one of the programs beside this file, and what was recorded of NVIDIA's.
//
// To record anew: run the program with NVIDIA's library, and keep what it prints.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace answers {

using Lines = std::vector<std::string>;

inline Lines lines_of(std::istream& in) {
  Lines out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// In a process of its own, as NVIDIA's libraries are not made to be asked everything.
inline Lines ask(const std::string& program, const std::string& folders, const std::string& library,
                 const std::string& argument = {}) {
  const std::string command = "LD_LIBRARY_PATH='" + folders + "' '" ASK_FOLDER "/" + program + "' '" +
                              library + "' " + argument + " 2>/dev/null";
  FILE* const pipe = popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr) << command;
  std::stringstream text;
  char buffer[4096];
  for (size_t read; pipe != nullptr && (read = fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    text.write(buffer, static_cast<std::streamsize>(read));
  EXPECT_EQ(pipe == nullptr ? -1 : pclose(pipe), 0) << command;
  return lines_of(text);
}

inline Lines ask_stand_in(const std::string& program, const std::string& argument = {}) {
  return ask(program, ASK_FOLDER, STAND_IN, argument);
}
#ifdef NVIDIA
/// Only where NVIDIA's library is (nvidia.cmake).
inline Lines ask_nvidia(const std::string& program, const std::string& argument = {}) {
  return ask(program, NVIDIA_FOLDER, NVIDIA, argument);
}
#endif
inline Lines recorded(const std::string& name) {
  std::ifstream file(RECORDED "/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  return lines_of(file);
}

/// Names the lines that differ.
inline void expect_same(const Lines& asked, const Lines& expected, const Lines& known = {}) {
  ASSERT_EQ(asked.size(), expected.size());
  ASSERT_GT(expected.size(), 100U);
  for (size_t i = 0; i < asked.size(); ++i) {
    bool is_known = false;
    for (const std::string& part : known) is_known |= asked[i].find(part) != std::string::npos;
    if (is_known) continue;
    EXPECT_EQ(asked[i], expected[i]);
  }
}

}  // namespace answers
