#include "runtime/llm/tokenizer/write_tokenizer_tables.h"

#include <memory>

#include "absl/types/span.h"
#include "runtime/core/bytes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/json_value.h"
#include "runtime/llm/tokenizer/token_model.h"
#include "runtime/llm/tokenizer/tokenizer_tables.h"

namespace belay::llm {
namespace {

// Returns the index after the string that begins at `at`.
size_t EndOfString(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at + 1;
}

// Copies a valid document with empty values of model.vocab and model.merges. Simdjson's writer is
// ten times this code. A key that is written with escapes keeps its value, which is not read.
std::string WithoutTables(std::string_view json) {
  std::string rest;
  std::string_view key;  // the last string at depth 1 or 2
  std::string_view top;  // the key at depth 1
  int depth = 0;
  int skipped = 0;  // depth of a value that is left out; 0: none
  for (size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      const size_t end = EndOfString(json, at);
      if (depth <= 2) key = json.substr(at, end - at);
      if (skipped == 0) rest += json.substr(at, end - at);
      at = end;
      continue;
    }
    if (c == ':' && depth == 1) top = key;
    if (c == '{' || c == '[') {
      ++depth;
      const bool is_table = key == "\"vocab\"" || key == "\"merges\"";
      if (skipped == 0 && depth == 3 && top == "\"model\"" && is_table) {
        skipped = depth;
        rest += c;
      }
    }
    if ((c == '}' || c == ']') && depth-- == skipped) skipped = 0;
    if (skipped == 0) rest += c;
    ++at;
  }
  return rest;
}

template <class T>
void Append(absl::Span<const T> values, std::string& bytes) {
  if (values.empty()) return;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace

absl::StatusOr<std::string> WriteTokenizerTables(std::string_view json,
                                                 const TokenizerLimits& limits) {
  simdjson::dom::parser parser;
  ABSL_ASSIGN_OR_RETURN(
      const simdjson::dom::element root,
      ParseJson("tokenizer.json", json, limits.json_bytes, kMaxTokenizerJsonDepth, parser));
  const JsonValue document(root, "");
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<TokenModel> model,
                        TokenModel::Read(document["model"], limits.vocabulary));
  if (model->merges() == nullptr) {
    return absl::UnimplementedError("tokenizer tables: expected a model of type BPE");
  }
  const std::string rest = WithoutTables(json);
  const Vocabulary::Tables& vocabulary = model->vocabulary().tables();
  const MergeTable::Tables& merges = model->merges()->tables();
  // Counts are below 2^32: limits.vocabulary and the size of the JSON bound them.
  const auto count = [](size_t size) { return static_cast<uint32_t>(size); };
  const TokenizerTablesHeader header = {
      count(vocabulary.tokens.size()), count(vocabulary.slots.size()), count(merges.merges.size()),
      count(merges.slots.size()),      count(vocabulary.bytes.size()), count(rest.size())};
  std::string bytes(kTokenizerTablesMagic);
  Append(absl::MakeConstSpan(&header, 1), bytes);
  Append(vocabulary.tokens, bytes);
  Append(vocabulary.slots, bytes);
  Append(merges.merges, bytes);
  Append(merges.slots, bytes);
  bytes += vocabulary.bytes;
  bytes += rest;
  // Also refuses tables with runs that are too long.
  ABSL_RETURN_IF_ERROR(Tokenizer::FromTables(AsBytes(bytes), limits).status());
  return bytes;
}

}  // namespace belay::llm
