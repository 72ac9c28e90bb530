#include "exir/ir/at_node.h"

#include "exir/ir/text.h"
#include "runtime/core/annotate.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

absl::Status AtNode(const absl::Status& status, const Graph& graph, NodeId node) {
  if (status.ok()) return status;
  return WithMessage(
      status, absl::StrCat(FromAbsl(status.message()), "\n  at ", DescribeNode(graph, node)));
}

}  // namespace belay::exir
