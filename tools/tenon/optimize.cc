// tenon optimize: writes the transformed model as ONNX.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tools/tenon/command.h"

namespace tenon::cli {

void add_optimize(CLI::App& app, int& exit) {
  struct Flags {
    std::string model, output;
    SessionFlags session;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("optimize", "Write the transformed model as ONNX");
  command->add_option("model", flags->model, "ONNX file")->required();
  command->add_option("-o,--output", flags->output, "File to write")->required();
  flags->session.add_to(*command);
  command->footer("Example: tenon optimize model.onnx -o model.optimized.onnx");
  command->callback([flags, &exit] {
    Config config = flags->session.config();
    detail::Check check;
    check(api().model_optimize(as_str(flags->model), config.get(), as_str(flags->output), check.out()));
    std::printf("wrote %s\n", flags->output.c_str());
    exit = kSuccess;
  });
}

}  // namespace tenon::cli
