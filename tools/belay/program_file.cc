#include "tools/belay/program_file.h"

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executorch/reader/flat_file.h"
#include "executorch/reader/open_any_program.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/file_format.h"

namespace belay::tools {
namespace {

// The first bytes of Belay's magic; the others detect damage.
constexpr size_t kNameBytes = 5;

}  // namespace

bool IsProgramFile(absl::Span<const std::byte> file) {
  return pte::IsProgramFile(file) ||
         (file.size() >= kNameBytes && std::memcmp(file.data(), kMagic, kNameBytes) == 0);
}

absl::StatusOr<Program> OpenProgramFile(const std::string& path, const pte::OpenOptions& options) {
  if (!options.data_files.empty()) {
    ABSL_ASSIGN_OR_RETURN(const bool is_pte, pte::IsProgramFileAt(path));
    if (!is_pte) {
      return absl::InvalidArgumentError(
          absl::StrCat(path,
                       ": --data is for ExecuTorch programs (.pte); Belay's name their "
                       "companion files"));
    }
  }
  return pte::OpenAnyProgram(path, options);
}

Option DataOption(std::vector<std::string>* data_files) {
  return {"--data",
          data_files,
          "data files (.ptd) with tensors of an ExecuTorch program (repeatable)",
          {.repeatable = true}};
}

int64_t DynamicSizeFor(const Program& program, int64_t wanted) {
  return program.format().empty() ? wanted : INT64_MAX;
}

}  // namespace belay::tools
