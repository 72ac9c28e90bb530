#include "runtime/llm/program_tokenizer.h"

#include <cstddef>

#include "absl/types/span.h"
#include "runtime/core/bytes.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::llm {
namespace {

// Named data, after checking the digest of its segment. `what`: for messages.
absl::StatusOr<std::string_view> CheckedData(const Program& program, std::string_view key,
                                             std::string_view what) {
  const absl::StatusOr<absl::Span<const std::byte>> bytes = program.FindNamedData(key);
  if (!bytes.ok()) return absl::NotFoundError(absl::StrCat("the program has no ", what));
  for (const SegmentPlan& segment : program.segments()) {
    if (segment.bytes.data() != bytes->data() || segment.sha256.empty()) continue;
    if (Sha256(segment.bytes) != segment.sha256) {
      return absl::DataLossError(
          absl::StrCat("the ", what, " in the program is damaged: its digest differs"));
    }
  }
  return AsString(*bytes);
}

}  // namespace

absl::StatusOr<Tokenizer> ReadTokenizer(const Program& program, const TokenizerLimits& limits) {
  const absl::StatusOr<std::string_view> tables =
      CheckedData(program, kTokenizerTablesKey, "tokenizer");
  if (tables.ok()) return Tokenizer::FromTables(AsBytes(*tables), limits);
  if (!absl::IsNotFound(tables.status())) return tables.status();
  ABSL_ASSIGN_OR_RETURN(const std::string_view json,
                        CheckedData(program, kTokenizerKey, "tokenizer"));
  return Tokenizer::FromJson(json, limits);
}

absl::StatusOr<ChatTemplate> ReadChatTemplate(const Program& program,
                                              const ChatTemplateLimits& limits) {
  ABSL_ASSIGN_OR_RETURN(const std::string_view json,
                        CheckedData(program, kChatTemplateKey, "chat template"));
  return ChatTemplate::FromJson(json, limits);
}

}  // namespace belay::llm
