// Converts programs and lowered programs to the form of expected.json (FORMAT.md), without
// generated names.
#ifndef BELAY_CONFORMANCE_LOWERING_PROGRAM_JSON_H_
#define BELAY_CONFORMANCE_LOWERING_PROGRAM_JSON_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/json/json.h"
#include "exir/backend/to_backend.h"

namespace belay::conformance {

// Returns all graphs, depth first, by path: "cond#0/true>map_impl#1/body"; "" for the top graph.
std::vector<std::pair<std::string, exir::GraphId>> PathsOf(const exir::ExportedProgram& program);
// Returns whether a node creates the tensor of a scalar in a subgraph. ExecuTorch stores it as an
// attribute of the subgraph, so the JSON has it as a constant, not as a node.
bool IsSubgraphScalar(const exir::Node& node);
// Returns all other nodes, in order.
std::vector<exir::NodeId> NodesOf(const exir::Graph& graph);
// Returns the operator's name as in the cases: "aten.add.Tensor", "cond",
// "executorch_call_delegate".
std::string OpName(const exir::Node& node);
// Returns each of NodesOf() with {"op", "occurrence"}; `occurrence` counts the graph's nodes of
// that operator.
std::vector<std::pair<exir::NodeId, Json>> PlacesOf(const exir::Graph& graph);
Json SplitPath(std::string_view path);  // ["cond#0/true", "map_impl#1/body"]

// Returns the index in `delegates` of expected.json.
using DelegateIndex = std::function<int64_t(const exir::LoweredBackendModule&)>;

// Returns {"graphs", "signature", "state"} of a method, without `getitem` entries, `slot`,
// `debug_handle`, and `type` of delegate calls. `fqns`: the tensors named by the exported program.
Json ProgramJson(const exir::ExportedProgram& program, const std::set<std::string>& fqns,
                 const DelegateIndex& delegate_index);

// Maps method and debug handle to the nodes that carry it, in the form of `nodes` of a debug map.
using HandlePlaces = std::map<std::pair<std::string, int64_t>, Json>;
HandlePlaces HandlesOf(const exir::MethodPrograms& programs);

struct DocumentSource {
  const std::set<std::string>& fqns;  // tensors named by the exported programs
  const HandlePlaces& handles;        // of the programs before lowering
};

// Returns `methods`, `delegates` and `merged_named_data`. Delegates are in the creation order of
// their results, given by PreprocessResult::delegate_info (case_rounds.h). Nested delegates are
// included.
Json LoweredDocument(const exir::MethodPrograms& programs, const DocumentSource& source);

// Returns the document of a program lowered as a whole: a method without graphs, and its only
// delegate, which is not called.
Json ModuleDocument(const exir::LoweredBackendModule& module, const std::string& method,
                    const DocumentSource& source);
// Returns the field `lowered_module` of expected.json in that form.
Json ModuleDocument(const Json& lowered_module, const std::string& method);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_PROGRAM_JSON_H_
