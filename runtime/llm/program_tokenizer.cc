#include "runtime/llm/program_tokenizer.h"

#include <cstddef>

#include "absl/types/span.h"
#include "runtime/core/sha256.h"

namespace belay::llm {

absl::StatusOr<Tokenizer> ReadTokenizer(const Program& program, const TokenizerLimits& limits) {
  const absl::StatusOr<absl::Span<const std::byte>> bytes = program.FindNamedData(kTokenizerKey);
  if (!bytes.ok()) return absl::NotFoundError("the program has no tokenizer");
  for (const SegmentPlan& segment : program.segments()) {
    if (segment.bytes.data() != bytes->data() || segment.sha256.empty()) continue;
    if (Sha256(segment.bytes) != segment.sha256) {
      return absl::DataLossError("the tokenizer in the program is damaged: its digest differs");
    }
  }
  return Tokenizer::FromJson(
      std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()), limits);
}

}  // namespace belay::llm
