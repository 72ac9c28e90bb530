// JSON fragments for ProgramJson (archive.h): nodes, their arguments, and entries of the value
// tables.
#ifndef BELAY_EXIR_IMPORT_TESTING_NODE_JSON_H_
#define BELAY_EXIR_IMPORT_TESTING_NODE_JSON_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

using Changes = std::vector<std::pair<std::string, std::string>>;

// A NamedArgument; the name "" means positional.
inline std::string Input(const std::string& name, const std::string& arg, int kind = 1) {
  return absl::StrCat("{\"name\": \"", name, "\", \"arg\": ", arg, ", \"kind\": ", kind, "}");
}
inline std::string TensorArg(const std::string& name) {
  return absl::StrCat("{\"as_tensor\": {\"name\": \"", name, "\"}}");
}
// A node from line 9 of extra.py.
inline std::string NodeJson(const std::string& target, const std::vector<std::string>& inputs,
                            const std::string& outputs, const std::string& name = "n") {
  std::string list;
  for (const std::string& input : inputs) absl::StrAppend(&list, list.empty() ? "" : ", ", input);
  return absl::StrCat("{\"target\": \"", target, "\", \"inputs\": [", list, "], \"outputs\": [",
                      outputs,
                      "], \"metadata\": {\"stack_trace\": \"File \\\"extra.py\\\", line 9, in f\\n "
                      " y\"}, \"name\": \"",
                      name, "\"}");
}
// An entry of tensor_values; f32[2,3] by default.
inline std::string Tensor(const std::string& name, const std::string& meta = MetaJson({2, 3})) {
  return absl::StrCat("\"", name, "\": ", meta);
}
// Changes that insert nodes before those of the program, and entries into its tables.
inline Changes WithNodes(const std::string& nodes, const std::string& tensors = "",
                         const std::string& sym_ints = "") {
  // Change the tables first: subgraphs in `nodes` have tables of their own.
  Changes changes;
  if (!tensors.empty()) {
    changes.push_back({"\"tensor_values\": {", "\"tensor_values\": {" + tensors + ", "});
  }
  if (!sym_ints.empty()) {
    changes.push_back({"\"sym_int_values\": {", "\"sym_int_values\": {" + sym_ints});
  }
  changes.push_back({"\"nodes\": [", "\"nodes\": [" + nodes + ", "});
  return changes;
}

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_TESTING_NODE_JSON_H_
