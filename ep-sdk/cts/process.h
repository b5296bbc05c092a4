// A process of this program, with pipes for requests and answers, and a file for what it prints.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenon::cts {

/// The words before the path of this program on the command lines of later processes: an emulator with its arguments.
/// Empty, as at the beginning: this program runs without one. Not while another thread starts a process.
void set_launcher(std::vector<std::string> words);

class Process {
 public:
  /// Starts this program with `arguments`. Throws std::system_error.
  explicit Process(const std::vector<std::string>& arguments);
  /// Kills the process when it has not ended.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Writes to its standard input; false when it has ended.
  bool write(const std::string& text);
  /// Closes its standard input: a worker that waits for requests ends.
  void close_input();
  /// What it answered since the last call, at most `size` bytes. Waits up to `milliseconds` for the first byte. Empty
  /// when time is up, 0 at the end of the answers.
  std::optional<size_t> read(char* bytes, size_t size, int milliseconds);
  /// Waits for its end. False when time is up.
  bool wait(int milliseconds);
  void kill();

  // After its end:
  bool ended_well() const;
  /// How it ended, in words.
  std::string obituary() const;
  /// The last `most` bytes that it printed.
  std::string output(size_t most) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// In the child: sends bytes to the parent, in order.
void send_to_parent(const std::string& text);

/// The words of the command line, in UTF-8.
std::vector<std::string> command_line(int argc, char** argv);
/// Takes a variable out of the environment of this process.
void unset_variable(const char* name);

}  // namespace tenon::cts
