// Upper bounds of sizes that a program leaves open, for memory planning.
#ifndef BELAY_EXIR_SIZE_BOUNDS_H_
#define BELAY_EXIR_SIZE_BOUNDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Bounds symbols by `bounds`, then, if `most` is set, sizes of inputs without an upper bound by
// `most`. Adds the symbols of `bounds` that the program has to `found`. Returns whether `most`
// bounds an input. kInvalidArgument if a symbol's lower bound is larger than its new upper bound.
absl::StatusOr<bool> BoundInputs(const std::string& method, ExportedProgram& program,
                                 const absl::btree_map<std::string, int64_t>& bounds,
                                 std::optional<int64_t> most,
                                 absl::flat_hash_set<std::string>& found);

// Bounds data-dependent sizes without an upper bound by `most`, if it is set, then all of them by
// their operators (exir/passes/bound_data_sizes.h), whose errors it returns.
absl::Status BoundResults(ExportedProgram& program, std::optional<int64_t> most);

// kInvalidArgument, with the symbols that the methods have, if `found` lacks a symbol of `bounds`.
absl::Status CheckSizeBounds(const MethodPrograms& methods,
                             const absl::btree_map<std::string, int64_t>& bounds,
                             const absl::flat_hash_set<std::string>& found);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SIZE_BOUNDS_H_
