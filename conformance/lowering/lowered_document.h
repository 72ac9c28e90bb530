// What Belay made of a case's programs, in the form of expected.json (FORMAT.md).
#ifndef BELAY_CONFORMANCE_LOWERING_LOWERED_DOCUMENT_H_
#define BELAY_CONFORMANCE_LOWERING_LOWERED_DOCUMENT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "conformance/lowering/json.h"
#include "exir/backend/to_backend.h"

namespace belay::conformance {

// Method → debug handle → the nodes that carry it, as `nodes` of a debug map lists them.
using HandlePlaces = std::map<std::string, std::map<int64_t, Json>>;
HandlePlaces HandlesOf(const exir::MethodPrograms& programs);

struct DocumentSource {
  const std::set<std::string>& fqns;  // the tensors that the exported programs name
  const HandlePlaces& handles;        // of the programs before they were lowered
};

// `methods`, `delegates` and `merged_named_data`. Delegates stand in the order in which their
// results were made, which PreprocessResult::delegate_info says (case_backends.h); those inside of
// delegates are among them.
Json LoweredDocument(const exir::MethodPrograms& programs, const DocumentSource& source);

// A program lowered as a whole: a method without graphs, and the only delegate, which nobody calls.
Json ModuleDocument(const exir::LoweredBackendModule& module, const std::string& method,
                    const DocumentSource& source);
// The field `lowered_module` of expected.json in that form.
Json ModuleDocument(const Json& lowered_module, const std::string& method);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_LOWERED_DOCUMENT_H_
