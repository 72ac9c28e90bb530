#include "exir/ir/node_like.h"

#include <utility>

namespace belay::exir {

GraphEditor::NewNode NodeLike(const Node& node, std::vector<Argument> arguments) {
  return {.name = node.name,
          .target = node.target,
          .arguments = std::move(arguments),
          .argument_names = node.argument_names,
          .provenance = node.provenance,
          .debug_handle = node.debug_handle,
          .delegation_tag = node.delegation_tag};
}

}  // namespace belay::exir
