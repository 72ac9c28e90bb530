// Lowering: replaces partitions of edge programs by delegate calls. Source: lowering.md §1b, §2,
// §3, §11.
//
// There is one path for a whole program, one method and many methods. It is all or nothing (on
// error the inputs are as they were, since callers keep or clone them), deterministic, and
// independent of the number of threads.
#ifndef BELAY_EXIR_BACKEND_TO_BACKEND_H_
#define BELAY_EXIR_BACKEND_TO_BACKEND_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Name → program, in method order. Names are unique.
using MethodPrograms = std::vector<std::pair<std::string, ExportedProgram>>;
// Method → partitioner; methods that are not in it are left as they are.
using MethodPartitioners = std::vector<std::pair<std::string, const Partitioner*>>;

struct ToBackendOptions {
  // Partitions of one backend may be preprocessed by so many threads; results are committed in
  // order.
  int threads = 1;
  // Scoped successor of `validation_disabled()`: skips the checks of the partitioner's answer that
  // lowering itself does not need for memory safety.
  bool validate_partitions = true;
};

// The whole program to one backend.
//   kNotFound  the backend is unknown (checked before any work)
//   whatever the backend's Preprocess returns, annotated
absl::StatusOr<std::shared_ptr<const LoweredBackendModule>> ToBackend(
    std::string_view backend_id, const ExportedProgram& program,
    absl::Span<const CompileSpec> compile_specs, const BackendSet& backends);

// What a partitioner marks, to the backends it names.
//   kNotFound            a backend that a tag names is unknown
//   kInvalidArgument     the partitioner's answer is wrong: tags on user inputs, a tag without a
//   specification, an empty
//                        tag, a node tagged twice, a no_copy constant with users elsewhere. Names
//                        tag, node, user.
//   kFailedPrecondition  a partition is not convex: names the tag and prints the path that leaves
//   and re-enters it whatever a backend returns, annotated with backend, method, tag and partition
//   index
absl::StatusOr<ExportedProgram> ToBackend(const ExportedProgram& program,
                                          const Partitioner& partitioner,
                                          const BackendSet& backends,
                                          const ToBackendOptions& options = {});

// The same for several methods at once; backends see all methods together (PreprocessMultimethod).
//   kInvalidArgument  a partitioner for a method that does not exist
absl::StatusOr<MethodPrograms> ToBackend(const MethodPrograms& methods,
                                         const MethodPartitioners& partitioners,
                                         const BackendSet& backends,
                                         const ToBackendOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TO_BACKEND_H_
