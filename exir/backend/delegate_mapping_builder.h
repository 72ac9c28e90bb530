// Maps a backend's instructions to the debug handles of their source nodes.
//
// Source: docs/lowering.md §4.2–4.4, tables/delegate_mapping_builder. Differences to ExecuTorch
// (§7.13): a failed insert uses up no identifier, 0 is not a handle, and all identifiers have one
// type.
#ifndef BELAY_EXIR_BACKEND_DELEGATE_MAPPING_BUILDER_H_
#define BELAY_EXIR_BACKEND_DELEGATE_MAPPING_BUILDER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/graph.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

// A value type. An instruction may have several source nodes, and a node may become several
// instructions.
class DelegateMappingBuilder {
 public:
  enum class Identifiers : uint8_t {
    kGiven,      // the caller passes all identifiers: all ints or all strings
    kGenerated,  // 0, 1, 2, …
  };
  explicit DelegateMappingBuilder(Identifiers identifiers = Identifiers::kGiven)
      : identifiers_(identifiers) {}

  // Inserts an instruction with source nodes `nodes` of `graph`, or with these handles. Returns its
  // identifier. Nodes without a handle, and handles that are 0, are ignored. On error nothing
  // changes.
  //   kInvalidArgument  an identifier is passed where they are generated, or missing where they are
  //                     required; ints and strings are mixed; no handle remains; a
  //                     handle is negative
  //   kAlreadyExists    the identifier already exists
  absl::StatusOr<DelegateId> InsertNodes(const Graph& graph, absl::Span<const NodeId> nodes,
                                         std::optional<DelegateId> identifier = std::nullopt);
  absl::StatusOr<DelegateId> InsertHandles(absl::Span<const int64_t> handles,
                                           std::optional<DelegateId> identifier = std::nullopt);

  // Handles are ascending and unique.
  const DebugHandleMap& mapping() const { return mapping_; }

 private:
  Identifiers identifiers_;
  int64_t next_ = 0;
  DebugHandleMap mapping_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_DELEGATE_MAPPING_BUILDER_H_
