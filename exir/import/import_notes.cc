#include "exir/import/import_notes.h"

#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "exir/ir/type_expressions.h"
#include "runtime/core/printable.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

template <class Fn>
void ForEachValueOf(const Graph& graph, Fn fn) {
  for (ValueId input : graph.inputs()) fn(graph.value(input));
  for (NodeId node : graph.nodes()) {
    for (const NodeOutput& output : graph.node(node).outputs) {
      for (ValueId value : output.values) fn(graph.value(value));
    }
  }
}

// Returns "1 tensor", "2 tensors".
std::string Counted(size_t count, std::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

}  // namespace

std::vector<std::string> ImportNotes(const ExportedProgram& program, const NoteNames& zero_filled) {
  NoteNames elsewhere, unused;
  absl::flat_hash_set<std::string> used;
  std::vector<std::string> symbols;  // symbols of one expression
  const auto use = [&](const SymExpr& expression) {
    if (expression.AsInt().has_value()) return;
    symbols.clear();
    expression.CollectSymbols(symbols);
    used.insert(symbols.begin(), symbols.end());
  };
  for (const Graph& graph : program.graphs) {
    ForEachValueOf(graph, [&](const Value& value) {
      if (const TensorMeta* tensor = value.tensor()) {
        if (tensor->device.type != "cpu")
          elsewhere.Add(absl::StrCat(value.name, " (", tensor->device.type, ")"));
      }
      ForEachExpression(value.type, use);
    });
  }
  for (const auto& [symbol, range] : program.ranges) {
    if (!used.contains(symbol)) unused.Add(symbol);
  }
  std::vector<std::string> notes;
  const auto note = [&notes](const NoteNames& names, std::string_view what, std::string_view fact) {
    if (names.empty()) return;
    notes.push_back(
        Printable(absl::StrCat(Counted(names.count(), what), " ", fact, ": ", names.ToString())));
  };
  note(zero_filled, "tensor", "without data in the archive, filled with zeros");
  note(elsewhere, "value", "on another device, moved to the CPU");
  note(unused, "symbol", "with a range, but not used in the graphs' types");
  return notes;
}

}  // namespace belay::exir
