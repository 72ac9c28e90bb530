// What passes decided for the nodes of a delegate, and why: for who asks why it is as quick as it is.
#ifndef BELAY_BACKENDS_CPU_AOT_DECISIONS_H_
#define BELAY_BACKENDS_CPU_AOT_DECISIONS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/exported_program.h"

namespace belay::cpu {

// Lines about nodes, by their names. One for a run of passes; they end up in
// PreprocessResult::delegate_info, and so in the report of `belay lower`.
class Decisions {
 public:
  // The node is now what the text says.
  void Made(std::string_view node, std::string text);
  // The node stays as it is, and why. Counts if the node is there in the end, and only the last
  // reason: a later pass may see what an earlier one did not.
  void Left(std::string_view node, std::string reason);

  // What was made, in the order in which it was said, then what of `program`, as the passes left it,
  // was left, in execution order: lines "node: text", each ended by a line feed.
  std::string Text(const exir::ExportedProgram& program) const;

 private:
  std::vector<std::pair<std::string, std::string>> made_;
  absl::flat_hash_map<std::string, std::string> left_;
};

// "1536 KiB", "200 bytes" below 10 KiB.
std::string BytesText(int64_t bytes);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_DECISIONS_H_
