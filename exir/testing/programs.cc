#include "exir/testing/programs.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "exir/ir/text.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

}  // namespace

ExportedProgram ParseOrDie(std::string_view text, const OpRegistry& ops) {
  absl::StatusOr<ExportedProgram> program = ParseProgram(text, ops);
  if (!program.ok()) Die(absl::StrCat(program.status().ToString(), "\nin\n", text));
  return *std::move(program);
}

ValueId FindValue(const Graph& graph, std::string_view name) {
  for (ValueId input : graph.inputs()) {
    if (graph.value(input).name == name) return input;
  }
  for (NodeId node : graph.nodes()) {
    for (ValueId value : graph.node(node).results()) {
      if (graph.value(value).name == name) return value;
    }
  }
  Die(absl::StrCat("unknown value ", name));
}

NodeId FindNode(const Graph& graph, std::string_view name) {
  for (NodeId node : graph.nodes()) {
    if (graph.node(node).name == name) return node;
  }
  Die(absl::StrCat("unknown node ", name));
}

}  // namespace belay::exir
