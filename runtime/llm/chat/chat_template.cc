#include "runtime/llm/chat/chat_template.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/str_join.h"
#include "runtime/core/annotate.h"
#include "runtime/core/python_json.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/utf8.h"
#include "runtime/llm/chat/template_interpreter.h"
#include "runtime/llm/chat/template_parser.h"
#include "runtime/llm/chat/template_value.h"
#include "runtime/llm/tokenizer/json_value.h"

namespace belay::llm {
namespace {

using Value = TemplateValue;

constexpr std::array<std::string_view, 7> kSpecialTokens = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

absl::StatusOr<Value> ConvertObject(simdjson::dom::object object, TemplateWork& work,
                                    bool (*is_used)(std::string_view key) = nullptr);

absl::StatusOr<Value> Convert(simdjson::dom::element json, TemplateWork& work) {
  ABSL_RETURN_IF_ERROR(work.Charge(kValueUnits));
  switch (json.type()) {
    case simdjson::dom::element_type::NULL_VALUE:
      return Value();
    case simdjson::dom::element_type::BOOL: {
      bool flag = false;
      (void)json.get(flag);
      return Value::Bool(flag);
    }
    case simdjson::dom::element_type::INT64: {
      int64_t integer = 0;
      (void)json.get(integer);
      return Value::Int(integer);
    }
    case simdjson::dom::element_type::UINT64:
      return absl::OutOfRangeError("expected integers of 64 bits");
    case simdjson::dom::element_type::DOUBLE: {
      double number = 0;
      (void)json.get(number);
      return Value::Double(number);
    }
    case simdjson::dom::element_type::STRING: {
      std::string_view text;
      (void)json.get(text);
      ABSL_RETURN_IF_ERROR(work.Charge(text.size()));
      if (!IsUtf8(text)) return absl::InvalidArgumentError("expected strings in UTF-8");
      return Value::Text(std::string(text));
    }
    case simdjson::dom::element_type::ARRAY: {
      std::vector<Value> items;
      simdjson::dom::array array;
      (void)json.get(array);
      for (const simdjson::dom::element item : array) {
        ABSL_ASSIGN_OR_RETURN(Value value, Convert(item, work));
        items.push_back(std::move(value));
      }
      return Value::List(std::move(items), work);
    }
    case simdjson::dom::element_type::OBJECT: {
      simdjson::dom::object object;
      (void)json.get(object);
      return ConvertObject(object, work);
    }
  }
  return absl::InternalError("unknown type of JSON");
}

// Ignores fields for which `is_used` is false.
absl::StatusOr<Value> ConvertObject(simdjson::dom::object object, TemplateWork& work,
                                    bool (*is_used)(std::string_view key)) {
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [key, item] : object) {
    if (is_used != nullptr && !is_used(key)) continue;
    ABSL_RETURN_IF_ERROR(work.Charge(key.size()));
    if (!IsUtf8(key)) return absl::InvalidArgumentError("expected keys in UTF-8");
    ABSL_ASSIGN_OR_RETURN(Value value, Convert(item, work));
    entries.emplace_back(Value::Text(std::string(key)), std::move(value));
  }
  return Value::Dict(std::move(entries), work);
}

absl::Status CheckSize(std::string_view what, size_t size, uint64_t most) {
  if (size <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(what, ": expected at most ", most, " bytes, got ", size));
}

absl::StatusOr<Value> ParseValue(std::string_view what, std::string_view json, uint64_t most,
                                 TemplateWork& work) {
  simdjson::dom::parser parser;
  ABSL_ASSIGN_OR_RETURN(const simdjson::dom::element root,
                        ParseJson(what, json, most, kMaxValueDepth, parser));
  const absl::StatusOr<Value> value = Convert(root, work);
  if (!value.ok()) return Annotate(value.status(), what);
  return value;
}

bool IsUsedInConfig(std::string_view key) {
  return key == "chat_template" ||
         std::find(kSpecialTokens.begin(), kSpecialTokens.end(), key) != kSpecialTokens.end();
}

// Parses the used fields of a tokenizer_config.json into a mapping. Others may be large:
// `added_tokens_decoder` lists the added tokens, thousands in some models.
absl::StatusOr<Value> ParseConfig(std::string_view json, const ChatTemplateLimits& limits,
                                  TemplateWork& work) {
  constexpr std::string_view kFile = "tokenizer_config.json";
  ABSL_RETURN_IF_ERROR(CheckSize(kFile, json.size(), limits.json_bytes));
  const std::optional<std::string> adapted = WithoutPythonNumbers(json);
  if (adapted.has_value()) json = *adapted;
  simdjson::dom::parser parser;
  ABSL_ASSIGN_OR_RETURN(const simdjson::dom::element root,
                        ParseJson(kFile, json, json.size(), kMaxValueDepth, parser));
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat(kFile, ": expected an object"));
  }
  const absl::StatusOr<Value> config = ConvertObject(object, work, IsUsedInConfig);
  if (!config.ok()) return Annotate(config.status(), kFile);
  return config;
}

