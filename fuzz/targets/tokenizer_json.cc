// Reads a tokenizer, then encodes and decodes a string with it. Input: the string, a zero byte, and
// the content of `tokenizer.json`.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "runtime/core/utf8.h"
#include "runtime/llm/tokenizer/text_stream.h"
#include "runtime/llm/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t zero = bytes.find('\0');
  if (zero == std::string_view::npos || zero > 4096) return 0;
  const std::string_view text = bytes.substr(0, zero);
  const auto tokenizer = llm::Tokenizer::FromJson(bytes.substr(zero + 1), {.vocabulary = 1 << 16});
  fuzz::Require(fuzz::CheckTyped("read", tokenizer.status(), fuzz::kReaderCodes));
  if (!tokenizer.ok()) return 0;
  const auto tokens = tokenizer->Encode(text);
  fuzz::Require(fuzz::CheckTyped("encode", tokens.status(), fuzz::kReaderCodes));
  if (!tokens.ok()) return 0;
  llm::TextStream stream(&*tokenizer);
  for (int32_t token : *tokens) {
    fuzz::Require(fuzz::CheckTyped("stream", stream.Push(token).status(), fuzz::kReaderCodes));
  }
  const auto decoded = tokenizer->Decode(*tokens, true);
  fuzz::Require(fuzz::CheckTyped("decode", decoded.status(), fuzz::kReaderCodes));
  if (decoded.ok() && !IsUtf8(*decoded)) {
    fuzz::Require(absl::InternalError("decode: expected text in UTF-8"));
  }
  return 0;
}
