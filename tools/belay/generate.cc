// `belay generate`: generates text, or tokens, with a language model.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "backends/runtime_backends.h"
#include "nlohmann/json.hpp"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/thread_pool.h"
#include "runtime/core/utf8.h"
#include "runtime/llm/chat/chat_template.h"
#include "runtime/llm/conversation.h"
#include "runtime/llm/program_tokenizer.h"
#include "runtime/llm/session.h"
#include "runtime/llm/text_model.h"
#include "tools/belay/chat_template_files.h"
#include "tools/belay/command.h"
#include "tools/belay/integer_list.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/session.h"
#include "tools/belay/tokenizer_file.h"

namespace belay::tools {
namespace {

// Default of --speculate with a draft model.
constexpr int64_t kDraftedTokens = 4;

double SecondsSince(absl::Time start) { return absl::ToDoubleSeconds(absl::Now() - start); }

absl::StatusOr<llm::Tokenizer> OpenTokenizer(const std::string& path, const Program& program) {
  if (path.empty()) return llm::ReadTokenizer(program);
  ABSL_ASSIGN_OR_RETURN(TokenizerFile file, ReadTokenizerFile(path));
  return std::move(file.tokenizer);
}

absl::StatusOr<llm::ChatTemplate> OpenChatTemplate(const std::vector<std::string>& paths,
                                                   const Program& program) {
  if (!paths.empty()) {
    ABSL_ASSIGN_OR_RETURN(const std::string json, ReadChatTemplateFiles(paths));
    return llm::ChatTemplate::FromJson(json);
  }
  absl::StatusOr<llm::ChatTemplate> chat = llm::ReadChatTemplate(program);
  if (absl::IsNotFound(chat.status())) {
    return absl::InvalidArgumentError(
        "the program has no chat template: pass --chat-template tokenizer_config.json, or store "
        "one with 'belay lower --chat-template'");
  }
  return chat;
}

// Returns the ids of --stop-token; by default, the end tokens of the tokenizer.
absl::StatusOr<std::vector<int32_t>> StopTokens(const GenerateTextOptions& options,
                                                const llm::Tokenizer* tokenizer,
                                                const llm::ChatTemplate* chat) {
  std::vector<int32_t> stop;
  for (const std::string& text : options.stop_tokens) {
    int32_t id;
    std::optional<int32_t> token;
    if (tokenizer != nullptr) token = tokenizer->TokenId(text);
    if (!token.has_value() && absl::SimpleAtoi(text, &id)) token = id;
    if (!token.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--stop-token: expected a token or its id, got '", OneLine(text), "'"));
    }
    stop.push_back(*token);
  }
  if (!stop.empty() || options.ignore_end_tokens || tokenizer == nullptr) return stop;
  return llm::EndTokens(*tokenizer, chat);
}

nlohmann::json Rate(int64_t tokens, double seconds) {
  return {{"tokens", tokens},
          {"seconds", seconds},
          {"tokens_per_second", seconds > 0 ? static_cast<double>(tokens) / seconds : 0}};
}

void PrintRate(std::string_view name, const nlohmann::json& rate) {
  std::cerr << name << ": " << rate["tokens"] << " tokens in "
            << Duration(rate["seconds"].get<double>()) << ", "
            << WithUnit(rate["tokens_per_second"].get<double>(), "tokens/s") << "\n";
}

// Generates tokens and prints them, as text if there is a tokenizer.
class Writer {
 public:
  Writer(const GenerateTextOptions& options, llm::Session& session, llm::GenerateOptions generate)
      : options_(options), session_(session), generate_(std::move(generate)) {
    generate_.on_token = [this](const llm::GeneratedToken& token) { return Stream(token); };
  }

