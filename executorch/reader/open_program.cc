#include "executorch/reader/open_program.h"

#include <cstdint>
#include <string>
#include <utility>

#include "executorch/reader/conversion_cache.h"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/program_parts.h"

namespace belay::pte {
namespace {

// Returns false if the message would be too large.
bool Serialize(google::protobuf::MessageLite& message, std::string& bytes) {
  const bool fits = message.ByteSizeLong() <= INT32_MAX && message.SerializeToString(&bytes);
  message.Clear();
  return fits;
}

struct Owners {
  std::shared_ptr<const void> parts;
  std::string debug_info;
};

}  // namespace

absl::StatusOr<belay::Program> OpenTranslated(TranslatedProgram program) {
  auto owners = std::make_shared<Owners>();
  std::string metadata;
  if (!Serialize(program.metadata, metadata) || !Serialize(program.debug, owners->debug_info)) {
    return absl::ResourceExhaustedError("the program is too large to be translated");
  }
  program.parts.metadata = AsBytes(metadata);
  program.parts.debug_info = AsBytes(owners->debug_info);
  owners->parts = std::move(program.parts.owner);
  program.parts.owner = std::move(owners);
  return belay::Program::FromParts(std::move(program.parts), program.limits);
}

absl::StatusOr<belay::Program> OpenProgram(const std::string& path, const OpenOptions& options) {
  if (!options.weight_cache.empty()) {
    ABSL_ASSIGN_OR_RETURN(const ConversionCache cache, ConversionCache::Create(path, options));
    absl::StatusOr<belay::Program> cached = cache.Open();
    if (cached.ok()) return cached;
  }
  ABSL_ASSIGN_OR_RETURN(TranslatedProgram translated, TranslateProgram(path, options));
  absl::StatusOr<belay::Program> program = OpenTranslated(std::move(translated));
  if (program.ok()) return program;
  return Annotate(program.status(), path);
}

absl::StatusOr<belay::Program> OpenProgramBytes(std::shared_ptr<const void> owner,
                                                absl::Span<const std::byte> bytes,
                                                const DataFiles& data,
                                                const belay::Program::Options& options,
                                                const DelegateConverter& convert_delegates) {
  ABSL_ASSIGN_OR_RETURN(
      TranslatedProgram translated,
      TranslateProgramBytes(std::move(owner), bytes, data, options, convert_delegates));
  return OpenTranslated(std::move(translated));
}

}  // namespace belay::pte
