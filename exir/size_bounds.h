// Upper bounds of sizes that a program leaves open, for memory planning.
#ifndef BELAY_EXIR_SIZE_BOUNDS_H_
#define BELAY_EXIR_SIZE_BOUNDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Bounds the sizes of a method: symbols by `bounds`, then, if `most` is set, sizes of inputs without
// an upper bound by `most`, then data-dependent sizes by their operators
// (exir/passes/bound_data_sizes.h), then by `most` those that are still unbounded. If all inputs are
// bounded, `most` limits all data-dependent sizes. Adds the symbols of `bounds` that the
// program has to `found`. kInvalidArgument if a symbol's lower bound is larger than its new upper
// bound; errors of BoundDataSizes.
absl::Status BoundSizes(const std::string& method, ExportedProgram& program,
                        const absl::btree_map<std::string, int64_t>& bounds,
                        std::optional<int64_t> most, absl::flat_hash_set<std::string>& found);

// kInvalidArgument, with the symbols that the methods have, if `found` lacks a symbol of `bounds`.
absl::Status CheckSizeBounds(const MethodPrograms& methods,
                             const absl::btree_map<std::string, int64_t>& bounds,
                             const absl::flat_hash_set<std::string>& found);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SIZE_BOUNDS_H_
