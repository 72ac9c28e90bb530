// Reads a tokenizer, then encodes and decodes a string with it. Input: the string, a zero byte, and
// the content of `tokenizer.json` or the tables of tokenizer_tables.h. Tables of a document give equal
// tokens.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "runtime/core/bytes.h"
#include "runtime/core/utf8.h"
#include "runtime/llm/tokenizer/text_stream.h"
#include "runtime/llm/tokenizer/tokenizer.h"
#include "runtime/llm/tokenizer/tokenizer_tables.h"
#include "runtime/llm/tokenizer/write_tokenizer_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t zero = bytes.find('\0');
  if (zero == std::string_view::npos || zero > 4096) return 0;
  const std::string_view text = bytes.substr(0, zero);
  const std::string_view content = bytes.substr(zero + 1);
  const llm::TokenizerLimits limits = {.vocabulary = 1 << 16};
  const bool is_tables = content.starts_with(llm::kTokenizerTablesMagic);
  const auto tokenizer = is_tables ? llm::Tokenizer::FromTables(AsBytes(content), limits)
                                   : llm::Tokenizer::FromJson(content, limits);
  fuzz::Require(fuzz::CheckTyped("read", tokenizer.status(), fuzz::kReaderCodes));
  if (!tokenizer.ok()) return 0;
  const auto tokens = tokenizer->Encode(text);
  fuzz::Require(fuzz::CheckTyped("encode", tokens.status(), fuzz::kReaderCodes));
  if (!tokens.ok()) return 0;
  const auto tables =
      is_tables ? absl::UnimplementedError("tables") : llm::WriteTokenizerTables(content, limits);
  if (tables.ok()) {
    const auto other = llm::Tokenizer::FromTables(AsBytes(*tables), limits);
    fuzz::Require(fuzz::CheckTyped("read tables", other.status(), {}));
    const auto other_tokens = other->Encode(text);
    if (!other_tokens.ok() || *other_tokens != *tokens) {
      fuzz::Require(absl::InternalError("tables: expected the tokens of the document"));
    }
  }
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