// The text of a template in `chat_template`, or an empty string.
absl::StatusOr<std::string> TemplateText(const TemplateMapping& config, TemplateWork& work) {
  ABSL_ASSIGN_OR_RETURN(const Value* value, Find(config, Value::Text("chat_template"), work));
  if (value == nullptr || value->is_none()) return std::string();
  if (value->text() != nullptr) return *value->text();
  if (const TemplateSequence* named = value->sequence()) {
    for (const Value& item : named->items) {
      if (item.mapping() == nullptr) continue;
      ABSL_ASSIGN_OR_RETURN(const Value* name, Find(*item.mapping(), Value::Text("name"), work));
      ABSL_ASSIGN_OR_RETURN(const Value* text,
                            Find(*item.mapping(), Value::Text("template"), work));
      if (name != nullptr && name->text() != nullptr && *name->text() == "default" &&
          text != nullptr && text->text() != nullptr) {
        return *text->text();
      }
    }
    return absl::InvalidArgumentError("chat_template: expected a template named 'default'");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("chat_template: expected a string or a list, got ", value->type_name()));
}

using Tokens = std::vector<std::pair<std::string, std::string>>;

// A special token is a string, or an object with `content`.
absl::StatusOr<Tokens> ReadSpecialTokens(const TemplateMapping& config, TemplateWork& work) {
  Tokens tokens;
  for (const std::string_view name : kSpecialTokens) {
    ABSL_ASSIGN_OR_RETURN(const Value* value, Find(config, Value::Text(std::string(name)), work));
    if (value == nullptr || value->is_none()) continue;
    if (value->mapping() != nullptr) {
      ABSL_ASSIGN_OR_RETURN(value, Find(*value->mapping(), Value::Text("content"), work));
    }
    if (value == nullptr || value->text() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": expected a string, or an object with 'content'"));
    }
    tokens.emplace_back(name, *value->text());
  }
  return tokens;
}

// Names that a template reads, and those that it assigns.
void CollectNames(const TemplateNode& node, std::vector<std::string>& read,
                  std::vector<std::string>& assigned) {
  if (node.kind == TemplateNode::Kind::kName) read.push_back(node.name);
  if (node.kind == TemplateNode::Kind::kSet && node.nodes[0]->kind == TemplateNode::Kind::kName) {
    assigned.push_back(node.nodes[0]->name);
  }
  for (const TemplateNodePtr& child : node.nodes) {
    if (child != nullptr) CollectNames(*child, read, assigned);
  }
  for (const auto& [name, child] : node.named) CollectNames(*child, read, assigned);
}

}  // namespace

absl::StatusOr<ChatTemplate> ChatTemplate::FromJson(std::string_view json,
                                                    const ChatTemplateLimits& limits) {
  ChatTemplate result;
  result.limits_ = limits;
  TemplateWork work(limits.work);
  ABSL_ASSIGN_OR_RETURN(const Value config, ParseConfig(json, limits, work));
  ABSL_ASSIGN_OR_RETURN(const std::string text, TemplateText(*config.mapping(), work));
  if (text.empty()) return absl::InvalidArgumentError("expected a field 'chat_template'");
  ABSL_RETURN_IF_ERROR(CheckSize("chat template", text.size(), limits.template_bytes));
  absl::StatusOr<TemplateNodePtr> root = ParseTemplate(text);
  if (!root.ok()) return Annotate(root.status(), "chat template");
  result.root_ = *std::move(root);
  ABSL_ASSIGN_OR_RETURN(result.special_tokens_, ReadSpecialTokens(*config.mapping(), work));
  return result;
}

