#include "runtime/llm/tokenizer/text_stream.h"

#include "absl/types/span.h"
#include "runtime/core/status_macros.h"
#include "runtime/llm/tokenizer/unicode_text.h"

namespace belay::llm {
namespace {

// A character has at most 4 bytes, so an incomplete one has fewer pending tokens.
constexpr size_t kMostPending = 8;

}  // namespace

absl::StatusOr<std::string> TextStream::Added(bool all) {
  const absl::Span<const int32_t> tokens = tokens_;
  ABSL_ASSIGN_OR_RETURN(const std::string before, tokenizer_->Decode(tokens.first(returned_)));
  ABSL_ASSIGN_OR_RETURN(const std::string text, tokenizer_->Decode(tokens));
  const bool pending =
      text.ends_with(kReplacementCharacter) && tokens.size() - returned_ < kMostPending;
  // Keeps tokens without text, so that the window never begins with them: decoders treat the first
  // token that has text differently.
  if (text.size() <= before.size() || (pending && !all)) return std::string();
  tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<ptrdiff_t>(returned_));
  returned_ = tokens_.size();
  return text.substr(before.size());
}

absl::StatusOr<std::string> TextStream::Push(int32_t token) {
  tokens_.push_back(token);
  absl::StatusOr<std::string> text = Added(false);
  if (!text.ok()) tokens_.pop_back();
  return text;
}

absl::StatusOr<std::string> TextStream::Finish() { return Added(true); }

}  // namespace belay::llm
