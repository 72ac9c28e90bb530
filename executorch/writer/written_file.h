// Test helpers: emit program images, write them as .pte files, and print the files.
#ifndef BELAY_EXECUTORCH_WRITER_WRITTEN_FILE_H_
#define BELAY_EXECUTORCH_WRITER_WRITTEN_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "executorch/format/file_header.h"
#include "executorch/format/program_generated.h"
#include "executorch/writer/program_serializer.h"
#include "exir/emit/program_image.h"
#include "exir/op_definition/op_registry.h"

namespace belay::pte {

// The standard operators.
const exir::OpRegistry& Ops();

// Emits edge programs in text form, by method. Fails the test if one does not parse or can't be
// emitted.
exir::ProgramImage Emit(const std::vector<std::pair<std::string, std::string>>& methods);
inline exir::ProgramImage Emit(const std::string& text) { return Emit({{"forward", text}}); }

// A written file through the schema of ExecuTorch's runtime. Fails the test if the image is
// refused.
class File {
 public:
  explicit File(const exir::ProgramImage& image, const SerializeOptions& options = {});
  explicit File(const std::string& text) : File(Emit(text)) {}

  bool has_header() const { return bytes.substr(8, 4) == kProgramHeaderMagic; }
  uint64_t Number(size_t at, const std::string& in) const;
  uint64_t base() const { return Number(24, bytes); }
  const ExecutionPlanT& plan(size_t method = 0) const { return *program->execution_plan[method]; }
  const TensorT& Tensor(int32_t index, size_t method = 0) const {
    return *plan(method).values[index]->val.AsTensor();
  }

  // Prints literals verbatim, tensors and computed scalars as %index.
  std::string Value(int64_t index) const;
  // "aten::add.out(%0, %1, 1, %2, %2)", "move 1 -> %4", "if not %3 goto 7".
  std::vector<std::string> Instructions() const;

  std::string bytes, companion_bytes;
  std::vector<std::string> companion_names;
  std::unique_ptr<ProgramT> program;
};

// Returns the writer's error.
absl::Status Refusal(const exir::ProgramImage& image);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_WRITTEN_FILE_H_
