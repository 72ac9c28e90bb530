#include "exir/backend/partitioners/operator_support.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

bool MatchesAny(std::string_view text, const std::vector<std::string>& names, bool substring) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return substring ? text.find(name) != std::string_view::npos : text == name;
  });
}

// A name with a dot is compared with the whole path, another one with its last component.
bool MatchesPath(std::string_view path, const std::vector<std::string>& names, bool substring) {
  const size_t dot = path.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? path : path.substr(dot + 1);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return MatchesAny(name.find('.') != std::string::npos ? path : last, {name}, substring);
  });
}

std::string_view TextOf(const std::shared_ptr<const std::string>& text) {
  return text == nullptr ? std::string_view() : *text;
}

}  // namespace

SupportFn SupportOps(std::vector<std::string> names) {
  return [names = absl::flat_hash_set<std::string>(names.begin(), names.end())](
             const ExportedProgram& program, GraphId graph, NodeId node) -> std::string {
    const std::string& name = program.graphs[graph].node(node).target->name();
    return names.contains(name) ? "" : absl::StrCat("operator ", name, " is not supported");
  };
}

SupportFn AnySupport(std::vector<SupportFn> supports) {
  return
      [supports = std::move(supports)](const ExportedProgram& program, GraphId graph, NodeId node) {
        std::string reason = "no support was given";
        for (const SupportFn& support : supports) {
          reason = support(program, graph, node);
          if (reason.empty()) break;
        }
        return reason;
      };
}

SupportFn AllSupport(std::vector<SupportFn> supports) {
  return
      [supports = std::move(supports)](const ExportedProgram& program, GraphId graph, NodeId node) {
        std::string reason;
        for (const SupportFn& support : supports) {
          reason = support(program, graph, node);
          if (!reason.empty()) break;
        }
        return reason;
      };
}

SupportFn DontPartitionOps(std::vector<std::string> op_names, bool substring) {
  return [op_names = std::move(op_names), substring](const ExportedProgram& program, GraphId graph,
                                                     NodeId node) -> std::string {
    const OpOverload& target = *program.graphs[graph].node(node).target;
    if (!MatchesAny(target.name(), op_names, substring) &&
        !MatchesAny(target.text_name(), op_names, substring)) {
      return "";
    }
    return absl::StrCat("operator ", target.name(), " was excluded by the user");
  };
}

SupportFn DontPartitionFunctions(std::vector<std::string> function_names, bool substring) {
  return [function_names = std::move(function_names), substring](
             const ExportedProgram& program, GraphId graph, NodeId node) -> std::string {
    const std::string_view function = TextOf(program.graphs[graph].node(node).provenance.function);
    if (function.empty() || !MatchesPath(function, function_names, substring)) return "";
    return absl::StrCat("function ", function, " was excluded by the user");
  };
}

SupportFn DontPartitionNames(std::vector<std::string> node_names, bool substring) {
  return [node_names = std::move(node_names), substring](
             const ExportedProgram& program, GraphId graph, NodeId node) -> std::string {
    const std::string& name = program.graphs[graph].node(node).name;
    if (!MatchesAny(name, node_names, substring)) return "";
    return absl::StrCat("node ", name, " was excluded by the user");
  };
}

SupportFn DontPartitionModules(std::vector<std::string> module_names, bool substring) {
  return [module_names = std::move(module_names), substring](
             const ExportedProgram& program, GraphId graph, NodeId node) -> std::string {
    const Provenance& from = program.graphs[graph].node(node).provenance;
    for (std::string_view path : {TextOf(from.module), TextOf(from.module_type)}) {
      if (!path.empty() && MatchesPath(path, module_names, substring)) {
        return absl::StrCat("module ", path, " was excluded by the user");
      }
    }
    return "";
  };
}

std::string FormatRejections(const ExportedProgram& program,
                             const std::vector<PartitionResult::Rejection>& rejections) {
  if (rejections.empty()) return "No nodes rejected.";
  absl::btree_map<std::pair<GraphId, uint32_t>, const PartitionResult::Rejection*> first;
  std::vector<SecondaryMap<NodeId, uint32_t>> positions;
  for (const Graph& graph : program.graphs) positions.push_back(graph.Positions());
  for (const PartitionResult::Rejection& rejection : rejections) {
    first.emplace(
        std::pair(rejection.graph, positions[rejection.graph.index()].get(rejection.node)),
        &rejection);
  }
  std::vector<std::vector<std::string>> rows = {
      {"node", "operator", "module", "function", "reason"}};
  for (const auto& [place, rejection] : first) {
    const Node& node = program.graphs[rejection->graph].node(rejection->node);
    rows.push_back({node.name, node.target->name(), std::string(TextOf(node.provenance.module)),
                    std::string(TextOf(node.provenance.function)), rejection->reason});
  }
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      absl::StrAppend(&line, row[c], std::string(widths[c] - row[c].size() + 2, ' '));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace belay::exir
