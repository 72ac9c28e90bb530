// A program for graph viewers: nodes with names, types and edges, all self-contained.
//
// Drawn from exported programs (draw_exported.h) and program files (draw_program_file.h), and
// written in the formats of viewers (model_explorer.h, dot.h, report_page.h).
#ifndef BELAY_TOOLS_GRAPH_DRAWN_PROGRAM_H_
#define BELAY_TOOLS_GRAPH_DRAWN_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::tools {

// Strings are copied from the file and may have any bytes: writers must escape them.
struct DrawnEdge {
  uint32_t node = 0;     // producer, in the same graph; a later node in a loop
  uint32_t output = 0;   // which of its results
  std::string argument;  // the consumer's argument name: "self"
};
struct DrawnResult {
  std::string name, type;  // "relu", "f32[2,4]"
};
struct DrawnNode {
  std::string name = {};
  std::string op = {};  // "aten.add.Tensor"; "input", "output"; a constant's kind: "parameter"
  std::string source = {}, module = {};  // "model.py:12", "layers.0.attn"; "" if unknown
  std::vector<DrawnEdge> operands = {};
  std::vector<DrawnResult> results = {};
  std::vector<std::pair<std::string, std::string>> attributes = {};  // other arguments, as strings
  std::vector<uint32_t> bodies = {};  // indices of the method's subgraphs that it executes
  std::optional<uint32_t> delegate =
      {};            // of the method: the delegate that computes or is called by the node
  double flops = 0;  // in one run of the method: FlopsOf times RunsOfGraphs (exir/flop_count.h)
  // False for inputs, constants, states and outputs.
  bool is_operator = true;
};

struct DrawnGraph {
  std::string name;  // "" for the top graph; "true_graph_0"
  std::vector<DrawnNode> nodes = {};
  std::optional<uint32_t> delegate = {};  // that contains this subgraph
};
struct DrawnDelegate {
  std::string backend;
  uint64_t blob_bytes = 0;
  std::string call = {};                // name of the first calling node, which its nodes replace
  std::optional<uint32_t> inside = {};  // enclosing one, earlier in the list
};
struct DrawnConstant {
  std::string name, kind, type;  // "fc.weight", "parameter", "f32[4,3]"
  uint64_t bytes = 0;
  std::optional<uint32_t> delegate = {};  // that owns it
};
struct DrawnMethod {
  std::string name;
  std::vector<DrawnGraph> graphs = {};  // the first is the top graph
  std::vector<DrawnDelegate> delegates = {};
  std::vector<DrawnConstant> constants = {};
};
using DrawnProgram = std::vector<DrawnMethod>;

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_DRAWN_PROGRAM_H_
