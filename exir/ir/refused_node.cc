#include "exir/ir/refused_node.h"

#include <iterator>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_split.h"
#include "runtime/core/annotate.h"
#include "runtime/core/printable.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr char kPayload[] = "belay/refused_nodes";
// The payload has five fields per node, each followed by this character, which no field has.
constexpr char kEnd = '\0';
constexpr std::string RefusedNode::* kFields[] = {&RefusedNode::method, &RefusedNode::node,
                                                  &RefusedNode::op, &RefusedNode::source,
                                                  &RefusedNode::reason};

}  // namespace

void AddRefusedNodes(absl::Span<const RefusedNode> nodes, absl::Status& status) {
  if (nodes.empty()) return;
  absl::Cord payload = status.GetPayload(kPayload).value_or(absl::Cord());
  for (const RefusedNode& node : nodes) {
    for (const auto field : kFields) {
      std::string text = Printable(node.*field);
      text.push_back(kEnd);
      payload.Append(text);
    }
  }
  status.SetPayload(kPayload, std::move(payload));
}

std::vector<RefusedNode> RefusedNodesOf(const absl::Status& status) {
  std::vector<RefusedNode> nodes;
  const std::string payload(status.GetPayload(kPayload).value_or(absl::Cord()));
  const std::vector<std::string> fields = absl::StrSplit(payload, kEnd);
  for (size_t i = 0; i + std::size(kFields) < fields.size(); i += std::size(kFields)) {
    RefusedNode& node = nodes.emplace_back();
    for (size_t k = 0; k < std::size(kFields); ++k) node.*kFields[k] = fields[i + k];
  }
  return nodes;
}

absl::Status InMethod(const absl::Status& status, std::string_view method, std::string_view phase) {
  if (status.ok()) return status;
  absl::Status result =
      Annotate(status, absl::StrCat(phase, phase.empty() ? "" : ": ", "method '", method, "'"));
  std::vector<RefusedNode> nodes = RefusedNodesOf(status);
  if (nodes.empty()) return result;
  for (RefusedNode& node : nodes) {
    if (node.method.empty()) node.method = std::string(method);
  }
  result.ErasePayload(kPayload);
  AddRefusedNodes(nodes, result);
  return result;
}

}  // namespace belay::exir
