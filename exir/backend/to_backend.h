// Lowering: replaces partitions of edge programs by delegate calls. Source: docs/lowering.md §1b, §2,
// §3, §11.
//
// There is one path for a whole program, one method and many methods. It is all or nothing (on
// error the inputs are as they were, since callers keep or clone them), deterministic, and
// independent of the number of threads.
#ifndef BELAY_EXIR_BACKEND_TO_BACKEND_H_
#define BELAY_EXIR_BACKEND_TO_BACKEND_H_

#include <memory>
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

// Why a partitioner did not take a node (PartitionResult::rejections). Names stay while nodes around
// them go into delegates.
struct Refusal {
  std::string method, graph, node;  // Graph::name, Node::name
  std::string reason;
};

struct ToBackendOptions {
  // Partitions of one backend may be preprocessed by so many threads; results are committed in
  // order.
  int threads = 1;
  // Scoped successor of `validation_disabled()`: skips the checks of the partitioner's answer that
  // lowering itself does not need.
  bool validate_partitions = true;
  // Filled with what was probably not meant but has one safe meaning, one line each: a tag that is
  // not in the map, a constant that stays although it was tagged, or moves to another tag than its
  // own.
  std::vector<std::string>* notes = nullptr;
  // Gets what each partitioner refused, in the order of the methods.
  std::vector<Refusal>* refusals = nullptr;
};

// The whole program to one backend.
//   kNotFound            the backend is unknown (checked before any work)
//   kFailedPrecondition  the program is not of the edge dialect (names the first node; row 11), or
//                        does not verify
//   kUnimplemented       the compile specs ask for a device that the backend does not support
//   whatever the backend's Preprocess returns, annotated
absl::StatusOr<std::shared_ptr<const LoweredBackendModule>> ToBackend(
    std::string_view backend_id, const ExportedProgram& program,
    absl::Span<const CompileSpec> compile_specs, const BackendSet& backends);

// What a partitioner marks, to the backends it names. Partitions of one graph that carry the same
// tag become one delegate call; bodies of control flow that stays are lowered too. Calls are
// numbered (ModuleId) by backend, in the order in which the tags first name them, and then in graph
// order, bodies after the graph that holds them. Nodes that stay keep their order as far as data
// flow allows.
//   kNotFound            a backend that a tag names is unknown
//   kUnimplemented       a tag's compile specs ask for a device that its backend does not support
//   kInvalidArgument     the partitioner's answer is wrong: tags without a map, an empty tag, a tag
//                        twice in the map, a tag on a user input, a node tagged twice, a no_copy
//                        constant with users elsewhere. Names tag, node, user.
//   kFailedPrecondition  the program is not of the edge dialect (names the first node), or does not
//                        verify; a partition is not convex, or two need each
//                        other: names the tag and prints the path that leaves and re-enters it
//   kAlreadyExists       two delegates store different bytes under one key
//   kInternal            a backend's reply does not fit what it was given
//   whatever a backend returns, annotated with backend, method, partition index and tag
absl::StatusOr<ExportedProgram> ToBackend(const ExportedProgram& program,
                                          const Partitioner& partitioner,
                                          const BackendSet& backends,
                                          const ToBackendOptions& options = {});

// The same for several methods at once; backends see all methods together (PreprocessMultimethod).
//   kInvalidArgument  a partitioner for a method that does not exist, two for one method, a method
//                     name twice
absl::StatusOr<MethodPrograms> ToBackend(const MethodPrograms& methods,
                                         const MethodPartitioners& partitioners,
                                         const BackendSet& backends,
                                         const ToBackendOptions& options = {});

// The named data of all delegates that the methods call, equal bytes once, in the order of the
// calls in the top graph and then in the bodies, depth first (docs/lowering.md row 47).
//   kAlreadyExists  two delegates store different bytes under one key; names the method and the
//                   backend of the later
absl::StatusOr<NamedDataOutput> CollectNamedData(const MethodPrograms& methods);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TO_BACKEND_H_
