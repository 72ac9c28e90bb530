// `belay strip`: removes the debug information of a program file.
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/serialize/file_layout.h"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/named_data_map.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/header.h"
#include "runtime/program/program.h"
#include "runtime/schema/file_format.h"
#include "runtime/schema/program.pb.h"
#include "tools/belay/command.h"
#include "tools/belay/program_named_data.h"

namespace belay::tools {
namespace {

absl::StatusOr<exir::FilePieces> WithoutDebugInfo(const Program& program, const NamedDataMap& data,
                                                  int depth);

// Returns the blob of a delegate, without debug information if it is a program.
absl::StatusOr<std::string> StrippedBlob(absl::Span<const std::byte> blob, const NamedDataMap& data,
                                         int depth) {
  if (depth > kMaxNesting) {
    return absl::UnimplementedError(
        absl::StrCat("expected at most ", kMaxNesting, " levels of programs in delegates"));
  }
  Program::Options options;
  options.named_data = &data;
  ABSL_ASSIGN_OR_RETURN(const Program inner, Program::OpenBytes(nullptr, blob, options));
  ABSL_ASSIGN_OR_RETURN(const exir::FilePieces stripped, WithoutDebugInfo(inner, data, depth));
  std::string bytes;
  for (const std::string_view piece : stripped.pieces) bytes.append(piece);
  return bytes;
}

absl::StatusOr<exir::FilePieces> WithoutDebugInfo(const Program& program, const NamedDataMap& data,
                                                  int depth) {
  if (program.minor_version() > kFormatMinor) {
    // Unknown fields may refer to segments.
    return absl::UnimplementedError(
        absl::StrCat("the program has format version ", kFormatMajor, ".", program.minor_version(),
                     ", this command supports versions up to ", kFormatMajor, ".", kFormatMinor));
  }
  schema::Program before;
  if (!before.ParseFromArray(program.bytes().data() + kHeaderBytes,
                             static_cast<int>(program.metadata_bytes()))) {
    return absl::InternalError("the metadata can no longer be parsed");
  }
  schema::Program after = before;
  after.clear_segments();
  after.clear_debug_segment();
  std::vector<exir::SegmentBytes> segments;
  std::vector<std::unique_ptr<std::string>> blobs;
  std::vector<uint32_t> moved(static_cast<size_t>(before.segments_size()));
  for (int i = 0; i < before.segments_size(); ++i) {
    const schema::Segment& segment = before.segments(i);
    moved[i] = static_cast<uint32_t>(after.segments_size());
    if (segment.kind() == schema::Segment::DEBUG) {
      if (!segment.companion().empty()) {
        return absl::UnimplementedError(
            absl::StrCat("segment ", i, " with debug information is in the companion file '",
                         segment.companion(), "', which other programs may use"));
      }
      continue;  // only debug_segment refers to it (validated)
    }
    schema::Segment& kept = *after.add_segments();
    kept = segment;
    absl::Span<const std::byte> bytes = program.segments()[i].bytes;
    if (segment.kind() == schema::Segment::DELEGATE && HasProgramMagic(bytes)) {
      if (!segment.companion().empty()) {
        return absl::UnimplementedError(
            absl::StrCat("segment ", i, ", a program inside a delegate, is in the companion file '",
                         segment.companion(), "', which other programs may use"));
      }
      absl::StatusOr<std::string> blob = StrippedBlob(bytes, data, depth + 1);
      if (!blob.ok()) return Annotate(blob.status(), absl::StrCat("segment ", i));
      blobs.push_back(std::make_unique<std::string>(*std::move(blob)));
      bytes = AsBytes(*blobs.back());
      kept.set_size(bytes.size());
      kept.set_sha256(Sha256(bytes));
    }
    segments.push_back({{segment.companion().empty() ? AsString(bytes) : ""}, bytes.size()});
  }
  for (schema::Constant& constant : *after.mutable_constants()) {
    constant.set_segment(moved[constant.segment()]);
  }
  for (schema::NamedData& data : *after.mutable_named_data()) {
    data.set_segment(moved[data.segment()]);
  }
  for (schema::Method& method : *after.mutable_methods()) {
    for (schema::Delegate& delegate : *method.mutable_delegates()) {
      delegate.set_segment(moved[delegate.segment()]);
    }
  }
  exir::FilePieces file = exir::LayOutProgramFile(std::move(after), segments);
  for (auto& blob : blobs) file.owned.push_back(std::move(blob));
  return file;
}

absl::Status StripFile(const StripOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const Program program, Program::Open(options.file));
  absl::StatusOr<exir::FilePieces> stripped =
      WithoutDebugInfo(program, ProgramNamedData(program), /*depth=*/0);
  if (!stripped.ok()) return Annotate(stripped.status(), options.file);
  const std::string& output = options.output.empty() ? options.file : options.output;
  ABSL_RETURN_IF_ERROR(WriteFileAtomically(output, stripped->pieces));
  std::cout << output << ": " << stripped->size << " bytes, " << program.bytes().size()
            << " before\n";
  return absl::OkStatus();
}

}  // namespace

int Strip(const StripOptions& options) { return Report(StripFile(options)); }

Command StripCommand() {
  const auto strip = std::make_shared<StripOptions>();
  return {
      .name = "strip",
      .about = "Removes the debug information from a program file.",
      .options = {{"program", &strip->file, "the program file", {.required = true}},
                  {"-o,--output",
                   &strip->output,
                   "output file; by default, the program file is replaced",
                   {.not_empty = true}}},
      .footer = "Example: belay strip model.belay -o model.stripped.belay",
      .owned = strip,
      .run = [strip] { return Strip(*strip); },
  };
}

}  // namespace belay::tools
