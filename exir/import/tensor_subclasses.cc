#include "exir/import/tensor_subclasses.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr std::string_view kAccess = "export.access_subclass_inner_tensor.default";

// Returns the attribute of `input` that the node reads; null for other nodes.
const std::string* AttributeRead(const Node& node, ValueId input) {
  if (node.target->name() != kAccess || node.arguments.size() != 2 || node.outputs.size() != 1 ||
      node.outputs[0].kind != NodeOutput::Kind::kValue) {
    return nullptr;
  }
  const ValueId* whole = node.arguments[0].get_if<ValueId>();
  return whole != nullptr && *whole == input ? node.arguments[1].get_if<std::string>() : nullptr;
}

}  // namespace

void OpenTensorSubclasses(ExportedProgram& program) {
  GraphEditor editor(program.top());
  const Graph& graph = editor.graph();
  std::vector<InputSpec>& specs = program.signature.inputs;
  for (size_t i = 0; i < specs.size(); ++i) {
    const ValueId input = graph.inputs()[i];
    const std::vector<NodeId> users = graph.value(input).users;
    const bool opens = NamesTensor(specs[i].kind) && !users.empty() && !graph.IsOutput(input) &&
                       std::all_of(users.begin(), users.end(), [&](NodeId user) {
                         return AttributeRead(graph.node(user), input) != nullptr;
                       });
    if (!opens) continue;
    const std::string name = graph.value(input).name;
    const InputSpec spec = specs[i];
    absl::btree_map<std::string, ValueId> attributes;
    for (const NodeId user : users) {
      const std::string attribute = *AttributeRead(graph.node(user), input);
      const ValueId result = graph.node(user).outputs[0].values[0];
      auto [it, is_new] = attributes.try_emplace(attribute);
      if (is_new) {
        it->second =
            editor.InsertInput(i, absl::StrCat(name, "_", attribute), graph.value(result).type);
        InputSpec inner = spec;
        inner.target = absl::StrCat(spec.target, ".", attribute);
        specs.insert(specs.begin() + static_cast<ptrdiff_t>(i++), std::move(inner));
      }
      editor.ReplaceAllUses(result, Argument(it->second));
      editor.EraseNode(user);
    }
    editor.EraseInput(input);
    specs.erase(specs.begin() + static_cast<ptrdiff_t>(i--));
  }
}

}  // namespace belay::exir
