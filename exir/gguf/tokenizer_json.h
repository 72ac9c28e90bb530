// Converts the tokenizer and the chat template in the metadata of a GGUF file.
#ifndef BELAY_EXIR_GGUF_TOKENIZER_JSON_H_
#define BELAY_EXIR_GGUF_TOKENIZER_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "exir/gguf/gguf_file.h"

namespace belay::exir {

// Returns the tokenizer as the content of a Hugging Face tokenizer.json. tokenizer.ggml.model is
//
//   llama  SentencePiece's BPE. A merge is a split of a token into two tokens; merges are ordered
//          by the score of the result, highest first.
//   gpt2   BPE of bytes, with the merges of the file and the regular expression that
//          tokenizer.ggml.pre names: default, gpt-2, llama-bpe, llama3, llama-v3, qwen2, smollm
//
//   kNotFound         the file has no tokenizer
//   kInvalidArgument  a key is missing or has another type; arrays of different lengths; a token
//                     that occurs twice or is not UTF-8; an id without token
//   kUnimplemented    another model or regular expression, which is named; a token of more than
//                     256 bytes in a model llama
// Errors name the key. O(bytes of the keys).
absl::StatusOr<std::string> TokenizerJson(const GgufFile& file);

// Returns tokenizer.chat_template and the special tokens as the content of a tokenizer_config.json.
//   kNotFound         the file has no chat template
//   kInvalidArgument  a key has another type, or is not UTF-8; an id without token
absl::StatusOr<std::string> ChatTemplateJson(const GgufFile& file);

}  // namespace belay::exir

#endif  // BELAY_EXIR_GGUF_TOKENIZER_JSON_H_
