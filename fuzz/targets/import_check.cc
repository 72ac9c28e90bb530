#include "fuzz/targets/import_check.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/import/import.h"
#include "exir/import/testing/zip_writer.h"
#include "exir/ir/constant.h"
#include "exir/ir/verifier.h"
#include "fuzz/oracles/round_trip.h"
#include "fuzz/oracles/typed_status.h"
#include "fuzz/targets/recycled_ops.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::fuzz {
namespace {

constexpr size_t kMaxNoteBytes = 1000;

}  // namespace

exir::ImportOptions TightImportOptions() {
  exir::ImportOptions options;
  options.verify_checksums = false;
  options.max_file_bytes = 4 << 20;
  options.max_zip_entries = 1 << 12;
  options.max_json_bytes = 1 << 20;
  options.max_pickle_bytes = 1 << 20;
  options.max_pickle_values = 1 << 16;
  options.max_inflated_bytes = 4 << 20;
  options.max_zero_filled_bytes = 1 << 20;
  options.max_nodes = 10'000;
  return options;
}

absl::Status CheckImport(std::string archive, exir::ImportOptions options) {
  const exir::OpRegistry& ops = RecycledOps();
  std::vector<std::string> notes;
  options.notes = &notes;

  archive.shrink_to_fit();
  const exir::Storage file = exir::ToStorage(std::move(archive));
  ABSL_RETURN_IF_ERROR(CheckTyped(
      "inspect", exir::InspectArchive(file.owner, file.bytes, options).status(), kReaderCodes));
  const absl::StatusOr<exir::ExportedProgram> program =
      exir::ImportBytes(file.owner, file.bytes, ops, options);
  ABSL_RETURN_IF_ERROR(CheckTyped("import", program.status(), kReaderCodes));
  for (const std::string& note : notes) {
    if (!program.ok() || note.size() > kMaxNoteBytes || note != Printable(note) ||
        note.find('\n') != std::string::npos) {
      return absl::InternalError(
          absl::StrCat("a note that is not a printable line, or of an unknown program: ", note));
    }
  }
  if (!program.ok()) return absl::OkStatus();
  const absl::Status verified = exir::Verify(*program);
  if (!verified.ok()) {
    return absl::InternalError(
        absl::StrCat("an imported program does not verify: ", verified.ToString()));
  }
  return CheckRoundTrip(*program, ops);
}

}  // namespace belay::fuzz
