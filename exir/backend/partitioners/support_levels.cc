#include "exir/backend/partitioners/support_levels.h"

#include <algorithm>

namespace belay::exir {

std::vector<int32_t> SupportLevels(const Graph& graph,
                                   const std::function<bool(NodeId)>& supported) {
  std::vector<int32_t> level(graph.node_id_limit(), 0);
  std::vector<bool> is_supported(graph.node_id_limit(), false);
  int32_t max_level = -1;
  for (NodeId node : graph.nodes()) {
    const bool own = supported(node);
    is_supported[node.index()] = own;
    int32_t own_level = 0;
    for (const Argument& argument : graph.node(node).arguments) {
      ForEachValue(argument, [&](ValueId value) {
        const NodeId producer = graph.value(value).producer;
        if (!producer.valid()) return;
        const bool leaves = is_supported[producer.index()] && !own;
        own_level = std::max(own_level, level[producer.index()] + (leaves ? 1 : 0));
      });
    }
    level[node.index()] = own_level;
    if (own) max_level = std::max(max_level, own_level);
  }
  std::vector<int32_t> number(static_cast<size_t>(max_level + 1), -1);
  for (NodeId node : graph.nodes()) {
    if (is_supported[node.index()]) number[level[node.index()]] = 0;
  }
  int32_t next = 0;
  for (int32_t& n : number) {
    if (n == 0) n = next++;
  }
  std::vector<int32_t> groups(graph.node_id_limit(), -1);
  for (NodeId node : graph.nodes()) {
    if (is_supported[node.index()]) groups[node.index()] = number[level[node.index()]];
  }
  return groups;
}

}  // namespace belay::exir
