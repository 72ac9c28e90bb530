#include "runtime/program/program_validator.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/arena.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/header.h"
#include "runtime/program/memory_bound.h"
#include "runtime/program/metadata_messages.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/method_validator.h"
#include "runtime/program/segment_validator.h"
#include "runtime/schema/file_format.h"

namespace belay {
namespace {

// Whether the file requires kNamedConstants, the only known feature.
absl::StatusOr<bool> ReadFeatures(const WireList& features) {
  std::vector<std::string> unknown;
  uint64_t known = 0;
  WireElements elements(features);
  for (uint64_t i = 0; i < features.count; ++i) {
    const std::string_view name = elements.NextString();
    if (name == kNamedConstants) {
      ++known;
    } else if (unknown.size() < kMostListed) {
      unknown.push_back(Quoted(name));
    }
  }
  if (unknown.empty()) return known > 0;
  return absl::UnimplementedError(
      absl::StrCat("the program needs features that this reader does not know: ",
                   ListFirst(unknown, ", ", features.count - known)));
}

absl::Status ReadMetadata(absl::Span<const std::byte> bytes, const Limits& limits,
                          const MetadataPath& root, ProgramMessage& metadata) {
  return Read({.bytes = bytes,
               .nesting = static_cast<uint32_t>(std::min<uint64_t>(limits.nesting, UINT32_MAX)),
               .depth = 0},
              root, metadata);
}

// Checks for all memory allocated from here on, except what CheckMemory uses itself.
absl::StatusOr<uint64_t> CheckPlansMemory(const ProgramMessage& metadata,
                                          absl::Span<const MethodMessage> methods, uint64_t bytes) {
  const uint64_t plans_bytes = PlansMemoryBound(metadata, methods);
  ABSL_RETURN_IF_ERROR(
      CheckMemory(plans_bytes, absl::StrCat("the content of ", bytes, " bytes of metadata")));
  return plans_bytes;
}

absl::StatusOr<std::vector<MethodPlan>> ValidateMethods(
    absl::Span<const MethodMessage> methods, absl::Span<const SegmentPlan> segments,
    absl::Span<const absl::Span<const std::byte>> constants, const Limits& limits,
    const MetadataPath& root, uint64_t tensor_alignment) {
  std::vector<MethodPlan> plans;
  plans.reserve(methods.size());
  for (size_t i = 0; i < methods.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(MethodPlan plan,
                          ValidateMethod(methods[i], segments, constants, limits,
                                         MetadataPath(root, "methods", i), tensor_alignment));
    plans.push_back(std::move(plan));
  }
  return plans;
}

absl::StatusOr<std::vector<MethodMessage>> ReadMethods(const WireList& list, const Limits& limits,
                                                       const MetadataPath& root) {
  if (list.count > limits.methods) {
    return MetadataPath(root, "methods").LimitError("methods", list.count, limits.methods);
  }
  MemoryBound bound;
  bound.Add(list.count, sizeof(MethodMessage));
  bound.Add(1, 4096);  // an error message
  ABSL_RETURN_IF_ERROR(CheckMemory(bound.bytes(), "the list of methods"));
  std::vector<MethodMessage> methods(list.count);
  WireElements elements(list);
  for (uint64_t i = 0; i < list.count; ++i) {
    const MetadataPath at(root, "methods", i);
    ABSL_RETURN_IF_ERROR(Read(elements.NextMessage(), at, methods[i]));
    if (methods[i].name.empty()) return MetadataPath(at, "name").Error("is empty");
    if (i > 0 && methods[i].name <= methods[i - 1].name) {
      return MetadataPath(at, "name")
          .Error(absl::StrCat(Quoted(methods[i].name), " does not come after ",
                              Quoted(methods[i - 1].name),
                              ": methods are sorted by name, which is unique"));
    }
  }
  return methods;
}

}  // namespace

absl::StatusOr<Program> ProgramValidator::Validate(std::shared_ptr<const void> owner,
                                                   absl::Span<const std::byte> file,
                                                   const Program::Options& options,
                                                   const std::string& path) {
  Limits limits = options.limits;
  if (options.verifier != nullptr) {
    ABSL_RETURN_IF_ERROR(CheckFileBytes(file.size(), limits));
    ABSL_RETURN_IF_ERROR(options.verifier->VerifyFile(path, file));
  }
  ABSL_ASSIGN_OR_RETURN(const FileHeader header, ReadHeader(file, limits));
  // A copy of the metadata can't change between two reads.
  AlignedBuffer copy;
  ABSL_ASSIGN_OR_RETURN(copy, AlignedBuffer::Create(header.metadata.size()));
  std::copy(header.metadata.begin(), header.metadata.end(), copy.data());
  const MetadataPath root;
  ProgramMessage metadata;
  ABSL_RETURN_IF_ERROR(ReadMetadata(absl::MakeConstSpan(copy.data(), header.metadata.size()),
                                    limits, root, metadata));
  ABSL_ASSIGN_OR_RETURN(const bool named_constants, ReadFeatures(metadata.required_features));
  ABSL_ASSIGN_OR_RETURN(const std::vector<MethodMessage> methods,
                        ReadMethods(metadata.methods, limits, root));

  Program program;
  ABSL_ASSIGN_OR_RETURN(program.plans_bytes_,
                        CheckPlansMemory(metadata, methods, header.metadata.size()));
  ABSL_ASSIGN_OR_RETURN(Segments segments,
                        ValidateSegments(metadata.segments, header, file, options));
  if (options.verifier != nullptr) {
    for (const SegmentPlan& segment : segments.plans) {
      if (segment.companion.empty()) continue;  // covered by the signature
      const absl::Status status = options.verifier->VerifyDigest(segment.bytes, segment.sha256);
      if (!status.ok()) {
        return absl::Status(
            status.code(),
            absl::StrCat("companion file ", Quoted(segment.companion), ": ", status.message()));
      }
    }
  }
  program.segments_ = std::move(segments.plans);
  ABSL_ASSIGN_OR_RETURN(
      program.named_data_,
      ValidateNamedData(metadata.named_data, program.segments_, options.named_tensors.get()));
  ABSL_ASSIGN_OR_RETURN(
      const std::vector<absl::Span<const std::byte>> constants,
      ValidateConstants(metadata.constants, program.segments_, program.named_data_,
                        options.named_data, named_constants));
  uint64_t bytes = file.size();
  for (const SegmentPlan& segment : program.segments_) {
    if (segment.companion.empty()) continue;
    bytes = CheckedAdd(bytes, uint64_t{segment.bytes.size()}).value_or(UINT64_MAX);
  }
  limits = options.named_data == nullptr ? LimitsOfFile(limits, bytes) : LimitsOfDelegate(limits);

  ABSL_ASSIGN_OR_RETURN(program.methods_, ValidateMethods(methods, program.segments_, constants,
                                                          limits, root, kTensorAlignment));
  if (metadata.debug_segment != 0) {
    ABSL_ASSIGN_OR_RETURN(
        program.debug_info_,
        WholeSegment(program.segments_, metadata.debug_segment - 1, SegmentPlan::Kind::kDebug,
                     MetadataPath(root, "debug_segment")));
  }
  program.producer_ = std::string(metadata.producer);
  program.minor_version_ = header.minor;
  program.metadata_bytes_ = header.metadata.size();
  program.bytes_ = file;
  program.limits_ = limits;
  segments.owners.push_back(std::move(owner));
  segments.owners.push_back(options.named_tensors);
  program.owner_ =
      std::make_shared<const std::vector<std::shared_ptr<const void>>>(std::move(segments.owners));
  return program;
}

absl::StatusOr<Program> ProgramValidator::Validate(ProgramParts parts, const Limits& limits) {
  const MetadataPath root;
  ProgramMessage metadata;
  ABSL_RETURN_IF_ERROR(ReadMetadata(parts.metadata, limits, root, metadata));
  ABSL_ASSIGN_OR_RETURN(const std::vector<MethodMessage> methods,
                        ReadMethods(metadata.methods, limits, root));
  Program program;
  ABSL_ASSIGN_OR_RETURN(program.plans_bytes_,
                        CheckPlansMemory(metadata, methods, parts.metadata.size()));
  ABSL_ASSIGN_OR_RETURN(program.methods_,
                        ValidateMethods(methods, parts.segments, parts.constants, limits, root,
                                        /*tensor_alignment=*/1));
  program.segments_ = std::move(parts.segments);
  program.named_data_ = std::move(parts.named_data);
  program.debug_info_ = parts.debug_info;
  program.producer_ = std::string(metadata.producer);
  program.format_ = std::move(parts.format);
  program.metadata_bytes_ = parts.metadata_bytes;
  program.bytes_ = parts.file;
  program.limits_ = limits;
  program.owner_ = std::move(parts.owner);
  return program;
}

}  // namespace belay
