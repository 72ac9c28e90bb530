// Ranges of the elements of tensors: `x.clamp(0, 7)` has elements from 0 to 7.
#ifndef BELAY_EXIR_PASSES_ELEMENT_RANGES_H_
#define BELAY_EXIR_PASSES_ELEMENT_RANGES_H_

#include "absl/container/flat_hash_map.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Ranges of the elements of the tensors of one graph, derived from dtypes, constants and operators.
// The range of floats is the smallest interval of integers that contains them; NaN is disregarded.
class ElementRanges {
 public:
  // Ranges of sizes are read from `program`, which must outlive the object.
  explicit ElementRanges(const ExportedProgram& program) : program_(program) {}

  // Derives the ranges of the results. Call for each node of the graph, in order.
  void Visit(const Graph& graph, const Node& node);
  // The range of the elements of a tensor, or of an integer.
  SymRange Of(const Graph& graph, ValueId value) const;
  // The range of the sum of `count` elements with this range.
  static SymRange Sum(SymRange range, int64_t count);

 private:
  SymRange OfArgument(const Graph& graph, const Argument& argument) const;
  SymRange OfResult(const Graph& graph, const Node& node, int result) const;
  // The product of the sizes at `dims`, or of all sizes for None or no dimensions, at its maximum.
  int64_t CountOf(const Graph& graph, const Argument& tensor, const Argument& dims) const;

  const ExportedProgram& program_;
  absl::flat_hash_map<ValueId, SymRange> ranges_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_ELEMENT_RANGES_H_
