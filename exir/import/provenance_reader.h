// Reads the provenance of a node from the exporter's metadata. Source: docs/pt2-format.md §9
// "Metadata".
#ifndef BELAY_EXIR_IMPORT_PROVENANCE_READER_H_
#define BELAY_EXIR_IMPORT_PROVENANCE_READER_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "exir/import/json.h"
#include "exir/ir/graph.h"

namespace belay::exir {

// Metadata is informational: unparsable parts are skipped and never an error. Equal strings are
// stored once; input strings must outlive the reader.
class ProvenanceReader {
 public:
  // `metadata` is a node's {string: string} object.
  Provenance Read(simdjson::dom::element metadata);

 private:
  struct SourceLine {
    std::shared_ptr<const std::string> file;
    int64_t line = 0;
  };
  std::shared_ptr<const std::string> Intern(std::string_view text);
  const SourceLine& FindSourceLine(std::string_view stack_trace);
  std::shared_ptr<const std::string> FindOrigin(std::string_view from_node);

  absl::flat_hash_map<std::string, std::shared_ptr<const std::string>> texts_;
  absl::flat_hash_map<std::string_view, SourceLine> source_lines_;
  absl::flat_hash_map<std::string_view, std::shared_ptr<const std::string>> origins_;
  simdjson::dom::parser parser_;  // for JSON nested in from_node
};

// Finds the innermost frame of a Python stack trace that is neither inside torch nor in generated
// code. For code of torch's own modules it is the innermost frame inside torch. False if there is
// none.
bool FindUserFrame(std::string_view stack_trace, std::string_view* file, int64_t* line);
// Path of the innermost module of nn_module_stack: "layers.0.attn". "" if the stack is empty.
std::string_view InnermostModule(std::string_view nn_module_stack);
// Class of that module: "torch.nn.modules.linear.Linear".
std::string_view InnermostModuleType(std::string_view nn_module_stack);
// The called function according to torch_fn: "builtin_function_or_method.linear".
std::string_view CalledFunction(std::string_view torch_fn);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_PROVENANCE_READER_H_
