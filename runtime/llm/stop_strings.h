// Text of generated tokens, up to the first of several stop strings.
#ifndef BELAY_RUNTIME_LLM_STOP_STRINGS_H_
#define BELAY_RUNTIME_LLM_STOP_STRINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/llm/tokenizer/text_stream.h"
#include "runtime/llm/tokenizer/tokenizer.h"

namespace belay::llm {

// Holds back text that may be the start of a stop string.
class StopStrings {
 public:
  // Without a tokenizer, all text is empty. It must outlive the object.
  //   kInvalidArgument  an empty stop string, or stop strings without a tokenizer
  static absl::StatusOr<StopStrings> Create(const Tokenizer* tokenizer,
                                            std::vector<std::string> strings);

  // Returns the text that is certain after this token. Errors of Tokenizer::Decode.
  absl::StatusOr<std::string> Push(int32_t token);
  // Returns the rest of the text. Errors of Tokenizer::Decode.
  absl::StatusOr<std::string> Finish();
  // Whether a stop string was found. All text before it was returned.
  bool stopped() const { return stopped_; }

 private:
  StopStrings(const Tokenizer* tokenizer, std::vector<std::string> strings)
      : strings_(std::move(strings)) {
    if (tokenizer != nullptr) stream_.emplace(tokenizer);
  }
  // Adds text, and returns the part that is certain.
  std::string Add(const std::string& text);

  std::optional<TextStream> stream_;  // none without a tokenizer
  std::vector<std::string> strings_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_STOP_STRINGS_H_
