// A program as viewers of graphs want it: nodes with names, types and edges, nothing to look up.
//
// What is drawn of an exported program (draw_exported.h) and of a program file (draw_program_file.h),
// and written for each viewer (model_explorer.h, dot.h, report_page.h).
#ifndef BELAY_TOOLS_GRAPH_DRAWN_PROGRAM_H_
#define BELAY_TOOLS_GRAPH_DRAWN_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::tools {

// Texts are those of the file, any bytes: who writes them escapes them.
struct DrawnEdge {
  uint32_t node = 0;     // of the same graph: who produces the value; later ones where a loop is
  uint32_t output = 0;   // which of its results
  std::string argument;  // what the consumer calls it: "self"
};
struct DrawnResult {
  std::string name, type;  // "relu", "f32[2,4]"
};
struct DrawnNode {
  std::string name = {};
  std::string op = {};  // "aten.add.Tensor"; "input", "output"; a constant's kind: "parameter"
  std::string source = {}, module = {};  // "model.py:12", "layers.0.attn"; "" where unknown
  std::vector<DrawnEdge> operands = {};
  std::vector<DrawnResult> results = {};
  std::vector<std::pair<std::string, std::string>> attributes = {};  // other arguments, as text
  std::vector<uint32_t> bodies = {};  // graphs of the method that it executes
  std::optional<uint32_t> delegate =
      {};            // of the method: which one computes the node, or is called
  double flops = 0;  // exir/flop_count.h
  // An operator, and not what only stands for values that come and go.
  bool is_operator = true;
};

struct DrawnGraph {
  std::string name;  // "" for the top graph; "true_graph_0"
  std::vector<DrawnNode> nodes = {};
  std::optional<uint32_t> delegate = {};  // that the graph, a body, is in
};
struct DrawnDelegate {
  std::string backend;
  uint64_t blob_bytes = 0;
  std::string call = {};  // name of the first node that calls it, where its nodes stand instead
  std::optional<uint32_t> inside = {};  // another one, before it in the list
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