  // Continues a session after a prefill. `load_seconds` < 0: not printed.
  absl::StatusOr<llm::Generation> Write(double load_seconds, int64_t prefill_tokens,
                                        double prefill_seconds) {
    streamed_ = 0;
    first_ = true;
    const std::vector<int32_t> prompt = session_.tokens();
    const absl::Time start = absl::Now();
    ABSL_ASSIGN_OR_RETURN(llm::Generation result, session_.Generate(generate_));
    const double decode_seconds = SecondsSince(start);
    // The last token is not evaluated, unless a stop token follows it.
    const auto generated = static_cast<int64_t>(result.tokens.size());
    const int64_t evaluated = result.finish == llm::FinishReason::kStopToken
                                  ? generated
                                  : std::max<int64_t>(generated - 1, 0);
    const nlohmann::json prefill = Rate(prefill_tokens, prefill_seconds);
    const nlohmann::json decode = Rate(evaluated, decode_seconds);
    if (options_.json) {
      nlohmann::json report = {{"prompt_tokens", prompt},
                               {"tokens", result.tokens},
                               {"finish", llm::FinishReasonName(result.finish)},
                               {"prefill", prefill},
                               {"decode", decode}};
      if (load_seconds >= 0) report["load_seconds"] = load_seconds;
      if (generate_.speculate > 0) {
        report["speculation"] = {{"drafted", result.drafted}, {"accepted", result.accepted}};
      }
      if (generate_.tokenizer != nullptr) report["text"] = result.text;
      std::cout << JsonText(report) << std::flush;
      return result;
    }
    std::cout << ForTerminal(std::string_view(result.text).substr(streamed_)) << std::endl;
    if (load_seconds >= 0) std::cerr << "load: " << Duration(load_seconds) << "\n";
    PrintRate("prefill", prefill);
    PrintRate("decode", decode);
    if (generate_.speculate > 0) {
      std::cerr << "speculation: accepted " << result.accepted << " of " << result.drafted
                << " drafted tokens\n";
    }
    return result;
  }

 private:
  bool Stream(const llm::GeneratedToken& token) {
    if (options_.json) return true;
    if (generate_.tokenizer != nullptr) {
      std::cout << ForTerminal(token.text) << std::flush;
      streamed_ += token.text.size();
    } else {
      std::cout << (std::exchange(first_, false) ? "" : ",") << token.id << std::flush;
    }
    return std::cout.good();
  }

