#include "tools/belay/module_losses.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace belay::tools {

std::vector<std::string> EnclosingModules(const std::string& path) {
  std::vector<std::string> modules;
  if (path.empty()) return modules;
  for (size_t end = path.find('.'); end != std::string::npos; end = path.find('.', end + 1)) {
    modules.push_back(path.substr(0, end));
  }
  modules.push_back(path);
  return modules;
}

std::vector<ModuleLoss> SumByModule(absl::Span<const exir::QuantizedNode> nodes,
                                    const exir::NodeLosses* node_losses) {
  std::vector<ModuleLoss> modules;
  std::map<std::string, size_t> indices;
  for (const exir::QuantizedNode& node : nodes) {
    for (const std::string& path : EnclosingModules(node.module)) {
      const auto [it, added] = indices.emplace(path, modules.size());
      if (added) modules.push_back({.module = path, .weights = {}, .result = {}});
      ModuleLoss& module = modules[it->second];
      ++module.operators;
      if (!node.shares_with.empty()) continue;
      module.weights.Add(node.loss);
      module.bytes_before += node.bytes_before;
      module.bytes_after += node.bytes_after;
    }
  }
  if (node_losses == nullptr) return modules;
  for (const exir::NodeLoss& loss : node_losses->nodes) {
    for (const std::string& path : EnclosingModules(loss.module)) {
      if (const auto it = indices.find(path); it != indices.end()) {
        modules[it->second].result = loss.sums;
      }
    }
  }
  return modules;
}

}  // namespace belay::tools
