// Fusion and lowering diagnostics of a delegate, printed by `belay lower --report`.
#ifndef BELAY_BACKENDS_CPU_AOT_PASS_DIAGNOSTICS_H_
#define BELAY_BACKENDS_CPU_AOT_PASS_DIAGNOSTICS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/exported_program.h"

namespace belay::cpu {

// Remarks about nodes, by node name. One instance per run of passes. The remarks become
// PreprocessResult::delegate_info, which `belay lower` prints.
class PassDiagnostics {
 public:
  // Records that `node` was rewritten; `text` describes the new operator.
  void RecordRewrite(std::string_view node, std::string text);
  // Records why `node` was not rewritten. Only the last reason counts, and only if the node exists
  // after the last pass: a later pass may rewrite it.
  void RecordMiss(std::string_view node, std::string reason);

  // Formats one line "node: text" per remark. Rewritten nodes come first, in the order of
  // recording. Missed nodes follow, in the execution order of `program` after the passes.
  std::string Text(const exir::ExportedProgram& program) const;

 private:
  std::vector<std::pair<std::string, std::string>> rewrites_;
  absl::flat_hash_map<std::string, std::string> misses_;
};

// Formats a size: "1536 KiB"; below 10 KiB "200 bytes".
std::string BytesText(int64_t bytes);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASS_DIAGNOSTICS_H_
