// Converts text to tokens and tokens to text, as a Hugging Face `tokenizer.json` describes.
//
// The steps are those of the `tokenizers` library (https://huggingface.co/docs/tokenizers): added
// tokens, normalizer, pre-tokenizer, model, post-processor; decoder. README.md lists the supported
// types.
#ifndef BELAY_RUNTIME_LLM_TOKENIZER_TOKENIZER_H_
#define BELAY_RUNTIME_LLM_TOKENIZER_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay::llm {

struct ModelTables;

struct TokenizerLimits {
  uint64_t json_bytes = uint64_t{256} << 20;
  int64_t vocabulary = int64_t{1} << 22;     // tokens and merges
  uint64_t text_bytes = uint64_t{64} << 20;  // of Encode
};

// Immutable; thread-safe. Move-only. Memory: about 40 bytes per token and 20 per merge, except for
// those of tables.
class Tokenizer {
 public:
  // Reads a file's content, which may be any bytes. Fields `truncation` and `padding` are ignored.
  //   kInvalidArgument    not JSON, or not a tokenizer; the message has the path of the value
  //   kUnimplemented      a type that is not supported; the message names it
  //   kResourceExhausted  a limit, or memory
  static absl::StatusOr<Tokenizer> FromJson(std::string_view json,
                                            const TokenizerLimits& limits = {});
  // Reads the tables of tokenizer_tables.h, which may be any bytes. Aligned tables are used in place
  // and must outlive the tokenizer.
  //   kDataLoss, kInvalidArgument  a rule of tokenizer_tables.h is violated
  //   errors of FromJson
  static absl::StatusOr<Tokenizer> FromTables(absl::Span<const std::byte> tables,
                                              const TokenizerLimits& limits = {});
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Returns the tokens of `text`. With `special_tokens`, the post-processor adds its tokens, such
  // as the beginning-of-sequence token.
  //   kInvalidArgument    not UTF-8
  //   kResourceExhausted  a limit, or a bound of a regular expression
  absl::StatusOr<std::vector<int32_t>> Encode(std::string_view text,
                                              bool special_tokens = true) const;

  // Returns the text of tokens. Ids without a token are skipped, and special tokens are skipped
  // unless `special_tokens`. The result is UTF-8: incomplete characters become U+FFFD.
  //   kResourceExhausted  a bound of a regular expression
  absl::StatusOr<std::string> Decode(absl::Span<const int32_t> tokens,
                                     bool special_tokens = false) const;

  std::optional<int32_t> TokenId(std::string_view token) const;
  // nullopt for an id without a token. The tokenizer must outlive the string.
  std::optional<std::string_view> Token(int64_t id) const;
  bool IsSpecial(int64_t id) const;
  // One more than the largest id.
  int64_t vocabulary_size() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  static absl::StatusOr<std::unique_ptr<Impl>> Read(std::string_view json,
                                                    const TokenizerLimits& limits,
                                                    const ModelTables* tables);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TOKENIZER_TOKENIZER_H_
