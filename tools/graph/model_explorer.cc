#include "tools/graph/model_explorer.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/graph/backend_colors.h"

namespace belay::tools {
namespace {

using nlohmann::json;

json KeyValue(std::string key, std::string value) {
  return {{"key", std::move(key)}, {"value", std::move(value)}};
}

std::string GraphName(const DrawnMethod& method, size_t graph) {
  if (graph == 0) return method.name;
  return absl::StrCat(method.name, " / ", graph, " ", method.graphs[graph].name);
}

json NodeJson(const DrawnMethod& method, const DrawnNode& node, size_t index,
              const BackendColors& colors) {
  json out{{"id", absl::StrCat(index)},
           {"label", node.is_operator ? node.op : node.name},
           {"namespace", absl::StrReplaceAll(node.module, {{".", "/"}})}};
  for (const char* list :
       {"attrs", "incomingEdges", "inputsMetadata", "outputsMetadata", "subgraphIds"}) {
    out[list] = json::array();
  }
  json& attributes = out["attrs"];
  attributes.push_back(KeyValue("name", node.name));
  if (!node.is_operator) attributes.push_back(KeyValue("kind", node.op));
  if (!node.source.empty()) attributes.push_back(KeyValue("source", node.source));
  if (node.delegate.has_value()) {
    const std::string& backend = method.delegates[*node.delegate].backend;
    attributes.push_back(KeyValue("backend", backend));
    attributes.push_back(KeyValue("delegate", absl::StrCat(*node.delegate)));
    out["style"] = {{"backgroundColor", colors.Of(backend)}};
  }
  if (node.flops > 0) attributes.push_back(KeyValue("flops", absl::StrCat(node.flops)));
  for (const auto& [name, text] : node.attributes) attributes.push_back(KeyValue(name, text));
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const DrawnEdge& edge = node.operands[i];
    const std::string input = absl::StrCat(i);
    out["incomingEdges"].push_back({{"sourceNodeId", absl::StrCat(edge.node)},
                                    {"sourceNodeOutputId", absl::StrCat(edge.output)},
                                    {"targetNodeInputId", input}});
    out["inputsMetadata"].push_back(
        {{"id", input}, {"attrs", json::array({KeyValue("__tensor_tag", edge.argument)})}});
  }
  for (size_t i = 0; i < node.results.size(); ++i) {
    out["outputsMetadata"].push_back(
        {{"id", absl::StrCat(i)},
         {"attrs", json::array({KeyValue("__tensor_tag", node.results[i].name),
                                KeyValue("tensor_shape", node.results[i].type)})}});
  }
  for (const uint32_t body : node.bodies) out["subgraphIds"].push_back(GraphName(method, body));
  return out;
}

}  // namespace

json ModelExplorerJson(std::string label, const DrawnProgram& program) {
  const BackendColors colors(program);
  json out{{"label", std::move(label)}, {"graphs", json::array()}};
  for (const DrawnMethod& method : program) {
    for (size_t g = 0; g < method.graphs.size(); ++g) {
      json nodes = json::array();
      for (size_t n = 0; n < method.graphs[g].nodes.size(); ++n) {
        nodes.push_back(NodeJson(method, method.graphs[g].nodes[n], n, colors));
      }
      out["graphs"].push_back({{"id", GraphName(method, g)}, {"nodes", std::move(nodes)}});
    }
  }
  return out;
}

}  // namespace belay::tools
