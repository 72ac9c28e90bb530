// Where a node comes from, out of the metadata that the exporter left. Source: docs/pt2-format.md §9
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

// Metadata are notes for people: what can't be understood is left out, never an error. Equal texts
// are stored once; the texts given must outlive the reader.
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
  simdjson::dom::parser parser_;  // for the JSON inside from_node
};

// The innermost frame of a Python stack trace that is neither inside torch nor generated code; of
// what torch's own modules made, the innermost one inside torch. False when there is none.
bool FindUserFrame(std::string_view stack_trace, std::string_view* file, int64_t* line);
// The path of the innermost module of nn_module_stack: "layers.0.attn". "" when there is none.
std::string_view InnermostModule(std::string_view nn_module_stack);
// And its class: "torch.nn.modules.linear.Linear".
std::string_view InnermostModuleType(std::string_view nn_module_stack);
// What torch_fn says was called: "builtin_function_or_method.linear".
std::string_view CalledFunction(std::string_view torch_fn);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_PROVENANCE_READER_H_