  const GenerateTextOptions& options_;
  llm::Session& session_;
  llm::GenerateOptions generate_;
  size_t streamed_ = 0;  // bytes of text
  bool first_ = true;
};

// Replies to --messages, or to each line of stdin.
absl::Status Chat(const GenerateTextOptions& options, const llm::Tokenizer& tokenizer,
                  const llm::ChatTemplate& chat, llm::Session& session, Writer& writer,
                  double load_seconds) {
  llm::ChatOptions chat_options;
  chat_options.variables = options.chat_variables;
  chat_options.now = absl::ToCivilSecond(absl::Now(), absl::LocalTimeZone());
  const auto reply = [&](std::string_view messages) -> absl::StatusOr<llm::Generation> {
    const absl::Time start = absl::Now();
    ABSL_ASSIGN_OR_RETURN(const int64_t evaluated,
                          llm::AppendMessages(session, tokenizer, chat, messages, chat_options));
    return writer.Write(std::exchange(load_seconds, -1), evaluated, SecondsSince(start));
  };
  if (!options.messages.empty()) {
    ABSL_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file,
                          MappedFile::Open(options.messages, {.access = FileAccess::kCopy}));
    return Annotate(reply(AsString(file->bytes())).status(), options.messages);
  }
  if (!IsUtf8(options.system)) return absl::InvalidArgumentError("--system: expected UTF-8");
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  if (!options.system.empty()) {
    messages.push_back({{"role", "system"}, {"content", options.system}});
  }
  const bool shows_prompt = !options.json && isatty(STDIN_FILENO) != 0;
  while (std::cout.good()) {
    if (shows_prompt) std::cerr << "> ";
    std::string line;
    if (!std::getline(std::cin, line)) break;
    if (line.empty()) continue;
    if (!IsUtf8(line)) return absl::InvalidArgumentError("stdin: expected lines in UTF-8");
    messages.push_back({{"role", "user"}, {"content", line}});
    ABSL_ASSIGN_OR_RETURN(const llm::Generation result, reply(messages.dump()));
    messages.push_back({{"role", "assistant"}, {"content", result.text}});
  }
  return absl::OkStatus();
}

// A draft model and its session.
struct Draft {
  std::optional<Program> program;
  std::optional<llm::TextModel> model;
  std::optional<llm::Session> session;
};

absl::Status OpenDraft(const GenerateTextOptions& options, const KernelRegistry& kernels,
                       ThreadPool* threads, Draft& draft) {
  ABSL_ASSIGN_OR_RETURN(
      draft.program,
      OpenProgramFile(options.draft_model, {options.limits.ForPrograms(FileAccess::kMap), {}}));
  llm::TextModelOptions model_options;
  model_options.threads = threads;
  absl::StatusOr<llm::TextModel> model =
      llm::TextModel::Create(*draft.program, kernels, RuntimeBackends(), model_options);
  if (!model.ok()) return Annotate(model.status(), options.draft_model);
  draft.model = *std::move(model);
  ABSL_ASSIGN_OR_RETURN(draft.session, llm::Session::Create(*draft.model));
  return absl::OkStatus();
}

absl::Status GenerateAll(const GenerateTextOptions& options) {
  WithinLimits limits(options.limits, {options.program, options.draft_model});
  const absl::Time start = absl::Now();
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddEngine(options.engine, kernels));
  ABSL_ASSIGN_OR_RETURN(
      const Program program,
      OpenProgramFile(options.program,
                      {options.limits.ForPrograms(FileAccess::kMap), options.data}));
  limits.Add(program);
  std::unique_ptr<ThreadPool> threads;
  if (options.threads > 1) threads = std::make_unique<ThreadPool>(options.threads);
  ABSL_ASSIGN_OR_RETURN(const llm::TextModel model,
                        llm::TextModel::Create(program, kernels, RuntimeBackends(),
                                               {.prefill = options.prefill,
                                                .decode = options.decode,
                                                .context_length = options.context_length,
                                                .threads = threads.get()}));
  absl::StatusOr<llm::Tokenizer> tokenizer = OpenTokenizer(options.tokenizer, program);
  const bool has_tokenizer = tokenizer.ok();
  const bool has_none = options.tokenizer.empty() && absl::IsNotFound(tokenizer.status());
  const bool is_chat = options.chat || !options.messages.empty();
  if (!has_tokenizer && !has_none) return tokenizer.status();
  // With --tokens, a tokenizer is optional.
  if (!has_tokenizer && options.tokens.empty()) {
    return absl::InvalidArgumentError(
        "the program has no tokenizer: pass --tokenizer tokenizer.json, store one with 'belay "
        "lower --tokenizer', or pass --tokens");
  }
  std::optional<llm::ChatTemplate> chat;
  std::vector<int32_t> prompt;
  if (is_chat) {
    ABSL_ASSIGN_OR_RETURN(chat, OpenChatTemplate(options.chat_template, program));
  } else if (!options.tokens.empty()) {
    ABSL_ASSIGN_OR_RETURN(prompt, ParseIntegers<int32_t>("--tokens", options.tokens));
  } else {
    ABSL_ASSIGN_OR_RETURN(prompt, tokenizer->Encode(options.prompt));
  }
  if (!is_chat && prompt.empty()) {
    return absl::InvalidArgumentError("expected a prompt of at least one token");
  }
  llm::GenerateOptions generate;
  generate.tokenizer = has_tokenizer ? &*tokenizer : nullptr;
  ABSL_ASSIGN_OR_RETURN(generate.stop_tokens, StopTokens(options, generate.tokenizer,
                                                         chat.has_value() ? &*chat : nullptr));
  generate.stop_strings = options.stop;
  generate.max_tokens = options.max_tokens;
  generate.sampling = options.sampling;
  generate.speculate = options.speculate;
  Draft draft;
  if (!options.draft_model.empty()) {
    ABSL_RETURN_IF_ERROR(OpenDraft(options, kernels, threads.get(), draft));
    limits.Add(*draft.program);
    generate.draft = &*draft.session;
    if (generate.speculate == 0) generate.speculate = kDraftedTokens;
  }
  ABSL_ASSIGN_OR_RETURN(llm::Session session, llm::Session::Create(model));
  Writer writer(options, session, std::move(generate));
  const double load_seconds = SecondsSince(start);
  if (is_chat) return Chat(options, *tokenizer, *chat, session, writer, load_seconds);

  const absl::Time prefill_start = absl::Now();
  ABSL_RETURN_IF_ERROR(session.Append(prompt));
  return writer
      .Write(load_seconds, static_cast<int64_t>(prompt.size()), SecondsSince(prefill_start))
      .status();
}

}  // namespace

int GenerateText(const GenerateTextOptions& options) {
  const absl::Status status = GenerateAll(options);
  return status.ok() ? kDone : Report(status);
}

