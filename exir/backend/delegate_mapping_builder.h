// Collects which debug handles a backend's instructions come from.
//
// Source: docs/lowering.md §4.2–4.4, tables/delegate_mapping_builder; the weak points of §7.13 are
// repaired: a failed insert takes no identifier, 0 is no handle, and identifiers are of one kind.
#ifndef BELAY_EXIR_BACKEND_DELEGATE_MAPPING_BUILDER_H_
#define BELAY_EXIR_BACKEND_DELEGATE_MAPPING_BUILDER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/graph.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

// A value. An instruction may come from several nodes, and a node may become several instructions.
class DelegateMappingBuilder {
 public:
  enum class Identifiers : uint8_t {
    kGiven,      // the caller names each instruction: all by ints or all by strings
    kGenerated,  // 0, 1, 2, …
  };
  explicit DelegateMappingBuilder(Identifiers identifiers = Identifiers::kGiven)
      : identifiers_(identifiers) {}

  // An instruction that comes from these nodes of `graph`, or that has these handles. Returns its
  // identifier. Nodes without a handle, and handles that are 0, count as absent. On error nothing
  // changed.
  //   kInvalidArgument  an identifier is given where they are generated, or missing where they are
  //                     given, or an int among strings; no handle is left; a handle is negative
  //   kAlreadyExists    the identifier was inserted before
  absl::StatusOr<DelegateId> InsertNodes(const Graph& graph, absl::Span<const NodeId> nodes,
                                         std::optional<DelegateId> identifier = std::nullopt);
  absl::StatusOr<DelegateId> InsertHandles(absl::Span<const int64_t> handles,
                                           std::optional<DelegateId> identifier = std::nullopt);

  // Handles ascending, each once.
  const DebugHandleMap& mapping() const { return mapping_; }

 private:
  Identifiers identifiers_;
  int64_t next_ = 0;
  DebugHandleMap mapping_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_DELEGATE_MAPPING_BUILDER_H_
