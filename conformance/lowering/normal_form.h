// Programs as the lowering cases write them: without generated names.
#ifndef BELAY_CONFORMANCE_LOWERING_NORMAL_FORM_H_
#define BELAY_CONFORMANCE_LOWERING_NORMAL_FORM_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/lowering/json_value.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::conformance {

// "cond#0/true>map_impl#1/body"; "" for the top graph.
using GraphPaths = std::vector<std::pair<std::string, exir::GraphId>>;
// All graphs, depth first.
GraphPaths PathsOf(const exir::ExportedProgram& program);
// Whether a node makes the tensor of a number in a body. In ExecuTorch it is an attribute of the
// body, so it is a constant here and none of the nodes.
bool IsNumberOfBody(const exir::Node& node);
// All others, in order.
std::vector<exir::NodeId> NodesOf(const exir::Graph& graph);
// The node that is the n-th of its operator in its graph; invalid when there is none.
exir::NodeId FindOccurrence(const exir::Graph& graph, std::string_view op, int64_t occurrence);
// As the cases name operators: "aten.add.Tensor", "cond", "executorch_call_delegate".
std::string OpName(const exir::Node& node);
std::string Sha256(absl::Span<const std::byte> bytes);
std::string Sha256(std::string_view text);
std::string TensorSha256(const exir::ConstantTensor& tensor);

struct NormalForm {
  // Path → entries as in expected.json, without `getitem`; `keyword_order` is the schema's order.
  std::vector<std::pair<std::string, Json::Array>> graphs;
  std::vector<std::pair<std::string, const exir::LoweredBackendModule*>> delegates;  // path, module
  Json signature;
  Json state;
};

// `fqns`: the tensors that the exported program named. `delegate_index` gives the number of a
// module.
NormalForm ToNormalForm(
    const exir::ExportedProgram& program, const std::set<std::string>& fqns,
    const std::function<int64_t(const exir::LoweredBackendModule*)>& delegate_index);

// The entries of one graph, expected or as they came, with what is compared: without `getitem`.
Json::Array Normalise(const Json::Array& entries);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_NORMAL_FORM_H_