Command GenerateCommand() {
  const auto generate = std::make_shared<GenerateTextOptions>();
  llm::SamplerOptions& sampling = generate->sampling;
  return {
      .name = "generate",
      .about = "Generates text with a language model (docs/language-models.md).",
      .options = WithLimits(
          {{"program",
            &generate->program,
            "a program with methods 'prefill' and 'decode', or one for both",
            {.required = true}},
           {"--prompt", &generate->prompt, "the text to continue"},
           {"--tokens",
            &generate->tokens,
            "the token ids to continue: 1,2,3",
            {.excludes = {"--prompt"}}},
           {"--chat",
            &generate->chat,
            "replies to each line of stdin, as the user's next message",
            {.excludes = {"--prompt", "--tokens"}}},
           {"--messages",
            &generate->messages,
            "replies to the messages of a JSON file: [{\"role\": \"user\", \"content\": \"Hi\"}]",
            {.not_empty = true, .excludes = {"--prompt", "--tokens", "--chat"}}},
           {"--system",
            &generate->system,
            "the system message of --chat",
            {.excludes = {"--messages"}}},
           {"--chat-template",
            &generate->chat_template,
            "tokenizer_config.json, or a Jinja file (repeatable: both); default: that of the "
            "program",
            {.repeatable = true, .one_value = true}},
           {"--chat-variables", &generate->chat_variables,
            "variables of the chat template as a JSON object: {\"enable_thinking\": false}"},
           {"--tokenizer",
            &generate->tokenizer,
            "a Hugging Face tokenizer.json; default: that of the program",
            {.not_empty = true}},
           {"--max-tokens", &generate->max_tokens, "maximum number of tokens", {.least = 0}},
           {"--speculate",
            &generate->speculate,
            "N: drafts up to N tokens from earlier occurrences of the last ones and evaluates them "
            "in one call; the tokens stay the same",
            {.least = 0}},
           {"--draft-model",
            &generate->draft_model,
            "a smaller program with the same tokenizer, which drafts the tokens of --speculate "
            "(default: 4)",
            {.not_empty = true}},
           {"--temperature", &sampling.temperature, "0: the most likely token", {.least = 0}},
           {"--top-k", &sampling.top_k, "samples from the k most likely; 0: all", {.least = 0}},
           {"--top-p", &sampling.top_p, "samples from the most likely that sum to this share"},
           {"--min-p", &sampling.min_p, "minimum probability, as a share of the largest"},
           {"--repetition-penalty", &sampling.repetition_penalty,
            "divides positive logits of tokens in the context, multiplies negative ones"},
           {"--frequency-penalty", &sampling.frequency_penalty,
            "subtracted from logits per occurrence in the context"},
           {"--presence-penalty", &sampling.presence_penalty,
            "subtracted from logits of tokens in the context"},
           {"--seed", &sampling.seed, "of sampling"},
           {"--stop",
            &generate->stop,
            "text that ends the generation (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--stop-token",
            &generate->stop_tokens,
            "token or id that ends the generation (repeatable); default: the special tokens </s>, "
            "<eos>, <|endoftext|>, <|eot_id|>, <|im_end|>, <end_of_turn> and similar, and the "
            "chat template's eos_token",
            {.repeatable = true, .one_value = true}},
           {"--ignore-end-tokens", &generate->ignore_end_tokens,
            "does not end at the default tokens of --stop-token"},
           {"--prefill", &generate->prefill, "the method for several tokens", {.not_empty = true}},
           {"--decode", &generate->decode, "the method for one token", {.not_empty = true}},
           {"--context-length",
            &generate->context_length,
            "positions of the cache; default: that of the program, if known",
            {.least = 0}},
           DataOption(&generate->data),
           EngineOption(&generate->engine),
           ThreadsOption(&generate->threads),
           {"--json", &generate->json, "prints tokens, text and rates as JSON"}},
          &generate->limits),
      .footer =
          "Example: belay generate llm.belay --prompt \"Once upon a time\" --max-tokens 64\n"
          "         belay generate llm.belay --chat --system \"Answer in one sentence.\"",
      .owned = generate,
      .run = [generate] { return GenerateText(*generate); },
      .problem =
          [generate] {
            return generate->prompt.empty() && generate->tokens.empty() && !generate->chat &&
                           generate->messages.empty()
                       ? "expected --prompt, --tokens, --chat or --messages"
                       : "";
          },
  };
}

}  // namespace belay::tools
