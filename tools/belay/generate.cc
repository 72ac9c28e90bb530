// `belay generate`: generates text, or tokens, with a language model.
#include <algorithm>
#include <array>
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
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "backends/runtime_backends.h"
#include "nlohmann/json.hpp"
#include "runtime/core/status_macros.h"
#include "runtime/core/thread_pool.h"
#include "runtime/llm/program_tokenizer.h"
#include "runtime/llm/session.h"
#include "runtime/llm/text_model.h"
#include "tools/belay/command.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/session.h"
#include "tools/belay/tokenizer_file.h"

namespace belay::tools {
namespace {

// Tokens that end a sequence or a turn in common models.
constexpr std::array<std::string_view, 9> kEndTokens = {
    "</s>",       "<eos>",      "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>",
    "<|eom_id|>", "<|im_end|>", "<end_of_turn>", "<|end|>"};

double SecondsSince(absl::Time start) { return absl::ToDoubleSeconds(absl::Now() - start); }

// Parses "1,2,3".
absl::StatusOr<std::vector<int32_t>> ParseTokens(const std::string& text) {
  std::vector<int32_t> tokens;
  for (const auto& part : absl::StrSplit(text, ',')) {
    int32_t token;
    if (!absl::SimpleAtoi(part, &token)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--tokens: expected integers separated by commas, got '", OneLine(text), "'"));
    }
    tokens.push_back(token);
  }
  return tokens;
}

absl::StatusOr<llm::Tokenizer> OpenTokenizer(const std::string& path, const Program& program) {
  if (path.empty()) return llm::ReadTokenizer(program);
  ABSL_ASSIGN_OR_RETURN(TokenizerFile file, ReadTokenizerFile(path));
  return std::move(file.tokenizer);
}

// Returns the ids of --stop-token; by default, those of kEndTokens that the tokenizer has.
absl::StatusOr<std::vector<int32_t>> StopTokens(const GenerateTextOptions& options,
                                                const llm::Tokenizer* tokenizer) {
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
  for (const std::string_view name : kEndTokens) {
    const std::optional<int32_t> token = tokenizer->TokenId(name);
    if (token.has_value() && tokenizer->IsSpecial(*token)) stop.push_back(*token);
  }
  return stop;
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

absl::StatusOr<int> GenerateAll(const GenerateTextOptions& options) {
  WithinLimits limits(options.limits, {options.program});
  const absl::Time start = absl::Now();
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddEngine(options.engine, kernels));
  ABSL_ASSIGN_OR_RETURN(
      const Program program,
      OpenProgramFile(options.program, {options.limits.ForPrograms(FileAccess::kMap), {}}));
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
  std::vector<int32_t> prompt;
  if (!options.tokens.empty()) {
    // A tokenizer is optional.
    if (!has_tokenizer && !has_none) return tokenizer.status();
    ABSL_ASSIGN_OR_RETURN(prompt, ParseTokens(options.tokens));
  } else {
    if (has_none) {
      return absl::InvalidArgumentError(
          "the program has no tokenizer: pass --tokenizer tokenizer.json, store one with 'belay "
          "lower --tokenizer', or pass --tokens");
    }
    ABSL_RETURN_IF_ERROR(tokenizer.status());
    ABSL_ASSIGN_OR_RETURN(prompt, tokenizer->Encode(options.prompt));
  }
  if (prompt.empty()) return absl::InvalidArgumentError("expected a prompt of at least one token");
  llm::GenerateOptions generate;
  generate.tokenizer = has_tokenizer ? &*tokenizer : nullptr;
  ABSL_ASSIGN_OR_RETURN(generate.stop_tokens, StopTokens(options, generate.tokenizer));
  generate.stop_strings = options.stop;
  generate.max_tokens = options.max_tokens;
  generate.sampling = options.sampling;
  ABSL_ASSIGN_OR_RETURN(llm::Session session, llm::Session::Create(model));
  const double load_seconds = SecondsSince(start);

  const absl::Time prefill_start = absl::Now();
  ABSL_RETURN_IF_ERROR(session.Append(prompt));
  const double prefill_seconds = SecondsSince(prefill_start);
  size_t streamed = 0;  // bytes of text
  bool first = true;
  generate.on_token = [&](const llm::GeneratedToken& token) {
    if (options.json) return true;
    if (has_tokenizer) {
      std::cout << ForTerminal(token.text) << std::flush;
      streamed += token.text.size();
    } else {
      std::cout << (std::exchange(first, false) ? "" : ",") << token.id << std::flush;
    }
    return std::cout.good();
  };
  const absl::Time decode_start = absl::Now();
  ABSL_ASSIGN_OR_RETURN(const llm::Generation result, session.Generate(generate));
  const double decode_seconds = SecondsSince(decode_start);
  // The last token is not evaluated, unless a stop token follows it.
  const auto generated = static_cast<int64_t>(result.tokens.size());
  const int64_t evaluated = result.finish == llm::FinishReason::kStopToken
                                ? generated
                                : std::max<int64_t>(generated - 1, 0);
  const nlohmann::json prefill = Rate(static_cast<int64_t>(prompt.size()), prefill_seconds);
  const nlohmann::json decode = Rate(evaluated, decode_seconds);
  if (options.json) {
    nlohmann::json report = {{"prompt_tokens", prompt},
                             {"tokens", result.tokens},
                             {"finish", llm::FinishReasonName(result.finish)},
                             {"load_seconds", load_seconds},
                             {"prefill", prefill},
                             {"decode", decode}};
    if (has_tokenizer) report["text"] = result.text;
    std::cout << JsonText(report);
    return kDone;
  }
  std::cout << ForTerminal(std::string_view(result.text).substr(streamed)) << "\n";
  std::cerr << "load: " << Duration(load_seconds) << "\n";
  PrintRate("prefill", prefill);
  PrintRate("decode", decode);
  return kDone;
}

}  // namespace

int GenerateText(const GenerateTextOptions& options) {
  const absl::StatusOr<int> status = GenerateAll(options);
  return status.ok() ? *status : Report(status.status());
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
           {"--tokenizer",
            &generate->tokenizer,
            "a Hugging Face tokenizer.json; default: that of the program",
            {.not_empty = true}},
           {"--max-tokens", &generate->max_tokens, "maximum number of tokens", {.least = 0}},
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
            "<eos>, <|endoftext|>, <|eot_id|>, <|im_end|>, <end_of_turn> and similar",
            {.repeatable = true, .one_value = true}},
           {"--ignore-end-tokens", &generate->ignore_end_tokens,
            "does not end at the default tokens of --stop-token"},
           {"--prefill", &generate->prefill, "the method for several tokens", {.not_empty = true}},
           {"--decode", &generate->decode, "the method for one token", {.not_empty = true}},
           {"--context-length",
            &generate->context_length,
            "positions of the cache; default: that of the program, if known",
            {.least = 0}},
           EngineOption(&generate->engine),
           ThreadsOption(&generate->threads),
           {"--json", &generate->json, "prints tokens, text and rates as JSON"}},
          &generate->limits),
      .footer = "Example: belay generate llm.belay --prompt \"Once upon a time\" --max-tokens 64",
      .owned = generate,
      .run = [generate] { return GenerateText(*generate); },
      .problem =
          [generate] {
            return generate->prompt.empty() && generate->tokens.empty()
                       ? "expected --prompt or --tokens"
                       : "";
          },
  };
}

}  // namespace belay::tools
