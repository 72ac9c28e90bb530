#include "exir/size_bounds.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/passes/bound_data_sizes.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Gives an upper bound to unbounded symbols that occur in a tensor's size: of the inputs of graphs,
// or also of results. Returns whether there are any.
bool BoundUnbounded(ExportedProgram& program, int64_t most, bool results) {
  bool changed = false;
  for (const Graph& graph : program.graphs) {
    const auto bound = [&](ValueId id) {
      const TensorMeta* tensor = graph.value(id).tensor();
      if (tensor == nullptr) return;
      std::vector<std::string> symbols;
      for (const SymInt& size : tensor->sizes) {
        if (!size.AsInt().has_value()) size.CollectSymbols(symbols);
      }
      for (const std::string& symbol : symbols) {
        SymRange& range = program.ranges[symbol];
        if (range.max != SymRange::kUnboundedAbove) continue;
        range.max = std::max(range.min, most);
        changed = true;
      }
    };
    for (ValueId id : graph.inputs()) bound(id);
    if (!results) continue;
    for (NodeId node : graph.nodes()) {
      for (const NodeOutput& output : graph.node(node).outputs) {
        for (ValueId id : output.values) bound(id);
      }
    }
  }
  return changed;
}

// Lowers the upper bounds of these symbols of the program. Adds those that it has to `found`.
absl::Status BoundSymbols(ExportedProgram& program,
                          const absl::btree_map<std::string, int64_t>& bounds,
                          absl::flat_hash_set<std::string>& found) {
  for (const auto& [symbol, most] : bounds) {
    const auto range = program.ranges.find(symbol);
    if (range == program.ranges.end()) continue;
    found.insert(symbol);
    if (most < range->second.min) {
      return absl::InvalidArgumentError(absl::StrCat("the size ", symbol, " is at least ",
                                                     range->second.min,
                                                     ", the upper bound given for it is ", most));
    }
    range->second.max = std::min(range->second.max, most);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> BoundInputs(const std::string& method, ExportedProgram& program,
                                 const absl::btree_map<std::string, int64_t>& bounds,
                                 std::optional<int64_t> most,
                                 absl::flat_hash_set<std::string>& found) {
  const absl::Status bounded = BoundSymbols(program, bounds, found);
  if (!bounded.ok()) return Annotate(bounded, absl::StrCat("method '", method, "'"));
  return most.has_value() && BoundUnbounded(program, *most, /*results=*/false);
}

absl::Status BoundResults(ExportedProgram& program, std::optional<int64_t> most) {
  if (most.has_value()) BoundUnbounded(program, *most, /*results=*/true);
  return BoundDataSizes().run(program).status();
}

absl::Status CheckSizeBounds(const MethodPrograms& methods,
                             const absl::btree_map<std::string, int64_t>& bounds,
                             const absl::flat_hash_set<std::string>& found) {
  for (const auto& [symbol, most] : bounds) {
    if (found.contains(symbol)) continue;
    absl::btree_set<std::string> known;
    for (const auto& [name, program] : methods) {
      for (const auto& [other, range] : program.ranges) known.insert(other);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("unknown size '", symbol, "' in the upper bounds of sizes; the program has: ",
                     known.empty() ? "none" : absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace belay::exir
