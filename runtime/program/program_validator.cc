#include "runtime/program/program_validator.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/io/coded_stream.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/header.h"
#include "runtime/program/memory_bound.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/method_validator.h"
#include "runtime/program/segment_validator.h"
#include "runtime/schema/program.pb.h"

namespace belay {
namespace {

// The deepest that is ever parsed: the parser recurses.
constexpr uint64_t kMaxNesting = 100;

bool Parse(absl::Span<const std::byte> bytes, uint64_t nesting, schema::Program& program) {
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const google::protobuf::uint8*>(bytes.data()),
      static_cast<int>(bytes.size()));  // ReadHeader limits it
  input.SetRecursionLimit(static_cast<int>(nesting));
  return program.ParseFromCodedStream(&input) && input.ConsumedEntireMessage();
}

// The message lives in `arena`.
absl::StatusOr<const schema::Program*> ParseMetadata(absl::Span<const std::byte> bytes,
                                                     const Limits& limits,
                                                     google::protobuf::Arena& arena) {
  const auto parse = [&](uint64_t nesting) -> const schema::Program* {
    auto* program = google::protobuf::Arena::CreateMessage<schema::Program>(&arena);
    return Parse(bytes, nesting, *program) ? program : nullptr;
  };
  const uint64_t nesting = std::min(limits.nesting, kMaxNesting);
  if (const schema::Program* program = parse(nesting)) return program;
  arena.Reset();  // so that there is never more than one
  // The parser does not say why. If it gets along with more levels, these were it.
  if (nesting < kMaxNesting && parse(kMaxNesting) != nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the metadata's messages are nested deeper than the limit 'nesting' of ", nesting));
  }
  return absl::DataLossError(absl::StrCat(
      "the metadata is not a Protocol Buffers message belay.schema.Program of at most ",
      kMaxNesting, " levels"));
}

// Version 1.0 has no features that a file could require.
absl::Status CheckFeatures(const schema::Program& program) {
  if (program.required_features().empty()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const std::string& name : program.required_features()) names.push_back(Quoted(name));
  return absl::UnimplementedError(absl::StrCat(
      "the program needs features that this reader does not know: ", absl::StrJoin(names, ", ")));
}

}  // namespace

absl::StatusOr<Program> ProgramValidator::Validate(std::shared_ptr<const void> owner,
                                                   absl::Span<const std::byte> file,
                                                   const Program::Options& options,
                                                   const std::string& path) {
  const Limits& limits = options.limits;
  if (options.verifier != nullptr) {
    ABSL_RETURN_IF_ERROR(CheckFileBytes(file.size(), limits));
    ABSL_RETURN_IF_ERROR(options.verifier->VerifyFile(path, file));
  }
  ABSL_ASSIGN_OR_RETURN(const FileHeader header, ReadHeader(file, limits));
  // All that is allocated from here on, but for what CheckMemory knows itself.
  ABSL_RETURN_IF_ERROR(
      CheckMemory(MetadataMemoryBound(header.metadata),
                  absl::StrCat("the content of ", header.metadata.size(), " bytes of metadata")));
  google::protobuf::Arena arena;
  ABSL_ASSIGN_OR_RETURN(const schema::Program* parsed,
                        ParseMetadata(header.metadata, limits, arena));
  const schema::Program& metadata = *parsed;
  ABSL_RETURN_IF_ERROR(CheckFeatures(metadata));

  Program program;
  ABSL_ASSIGN_OR_RETURN(Segments segments, ValidateSegments(metadata, header, file, options));
  if (options.verifier != nullptr) {
    for (const SegmentPlan& segment : segments.plans) {
      if (segment.companion.empty()) continue;  // what the signature is of
      const absl::Status status = options.verifier->VerifyDigest(segment.bytes, segment.sha256);
      if (!status.ok()) {
        return absl::Status(
            status.code(),
            absl::StrCat("companion file ", Quoted(segment.companion), ": ", status.message()));
      }
    }
  }
  program.segments_ = std::move(segments.plans);
  ABSL_ASSIGN_OR_RETURN(const std::vector<absl::Span<const std::byte>> constants,
                        ValidateConstants(metadata, program.segments_));
  ABSL_ASSIGN_OR_RETURN(program.named_data_, ValidateNamedData(metadata, program.segments_));

  const MetadataPath root;
  const uint64_t methods = metadata.methods_size();
  if (methods > limits.methods) {
    return MetadataPath(root, "methods").LimitError("methods", methods, limits.methods);
  }
  program.methods_.reserve(methods);
  for (uint64_t i = 0; i < methods; ++i) {
    const schema::Method& method = metadata.methods(i);
    const MetadataPath at(root, "methods", i);
    if (method.name().empty()) return MetadataPath(at, "name").Error("is empty");
    if (i > 0 && method.name() <= program.methods_.back().name) {
      return MetadataPath(at, "name")
          .Error(absl::StrCat(Quoted(method.name()), " does not come after ",
                              Quoted(program.methods_.back().name),
                              ": methods are sorted by name, which is unique"));
    }
    ABSL_ASSIGN_OR_RETURN(MethodPlan plan,
                          ValidateMethod(method, program.segments_, constants, limits, at));
    program.methods_.push_back(std::move(plan));
  }
  if (metadata.debug_segment() != 0) {
    ABSL_ASSIGN_OR_RETURN(
        program.debug_info_,
        WholeSegment(program.segments_, metadata.debug_segment() - 1, SegmentPlan::Kind::kDebug,
                     MetadataPath(root, "debug_segment")));
  }
  program.producer_ = metadata.producer();
  program.minor_version_ = header.minor;
  program.metadata_bytes_ = header.metadata.size();
  program.bytes_ = file;
  program.limits_ = limits;
  segments.owners.push_back(std::move(owner));
  program.owner_ =
      std::make_shared<const std::vector<std::shared_ptr<const void>>>(std::move(segments.owners));
  return program;
}

}  // namespace belay
