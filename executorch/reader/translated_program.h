// Translates ExecuTorch's program files to Belay's metadata, as open_program.h describes.
#ifndef BELAY_EXECUTORCH_READER_TRANSLATED_PROGRAM_H_
#define BELAY_EXECUTORCH_READER_TRANSLATED_PROGRAM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executorch/reader/data_file.h"
#include "executorch/reader/delegate_conversion.h"
#include "runtime/program/limits.h"
#include "runtime/program/program.h"
#include "runtime/program/program_parts.h"
#include "runtime/schema/program.pb.h"

namespace belay::pte {

struct OpenOptions {
  // Options::companion_root and ::named_data are unused.
  belay::Program::Options program;
  // Data files (.ptd) with the external data of tensors and delegates, merged by name.
  std::vector<std::string> data_files;
  // Replaces delegates, e.g. XnnpackConverter (executorch/payload_import/delegate_converter.h);
  // null: delegates stay as the file has them.
  DelegateConverter convert_delegates = {};
  // Folder with converted programs (conversion_cache.h), which are opened instead of their sources;
  // "": none. Only for paths, and not with a verifier.
  std::string weight_cache = {};
};

// Producer in the metadata of translated programs.
inline constexpr char kProducer[] = "ExecuTorch";

// A translated program, which is not validated.
struct TranslatedProgram {
  schema::Program metadata;  // `producer` and `methods`
  schema::DebugInfo debug;
  ProgramParts parts;              // without `metadata` and `debug_info`
  Limits limits;                   // those of the options, in proportion to the file
  std::vector<std::string> notes;  // ConvertedDelegates::notes
  bool converted = false;          // whether a delegate was converted
};

// Errors of OpenProgram, except those of OpenTranslated.
absl::StatusOr<TranslatedProgram> TranslateProgram(const std::string& path,
                                                   const OpenOptions& options);
// The same for OpenProgramBytes.
absl::StatusOr<TranslatedProgram> TranslateProgramBytes(
    std::shared_ptr<const void> owner, absl::Span<const std::byte> file, const DataFiles& data,
    const belay::Program::Options& options, const DelegateConverter& convert_delegates = {});

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_TRANSLATED_PROGRAM_H_
