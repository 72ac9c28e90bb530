#include "tools/graph/dot.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "tools/graph/backend_colors.h"

namespace belay::tools {
namespace {

// Quotes a string. JSON's escapes for quotes, backslashes and line feeds are valid in DOT; "&" is
// escaped because DOT replaces HTML entities.
std::string Quoted(std::string_view text) {
  return nlohmann::json(absl::StrReplaceAll(std::string(text), {{"&", "&amp;"}}))
      .dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

std::string NodeId(size_t method, size_t graph, size_t node) {
  return absl::StrCat("m", method, "g", graph, "n", node);
}

void AppendGraph(const DrawnProgram& program, size_t m, size_t g, const BackendColors& colors,
                 std::string& text) {
  const DrawnMethod& method = program[m];
  const DrawnGraph& graph = method.graphs[g];
  const std::string name = g == 0 ? method.name : absl::StrCat(method.name, " / ", graph.name);
  absl::StrAppend(&text, "  subgraph cluster_m", m, "g", g, " {\n    label=", Quoted(name), ";\n");
  std::string edges;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const DrawnNode& node = graph.nodes[n];
    const std::string id = NodeId(m, g, n);
    std::string label = node.is_operator ? absl::StrCat(node.op, "\n", node.name) : node.name;
    std::string tooltip = node.op;
    for (const std::string* part : {&node.module, &node.source}) {
      if (!part->empty()) absl::StrAppend(&tooltip, "\n", *part);
    }
    absl::StrAppend(&text, "    ", id, " [label=", Quoted(label), ", tooltip=", Quoted(tooltip));
    if (!node.is_operator) absl::StrAppend(&text, ", shape=ellipse");
    if (node.delegate.has_value()) {
      absl::StrAppend(&text, ", fillcolor=\"",
                      std::string(colors.Of(method.delegates[*node.delegate].backend)), "\"");
    }
    absl::StrAppend(&text, "];\n");
    for (const DrawnEdge& edge : node.operands) {
      absl::StrAppend(&edges, "  ", NodeId(m, g, edge.node), " -> ", id,
                      " [label=", Quoted(graph.nodes[edge.node].results[edge.output].type), "];\n");
    }
    for (const uint32_t body : node.bodies) {
      if (method.graphs[body].nodes.empty()) continue;
      absl::StrAppend(&edges, "  ", id, " -> ", NodeId(m, body, 0),
                      " [style=dashed, lhead=cluster_m", m, "g", body, "];\n");
    }
  }
  absl::StrAppend(&text, "  }\n", edges);
}

}  // namespace

std::string DotText(std::string_view label, const DrawnProgram& program) {
  const BackendColors colors(program);
  std::string text = absl::StrCat("digraph {\n  compound=true;\n  label=", Quoted(label),
                                  ";\n  node [shape=box, style=\"filled,rounded\", "
                                  "fillcolor=\"#f4f4f2\", fontname=\"Helvetica\"];\n"
                                  "  edge [fontname=\"Helvetica\", fontsize=9];\n");
  for (const auto& [backend, index] : colors.backends()) {
    absl::StrAppend(&text, "  // ", std::string(colors.Of(backend)), ": ", Quoted(backend), "\n");
  }
  for (size_t m = 0; m < program.size(); ++m) {
    for (size_t g = 0; g < program[m].graphs.size(); ++g) AppendGraph(program, m, g, colors, text);
  }
  absl::StrAppend(&text, "}\n");
  return text;
}

}  // namespace belay::tools
