// Probes: small nodes with which the kit finds operators that a provider runs. They are common ONNX operators, and
// those that the author adds in *.case.json files.
#pragma once

#include <string>
#include <vector>

#include "ep-sdk/cts/graph.h"
#include "ep-sdk/cts/target.h"

namespace tenon::cts {

struct Probe {
  std::string name;
  NodeCase node;
  bool has_expected = false;  // outputs hold data
};

/// The probes of the --cases folders, then the kit's own. Throws std::runtime_error for an invalid file.
std::vector<Probe> all_probes(const Target& target);

/// Probes large enough for a parallel loop, and small enough for buffers of 1 MiB; without expected data.
std::vector<Probe> large_probes();

/// Probes whose Run fails: the operator forbids their data.
std::vector<Probe> failing_probes();

/// One case file:
///   {"op_type": "AddVersion", "domain": "com.example", "since": 1, "attributes": {"axis": 1},
///    "inputs": [{"dtype": "float32", "dims": [2], "values": [1, 2], "constant": false}],
///    "outputs": [{"dtype": "float32", "dims": [2], "values": [2, 3]}]}
/// Values of outputs may be left out. Attributes are integers, floats, strings and lists of them.
Probe read_case_file(const std::string& path);

}  // namespace tenon::cts
