// Lowering: replaces partitions of edge programs by delegate calls. Source: docs/lowering.md §1b,
// §2, §3, §11.
//
// Whole programs, one method and several methods use the same implementation. Lowering is
// deterministic and independent of the number of threads. It is all or nothing: the inputs are
// const and unchanged on error.
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

// (name, program) in method order. Names are unique.
using MethodPrograms = std::vector<std::pair<std::string, ExportedProgram>>;

MethodPrograms Clone(const MethodPrograms& methods);
// (method, partitioner). Methods that are not listed are not partitioned.
using MethodPartitioners = std::vector<std::pair<std::string, const Partitioner*>>;

// Why a partitioner did not delegate a node (PartitionResult::rejections). Names remain valid when
// surrounding nodes move into delegates.
struct RejectedNode {
  std::string method, graph, node;  // Graph::name, Node::name
  std::string reason;
};

struct ToBackendOptions {
  // Maximum number of threads that preprocess partitions of one backend. Results are committed in
  // order.
  int threads = 1;
  // false: skips the checks of the partitioner's answer that lowering itself does not need. Scoped
  // successor of `validation_disabled()`.
  bool validate_partitions = true;
  // Receives warnings, one line each, about probably unintended input that has one safe
  // interpretation: a tag that is not in the map, a tagged constant that does not move, or one that
  // moves to another tag than its own.
  std::vector<std::string>* notes = nullptr;
  // Receives the nodes that each partitioner rejected, in method order.
  std::vector<RejectedNode>* rejections = nullptr;
};

// Lowers the whole program to one backend.
//   kNotFound            the backend is unknown (checked before any work)
//   kFailedPrecondition  the program is not of the edge dialect (names the first node; row 11), or
//                        does not verify
//   kUnimplemented       the compile specs ask for a device that the backend does not support
//   errors of the backend's Preprocess, annotated
absl::StatusOr<std::shared_ptr<const LoweredBackendModule>> ToBackend(
    std::string_view backend_id, const ExportedProgram& program,
    absl::Span<const CompileSpec> compile_specs, const BackendSet& backends);

// Lowers the partitions that a partitioner tags to the backends that it names. All nodes of one
// graph with the same tag become one delegate call. Subgraphs of control flow that is not delegated
// are lowered too. Delegate calls are numbered (ModuleId) by backend, in the order in which tags
// first name it, and then in graph order, each graph before its subgraphs. Nodes that are not
// delegated keep their order as far as data flow allows.
//   kNotFound            a tag names an unknown backend
//   kUnimplemented       a tag's compile specs ask for a device that its backend does not support
//   kInvalidArgument     the partitioner's answer is invalid: tags without a map, an empty tag, a
//                        duplicate tag in the map, a tag on a user input, a node tagged twice, or
//                        a no_copy constant with users elsewhere. Names tag, node and user.
//   kFailedPrecondition  the program is not of the edge dialect (names the first node), or does not
//                        verify; a partition is not convex, or two depend on each other: names the
//                        tag and prints the path that leaves and re-enters it
//   kAlreadyExists       two delegates store different bytes under one key
//   kInternal            a backend's reply does not match its input
//   errors of a backend, annotated with backend, method, partition index and tag
absl::StatusOr<ExportedProgram> ToBackend(const ExportedProgram& program,
                                          const Partitioner& partitioner,
                                          const BackendSet& backends,
                                          const ToBackendOptions& options = {});

// The same for several methods at once. Backends see all methods together (PreprocessMultimethod).
//   kInvalidArgument  a partitioner for an unknown method, two partitioners for one method, a
//                     duplicate method name
absl::StatusOr<MethodPrograms> ToBackend(const MethodPrograms& methods,
                                         const MethodPartitioners& partitioners,
                                         const BackendSet& backends,
                                         const ToBackendOptions& options = {});

// Returns the named data of all delegates that the methods call. Equal bytes are stored once. The
// order is that of the calls in the top graph and then in the subgraphs, depth first
// (docs/lowering.md row 47).
//   kAlreadyExists  two delegates store different bytes under one key; names the method and the
//                   backend of the later
absl::StatusOr<NamedDataOutput> CollectNamedData(const MethodPrograms& methods);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TO_BACKEND_H_