absl::StatusOr<std::string> ChatTemplate::Render(std::string_view messages,
                                                 const ChatOptions& options) const {
  TemplateContext context = {.work = TemplateWork(limits_.work), .now = options.now};
  std::vector<std::pair<std::string, Value>> variables;
  for (const auto& [name, token] : special_tokens_) {
    variables.emplace_back(name, Value::Text(token));
  }
  ABSL_ASSIGN_OR_RETURN(Value list,
                        ParseValue("messages", messages, limits_.json_bytes, context.work));
  const TemplateSequence* sequence = list.sequence();
  if (sequence == nullptr ||
      !std::all_of(sequence->items.begin(), sequence->items.end(),
                   [](const Value& message) { return message.mapping() != nullptr; })) {
    return absl::InvalidArgumentError("messages: expected an array of objects");
  }
  variables.emplace_back("messages", std::move(list));
  Value tools;
  if (!options.tools.empty()) {
    ABSL_ASSIGN_OR_RETURN(tools,
                          ParseValue("tools", options.tools, limits_.json_bytes, context.work));
  }
  variables.emplace_back("tools", std::move(tools));
  variables.emplace_back("documents", Value());
  variables.emplace_back("add_generation_prompt", Value::Bool(options.add_generation_prompt));
  if (!options.variables.empty()) {
    ABSL_ASSIGN_OR_RETURN(const Value object, ParseValue("variables", options.variables,
                                                         limits_.json_bytes, context.work));
    if (object.mapping() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("variables: expected an object, got ", object.type_name()));
    }
    for (const auto& [name, value] : object.mapping()->entries) {
      variables.emplace_back(*name.text(), value);
    }
  }
  absl::StatusOr<std::string> text =
      RenderTemplate(*root_, variables, limits_.output_bytes, context);
  if (!text.ok()) return Annotate(text.status(), "chat template");
  return text;
}

const std::string* ChatTemplate::SpecialToken(std::string_view name) const {
  for (const auto& [known, token] : special_tokens_) {
    if (known == name) return &token;
  }
  return nullptr;
}

std::vector<std::string> ChatTemplate::MissingSpecialTokens() const {
  std::vector<std::string> read, assigned, missing;
  CollectNames(*root_, read, assigned);
  for (const std::string_view name : kSpecialTokens) {
    if (SpecialToken(name) == nullptr && std::find(read.begin(), read.end(), name) != read.end() &&
        std::find(assigned.begin(), assigned.end(), name) == assigned.end()) {
      missing.emplace_back(name);
    }
  }
  return missing;
}

absl::StatusOr<std::string> MergeChatTemplateFiles(absl::Span<const std::string_view> files,
                                                   const ChatTemplateLimits& limits) {
  TemplateWork work(limits.work);
  std::string text, configured;
  Tokens tokens;
  bool has_text = false, has_config = false;
  for (const std::string_view file : files) {
    const std::string_view content = Strip(IsUtf8(file) ? file : "", true, true);
    if (content.starts_with('{') && !content.starts_with("{{") && !content.starts_with("{%") &&
        !content.starts_with("{#")) {
      ABSL_ASSIGN_OR_RETURN(const Value config, ParseConfig(content, limits, work));
      if (std::exchange(has_config, true)) {
        return absl::InvalidArgumentError("expected one tokenizer_config.json, got several");
      }
      ABSL_ASSIGN_OR_RETURN(configured, TemplateText(*config.mapping(), work));
      ABSL_ASSIGN_OR_RETURN(tokens, ReadSpecialTokens(*config.mapping(), work));
      continue;
    }
    if (content.empty()) {
      return absl::InvalidArgumentError("expected a chat template in UTF-8, or JSON");
    }
    if (std::exchange(has_text, true)) {
      return absl::InvalidArgumentError("expected one chat template, got several");
    }
    text = file;
  }
  if (!has_text) text = configured;
  std::vector<std::pair<Value, Value>> fields = {
      {Value::Text("chat_template"), Value::Text(std::move(text))}};
  for (auto& [name, token] : tokens) {
    fields.emplace_back(Value::Text(std::move(name)), Value::Text(std::move(token)));
  }
  ABSL_ASSIGN_OR_RETURN(const Value merged, Value::Dict(std::move(fields), work));
  ABSL_ASSIGN_OR_RETURN(std::string json, ToJson(merged, {}, work));
  ABSL_ASSIGN_OR_RETURN(const ChatTemplate checked, ChatTemplate::FromJson(json, limits));
  const std::vector<std::string> missing = checked.MissingSpecialTokens();
  if (!missing.empty() && !has_config) {
    return absl::InvalidArgumentError(absl::StrCat("the chat template prints ",
                                                   absl::StrJoin(missing, ", "),
                                                   ": add the model's tokenizer_config.json"));
  }
  return json;
}

}  // namespace belay::llm
