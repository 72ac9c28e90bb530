// Writes the values of a call to files.
#ifndef BELAY_TOOLS_BELAY_RECORDED_VALUES_H_
#define BELAY_TOOLS_BELAY_RECORDED_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/evalue.h"
#include "runtime/executor/method.h"
#include "runtime/trace/event_log.h"

namespace belay::tools {

// Writes the outputs of every instruction while a method executes, as the observer of its log, also
// those of programs inside delegates. Tensors and numbers have a file; an instruction in a loop has
// one per iteration.
class RecordedValues final : public ValueObserver {
 public:
  // `directory` must exist.
  explicit RecordedValues(std::string directory) : directory_(std::move(directory)) {}

  void OnOutputs(uint32_t owner, int64_t instruction, absl::Span<EValue* const> outputs) override;

  // After the call: renames the files to <name>.npy, with the name of the node in the debug
  // information; a further value of this name is <name>.1.npy, then <name>.2.npy. Writes
  // values.json: for each value in execution order its file, instruction, path of methods and
  // delegates, operator, nodes of the model and source line. Returns the number of values; errors
  // of writing, also those during the call. Precondition: `method` writes to the log.
  absl::StatusOr<size_t> Finish(const Method& method);

 private:
  struct Value {
    uint32_t owner;
    int64_t instruction;
    size_t output;
    std::string file;  // a temporary name
  };

  const std::string directory_;
  std::vector<Value> values_;
  absl::Status status_;
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_RECORDED_VALUES_H_
