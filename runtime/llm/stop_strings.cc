#include "runtime/llm/stop_strings.h"

#include <algorithm>

#include "runtime/core/status_macros.h"

namespace belay::llm {

absl::StatusOr<StopStrings> StopStrings::Create(const Tokenizer* tokenizer,
                                                std::vector<std::string> strings) {
  if (tokenizer == nullptr && !strings.empty()) {
    return absl::InvalidArgumentError("stop strings require a tokenizer");
  }
  for (const std::string& string : strings) {
    if (string.empty()) {
      return absl::InvalidArgumentError("expected stop strings, got an empty one");
    }
  }
  return StopStrings(tokenizer, std::move(strings));
}

std::string StopStrings::Add(const std::string& text) {
  held_ += text;
  size_t end = std::string::npos;
  for (const std::string& string : strings_) end = std::min(end, held_.find(string));
  if (end != std::string::npos) {
    stopped_ = true;
    std::string result = held_.substr(0, end);
    held_.clear();
    return result;
  }
  // Keeps the longest suffix of the text that is a prefix of a stop string.
  size_t kept = 0;
  for (const std::string& string : strings_) {
    for (size_t n = std::min(string.size() - 1, held_.size()); n > kept; --n) {
      if (held_.compare(held_.size() - n, n, string, 0, n) == 0) kept = n;
    }
  }
  std::string result = held_.substr(0, held_.size() - kept);
  held_.erase(0, result.size());
  return result;
}

absl::StatusOr<std::string> StopStrings::Push(int32_t token) {
  if (!stream_.has_value() || stopped_) return std::string();
  ABSL_ASSIGN_OR_RETURN(const std::string text, stream_->Push(token));
  return Add(text);
}

absl::StatusOr<std::string> StopStrings::Finish() {
  if (!stream_.has_value() || stopped_) return std::string();
  ABSL_ASSIGN_OR_RETURN(const std::string text, stream_->Finish());
  std::string result = Add(text);
  if (!stopped_) result += held_;
  held_.clear();
  return result;
}

}  // namespace belay::llm
