#include "bindings/c/compiler/refused_nodes.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "runtime/core/str_cat.h"

namespace belay::c {
namespace {

using nlohmann::json;

// Returns the part of `text` between the first `begin` and the next `end`; "" without both.
std::string Between(std::string_view text, std::string_view begin, std::string_view end) {
  const size_t first = text.find(begin);
  if (first == std::string_view::npos) return "";
  const size_t last = text.find(end, first + begin.size());
  if (last == std::string_view::npos) return "";
  return std::string(text.substr(first + begin.size(), last - first - begin.size()));
}

json Refusal(std::string_view method, std::string_view node, std::string_view op,
             std::string_view source, std::string_view reason) {
  return {{"method", std::string(method)},
          {"node", std::string(node)},
          {"operator", std::string(op)},
          {"source", std::string(source)},
          {"reason", std::string(reason)}};
}

// "unknown operator OP, used 2 times: node 'A' at SOURCE, node 'B' at SOURCE".
void AddUnknownOperator(std::string_view method, std::string_view line, json& nodes) {
  const std::string op = Between(line, "unknown operator ", ", used ");
  const size_t colon = line.find(": ");
  std::string_view rest = colon == std::string_view::npos ? "" : line.substr(colon + 2);
  while (rest.starts_with("node '")) {
    const size_t next = rest.find(", node '");
    const std::string_view one = rest.substr(0, next);
    const size_t at = one.find("' at ");
    nodes.push_back(Refusal(method, Between(one, "node '", "'"), op,
                            at == std::string_view::npos ? "" : one.substr(at + 5),
                            "unknown operator " + op));
    if (next == std::string_view::npos) break;
    rest.remove_prefix(next + 2);
  }
}

// "%A: f32[2] = OP(…) (SOURCE): REASON".
void AddPrintedNode(std::string_view method, std::string_view line, json& nodes) {
  const std::string op = Between(line, " = ", "(");
  const std::string node = Between(line, "%", ":");
  size_t reason = line.find("): ");
  std::string_view source;
  if (reason != std::string_view::npos) {
    // Without a source, the parenthesis is that of the call, which no space precedes.
    const size_t open = line.rfind('(', reason);
    if (open != std::string_view::npos && open > 0 && line[open - 1] == ' ') {
      source = line.substr(open + 1, reason - open - 1);
    }
    reason += 3;
  }
  nodes.push_back(Refusal(method, node, op, source,
                          reason == std::string_view::npos ? line : line.substr(reason)));
}

// "node 'A' (OP, SOURCE): REASON" or "SUBJECT: REASON".
void AddSubject(std::string_view method, std::string_view line, json& nodes) {
  if (line.starts_with("node '")) {
    const size_t end = line.find("): ");
    const std::string inside = Between(line, "' (", "): ");
    if (end != std::string_view::npos && !inside.empty()) {
      const size_t comma = inside.find(", ");
      nodes.push_back(Refusal(method, Between(line, "node '", "'"), inside.substr(0, comma),
                              comma == std::string::npos ? "" : inside.substr(comma + 2),
                              line.substr(end + 3)));
      return;
    }
  }
  const size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return;
  nodes.push_back(Refusal(method, line.substr(0, colon), "", "", line.substr(colon + 2)));
}

}  // namespace

json RefusedNodes(const absl::Status& status) {
  json nodes = json::array();
  if (!absl::IsUnimplemented(status)) return nodes;
  std::string method;
  const std::vector<std::string> lines = absl::StrSplit(status.message(), '\n');
  for (const std::string_view line : lines) {
    if (!line.starts_with("  ")) {
      method = Between(line, "method '", "'");
      continue;
    }
    const std::string_view problem = line.substr(2);
    if (problem.starts_with("unknown operator ")) {
      AddUnknownOperator(method, problem, nodes);
    } else if (problem.starts_with("%")) {
      AddPrintedNode(method, problem, nodes);
    } else {
      AddSubject(method, problem, nodes);
    }
  }
  return nodes;
}

}  // namespace belay::c
