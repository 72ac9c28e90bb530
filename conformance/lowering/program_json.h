// Programs, and what Belay made of them, as expected.json writes them (FORMAT.md): without generated
// names.
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

// All graphs, depth first, by path: "cond#0/true>map_impl#1/body"; "" for the top graph.
std::vector<std::pair<std::string, exir::GraphId>> PathsOf(const exir::ExportedProgram& program);
// Whether a node makes the tensor of a number in a body. In ExecuTorch it is an attribute of the
// body, so it is a constant here and none of the nodes.
bool IsNumberOfBody(const exir::Node& node);
// All others, in order.
std::vector<exir::NodeId> NodesOf(const exir::Graph& graph);
// As the cases name operators: "aten.add.Tensor", "cond", "executorch_call_delegate".
std::string OpName(const exir::Node& node);
// Each of NodesOf() as {"op", "occurrence"}: which of the graph's nodes of that operator it is.
std::vector<std::pair<exir::NodeId, Json>> PlacesOf(const exir::Graph& graph);
Json SplitPath(std::string_view path);  // ["cond#0/true", "map_impl#1/body"]

// The index in `delegates` of expected.json.
using DelegateIndex = std::function<int64_t(const exir::LoweredBackendModule&)>;

// {"graphs", "signature", "state"} of a method, without `getitem` entries, `slot`, `debug_handle`,
// and `type` of delegate calls. `fqns`: the tensors that the exported program names.
Json ProgramJson(const exir::ExportedProgram& program, const std::set<std::string>& fqns,
                 const DelegateIndex& delegate_index);

// Method and debug handle → the nodes that carry it, as `nodes` of a debug map lists them.
using HandlePlaces = std::map<std::pair<std::string, int64_t>, Json>;
HandlePlaces HandlesOf(const exir::MethodPrograms& programs);

struct DocumentSource {
  const std::set<std::string>& fqns;  // the tensors that the exported programs name
  const HandlePlaces& handles;        // of the programs before they were lowered
};

// `methods`, `delegates` and `merged_named_data`. Delegates stand in the order in which their
// results were made, which PreprocessResult::delegate_info says (case_rounds.h); those inside of
// delegates are among them.
Json LoweredDocument(const exir::MethodPrograms& programs, const DocumentSource& source);

// A program lowered as a whole: a method without graphs, and the only delegate, which nobody calls.
Json ModuleDocument(const exir::LoweredBackendModule& module, const std::string& method,
                    const DocumentSource& source);
// The field `lowered_module` of expected.json in that form.
Json ModuleDocument(const Json& lowered_module, const std::string& method);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_PROGRAM_JSON_H_
