// `belay import-gguf`: converts a language model in a GGUF file to a saved program, for lower.
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/gguf/import_gguf.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/saved_programs.h"
#include "runtime/core/bytes.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/chat/chat_template.h"
#include "runtime/llm/program_tokenizer.h"
#include "runtime/llm/tokenizer/tokenizer.h"
#include "tools/belay/command.h"
#include "tools/belay/printing.h"
#include "tools/belay/same_file.h"

namespace belay::tools {
namespace {

// Adds a document of the file to the named data, if `reader` can read it. Otherwise prints why not,
// unless the file has none.
template <class Reader>
void AddDocument(absl::StatusOr<std::string> json, std::string_view key, std::string_view what,
                 std::string_view option, Reader reader, exir::SavedLoweringOptions& saved) {
  absl::Status status = json.status();
  if (status.ok()) status = reader(*json).status();
  if (status.ok()) {
    const absl::Span<const std::byte> bytes = AsBytes(*json);
    saved.named_data.emplace_back(key, exir::Storage::Own({bytes.begin(), bytes.end()}));
  } else if (!absl::IsNotFound(status)) {
    std::cerr << "belay: " << what << " not imported: " << OneLine(FromAbsl(status.message()))
              << "; use 'belay lower " << option << "'\n";
  }
}

}  // namespace

int ImportGgufModel(const ImportGgufOptions& options) {
  const absl::Status differs = CheckOutputsDifferFromArchives({options.output}, {options.input});
  if (!differs.ok()) return ReportBadUsage(differs);
  const WithinLimits limits(options.limits, {options.input});
  const auto ops = exir::CreateStandardOps();
  if (!ops.ok()) return Report(ops.status());
  auto model = exir::ImportGgufFile(options.input, **ops,
                                    {.context_length = options.context_length,
                                     .sessions = options.sessions,
                                     .speculate = options.speculate,
                                     .cache_dtype = DTypeFromName(options.cache_dtype)});
  if (!model.ok()) return Report(model.status());
  exir::SavedLoweringOptions saved;
  saved.constant_methods = {{"get_max_seq_len", model->context_length},
                            {"use_positional_cache", 1}};
  saved.write_state_in_place = true;
  AddDocument(
      std::move(model->tokenizer), llm::kTokenizerKey, "tokenizer", "--tokenizer",
      [](std::string_view json) { return llm::Tokenizer::FromJson(json); }, saved);
  AddDocument(
      std::move(model->chat_template), llm::kChatTemplateKey, "chat template", "--chat-template",
      [](std::string_view json) { return llm::ChatTemplate::FromJson(json); }, saved);
  return Report(exir::WriteSavedPrograms(model->methods, options.output, saved));
}

Command ImportGgufCommand() {
  const auto import = std::make_shared<ImportGgufOptions>();
  return {
      .name = "import-gguf",
      .about = "Converts a language model (.gguf: llama, qwen3, gemma3) to a saved program (.bir).",
      .options = WithLimits(
          {{"file", &import->input, "the GGUF file", {.not_empty = true}},
           {"-o,--output",
            &import->output,
            "the file of saved programs (.bir) to write",
            {.required = true, .not_empty = true}},
           {"--context-length",
            &import->context_length,
            absl::StrCat("N: positions of the cache; default: those of the model, at most ",
                         exir::kDefaultContextLength),
            {.least = 1, .most = 1 << 24}},
           {"--sessions",
            &import->sessions,
            "N: adds a method that evaluates a token of each of N sessions",
            {.least = 0, .most = exir::kMostSessions}},
           {"--speculate",
            &import->speculate,
            "N: adds a method for speculative decoding of up to N drafted tokens",
            {.least = 0, .most = exir::kMostSpeculated}},
           {"--cache-dtype",
            &import->cache_dtype,
            "dtype of cached keys and values; default: float32 for weights in F32, else float16",
            {.one_of = {"float32", "float16", "bfloat16"}}}},
          &import->limits, /*lowers=*/true),
      .footer =
          "The program contains the tokenizer and the chat template of the file.\n"
          "Example: belay import-gguf model.gguf -o model.bir\n"
          "         belay lower model.bir -o model.belay\n"
          "         belay generate model.belay --prompt \"Once upon a time\"",
      .owned = import,
      .run = [import] { return ImportGgufModel(*import); },
  };
}

}  // namespace belay::tools
