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

using simdjson::dom::key_value_pair;
using simdjson::dom::object;

void AppendField(std::string_view field, std::string& json) {
  if (!json.ends_with('{')) json += ',';
  json += field;
}

// The document with empty values of model.vocab and model.merges.
std::string WithoutTables(const object& document, const object& model) {
  std::string json = "{";
  for (const key_value_pair field : document) {
    if (field.key != "model") {
      AppendField(simdjson::minify(field), json);
      continue;
    }
    AppendField("\"model\":{", json);
    for (const key_value_pair inner : model) {
      if (inner.key == "vocab") {
        AppendField("\"vocab\":{}", json);
      } else if (inner.key == "merges") {
        AppendField("\"merges\":[]", json);
      } else {
        AppendField(simdjson::minify(inner), json);
      }
    }
    json += "}";
  }
  return json + "}";
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
  ABSL_ASSIGN_OR_RETURN(const object fields, document.Object());
  ABSL_ASSIGN_OR_RETURN(const object model_fields, document["model"].Object());
  const std::string rest = WithoutTables(fields, model_fields);
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
