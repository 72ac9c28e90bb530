// Dimensions of permutations.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_PERMUTED_DIMS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_PERMUTED_DIMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "exir/ir/graph.h"

namespace belay::cpu {

// Returns the `dims` of a permute_copy, none negative: dimension d of the result is dimension
// dims[d] of the operand. nullopt if an element is not an integer in range.
inline std::optional<std::vector<int64_t>> PermutedDims(const exir::Node& permute) {
  const auto* list = permute.argument("dims").get_if<exir::Argument::List>();
  if (list == nullptr) return std::nullopt;
  const auto rank = static_cast<int64_t>(list->size());
  std::vector<int64_t> dims;
  for (const exir::Argument& element : *list) {
    const int64_t* dim = element.get_if<int64_t>();
    if (dim == nullptr || *dim < -rank || *dim >= rank) return std::nullopt;
    dims.push_back(*dim < 0 ? *dim + rank : *dim);
  }
  return dims;
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_PERMUTED_DIMS_H_
