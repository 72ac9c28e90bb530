#include "exir/backend/delegate_mapping_builder.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

std::string ToText(const DelegateId& id) {
  const int64_t* number = std::get_if<int64_t>(&id);
  return number != nullptr ? absl::StrCat(*number)
                           : absl::StrCat("'", std::get<std::string>(id), "'");
}

}  // namespace

absl::StatusOr<DelegateId> DelegateMappingBuilder::InsertNodes(
    const Graph& graph, absl::Span<const NodeId> nodes, std::optional<DelegateId> identifier) {
  std::vector<int64_t> handles;
  for (NodeId node : nodes) handles.push_back(graph.node(node).debug_handle);
  return InsertHandles(handles, std::move(identifier));
}

absl::StatusOr<DelegateId> DelegateMappingBuilder::InsertHandles(
    absl::Span<const int64_t> handles, std::optional<DelegateId> identifier) {
  if (identifiers_ == Identifiers::kGenerated && identifier.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("builders using generated identifiers can't manually add identifiers: ",
                     ToText(*identifier)));
  }
  if (identifiers_ == Identifiers::kGiven && !identifier.has_value()) {
    return absl::InvalidArgumentError("no identifier provided");
  }
  std::vector<int64_t> kept;
  for (int64_t handle : handles) {
    if (handle < 0) {
      return absl::InvalidArgumentError(absl::StrCat("debug handle ", handle, " is negative"));
    }
    if (handle != 0) kept.push_back(handle);
  }
  if (kept.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no valid debug handles found among ", handles.size()));
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  DelegateId id = identifier.has_value() ? *std::move(identifier) : DelegateId(next_);
  if (!mapping_.empty() && mapping_.begin()->first.index() != id.index()) {
    return absl::InvalidArgumentError(
        absl::StrCat("identifier ", ToText(id), " is of another kind than ",
                     ToText(mapping_.begin()->first), ", which was inserted before"));
  }
  if (mapping_.contains(id)) {
    return absl::AlreadyExistsError(
        absl::StrCat("this delegate debug identifier was already inserted: ", ToText(id)));
  }
  mapping_[id] = std::move(kept);
  ++next_;
  return id;
}

}  // namespace belay::exir
