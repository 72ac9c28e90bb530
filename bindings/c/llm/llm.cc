#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "backends/runtime_backends.h"
#include "bindings/c/belay_llm.h"
#include "bindings/c/execution.h"
#include "bindings/c/handles.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/thread_pool.h"
#include "runtime/llm/batch.h"
#include "runtime/llm/conversation.h"
#include "runtime/llm/program_tokenizer.h"
#include "runtime/llm/session.h"
#include "runtime/llm/text_model.h"

struct belay_text_model {
  std::unique_ptr<belay::ThreadPool> threads;
  std::optional<belay::llm::TextModel> model;
  std::optional<belay::llm::Tokenizer> tokenizer;
  std::optional<belay::llm::ChatTemplate> chat;
};

struct belay_session {
  const belay_text_model* model = nullptr;
  belay::llm::Session* session = nullptr;  // `own`, or one of a batch
  std::optional<belay::llm::Session> own = {};
};

struct belay_batch {
  std::optional<belay::llm::Batch> batch;
  std::vector<belay_session> sessions;
};

struct belay_generation {
  std::optional<belay::llm::TokenStream> stream;
  size_t returned = 0;  // bytes of the stream's text
};

namespace belay::c {
namespace {

// Sets the tokenizer or template of the options, else that of the program, if it has one.
template <class T, class Parse, class Read>
absl::Status Choose(const char* given, size_t size, const Program& program, Parse parse, Read read,
                    std::optional<T>& chosen) {
  absl::StatusOr<T> result =
      given != nullptr ? parse(std::string_view(given, size)) : read(program);
  if (given == nullptr && absl::IsNotFound(result.status())) return absl::OkStatus();
  if (!result.ok()) return result.status();
  chosen = *std::move(result);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<belay_text_model>> CreateModel(
    const belay_program* program, const belay_text_model_options* given) {
  if (program == nullptr) return Missing("a program");
  ABSL_ASSIGN_OR_RETURN(const belay_text_model_options known, Known(given));
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> threads, CreateThreads(known.num_threads));
  std::unique_ptr<belay_text_model> created(new (std::nothrow) belay_text_model);
  if (created == nullptr) return NoMemory("a text model");
  created->threads = std::move(threads);
  const Program& file = *program->program;
  ABSL_ASSIGN_OR_RETURN(
      created->model,
      llm::TextModel::Create(file, program->kernels, RuntimeBackends(),
                             {.prefill = known.prefill == nullptr ? "" : known.prefill,
                              .decode = known.decode == nullptr ? "" : known.decode,
                              .context_length = known.context_length,
                              .threads = created->threads.get()}));
  ABSL_RETURN_IF_ERROR(Choose(
      known.tokenizer, known.tokenizer_size, file,
      [](std::string_view json) { return llm::Tokenizer::FromJson(json); },
      [](const Program& from) { return llm::ReadTokenizer(from); }, created->tokenizer));
  ABSL_RETURN_IF_ERROR(Choose(
      known.chat_template, known.chat_template_size, file,
      [](std::string_view json) { return llm::ChatTemplate::FromJson(json); },
      [](const Program& from) { return llm::ReadChatTemplate(from); }, created->chat));
  return created;
}

absl::StatusOr<const llm::Tokenizer*> TokenizerOf(const belay_text_model* model) {
  if (model == nullptr) return Missing("a text model");
  if (!model->tokenizer.has_value()) {
    return absl::FailedPreconditionError(
        "the program has no tokenizer: store one when lowering, or set `tokenizer`");
  }
  return &*model->tokenizer;
}

absl::StatusOr<const llm::ChatTemplate*> ChatTemplateOf(const belay_text_model* model) {
  if (model == nullptr) return Missing("a text model");
  if (!model->chat.has_value()) {
    return absl::FailedPreconditionError(
        "the program has no chat template: store one when lowering, or set `chat_template`");
  }
  return &*model->chat;
}

absl::StatusOr<std::unique_ptr<belay_bytes>> Bytes(absl::StatusOr<std::string> content) {
  if (!content.ok()) return content.status();
  std::unique_ptr<belay_bytes> bytes(new (std::nothrow) belay_bytes);
  if (bytes == nullptr) return NoMemory("the result");
  bytes->bytes = *std::move(content);
  return bytes;
}

absl::StatusOr<std::string> TokenBytes(const absl::StatusOr<std::vector<int32_t>>& tokens) {
  if (!tokens.ok()) return tokens.status();
  return std::string(reinterpret_cast<const char*>(tokens->data()),
                     tokens->size() * sizeof(int32_t));
}

// Stores a result, unless the output pointer is NULL.
belay_status GiveBytes(absl::StatusOr<std::string> content, belay_bytes** output,
                       belay_error** error) {
  if (output == nullptr) return Report(Missing("an output pointer for the result"), error);
  return Give(Bytes(std::move(content)), output, error);
}

absl::StatusOr<llm::ChatOptions> ChatOptionsOf(const belay_chat_options* given) {
  ABSL_ASSIGN_OR_RETURN(const belay_chat_options known, Known(given));
  llm::ChatOptions options;
  options.add_generation_prompt = known.no_generation_prompt == 0;
  if (known.tools != nullptr) options.tools = known.tools;
  if (known.variables != nullptr) options.variables = known.variables;
  options.now = absl::ToCivilSecond(absl::Now(), absl::LocalTimeZone());
  return options;
}

absl::StatusOr<std::string> Encode(const belay_text_model* model, const char* text, size_t size,
                                   bool special_tokens) {
  ABSL_ASSIGN_OR_RETURN(const llm::Tokenizer* tokenizer, TokenizerOf(model));
  if (text == nullptr && size > 0) return Missing("a text");
  return TokenBytes(tokenizer->Encode(std::string_view(text, size), special_tokens));
}

absl::StatusOr<std::string> Decode(const belay_text_model* model, const int32_t* tokens,
                                   size_t count, bool special_tokens) {
  ABSL_ASSIGN_OR_RETURN(const llm::Tokenizer* tokenizer, TokenizerOf(model));
  if (tokens == nullptr && count > 0) return Missing("tokens");
  return tokenizer->Decode(absl::MakeConstSpan(tokens, count), special_tokens);
}

absl::StatusOr<std::string> Render(const belay_text_model* model, const char* messages,
                                   const belay_chat_options* given) {
  ABSL_ASSIGN_OR_RETURN(const llm::ChatTemplate* chat, ChatTemplateOf(model));
  if (messages == nullptr) return Missing("messages");
  ABSL_ASSIGN_OR_RETURN(const llm::ChatOptions options, ChatOptionsOf(given));
  return chat->Render(messages, options);
}

// Empty without a tokenizer.
std::vector<int32_t> EndTokensOf(const belay_text_model& model) {
  if (!model.tokenizer.has_value()) return {};
  return llm::EndTokens(*model.tokenizer, model.chat.has_value() ? &*model.chat : nullptr);
}

absl::StatusOr<std::unique_ptr<belay_session>> NewSession(const belay_text_model* model,
                                                          absl::StatusOr<llm::Session> session) {
  if (!session.ok()) return session.status();
  std::unique_ptr<belay_session> created(new (std::nothrow) belay_session);
  if (created == nullptr) return NoMemory("a session");
  created->model = model;
  created->session = &created->own.emplace(*std::move(session));
  return created;
}

absl::StatusOr<std::unique_ptr<belay_session>> CreateSession(const belay_text_model* model,
                                                             const belay_session_options* given) {
  if (model == nullptr) return Missing("a text model");
  ABSL_ASSIGN_OR_RETURN(const belay_session_options known, Known(given));
  std::optional<llm::Rewind> rewind;
  if (known.move_position != 0) rewind = llm::Rewind::kMovePosition;
  return NewSession(model, llm::Session::Create(*model->model, {.rewind = rewind}));
}

absl::StatusOr<std::unique_ptr<belay_batch>> CreateBatch(const belay_text_model* model) {
  if (model == nullptr) return Missing("a text model");
  std::unique_ptr<belay_batch> created(new (std::nothrow) belay_batch);
  if (created == nullptr) return NoMemory("a batch");
  ABSL_ASSIGN_OR_RETURN(created->batch, llm::Batch::Create(*model->model));
  for (int64_t i = 0; i < created->batch->size(); ++i) {
    created->sessions.push_back({model, &created->batch->session(i)});
  }
  return created;
}

absl::Status Step(belay_batch* batch, const belay_execute_options* given) {
  if (batch == nullptr) return Missing("a batch");
  ABSL_ASSIGN_OR_RETURN(const ExecuteOptions options, ExecuteOptionsOf(given));
  return batch->batch->Step(options);
}

absl::Status Append(belay_session* session, const int32_t* tokens, size_t count,
                    const belay_execute_options* given) {
  if (session == nullptr) return Missing("a session");
  if (tokens == nullptr && count > 0) return Missing("tokens");
  ABSL_ASSIGN_OR_RETURN(const ExecuteOptions options, ExecuteOptionsOf(given));
  return session->session->Append(absl::MakeConstSpan(tokens, count), options);
}

absl::StatusOr<size_t> AppendMessages(belay_session* session, const char* messages,
                                      const belay_chat_options* chat_options,
                                      const belay_execute_options* given) {
  if (session == nullptr) return Missing("a session");
  if (messages == nullptr) return Missing("messages");
  ABSL_ASSIGN_OR_RETURN(const llm::Tokenizer* tokenizer, TokenizerOf(session->model));
  ABSL_ASSIGN_OR_RETURN(const llm::ChatTemplate* chat, ChatTemplateOf(session->model));
  ABSL_ASSIGN_OR_RETURN(const llm::ChatOptions options, ChatOptionsOf(chat_options));
  ABSL_ASSIGN_OR_RETURN(const ExecuteOptions execute, ExecuteOptionsOf(given));
  ABSL_ASSIGN_OR_RETURN(
      const int64_t evaluated,
      llm::AppendMessages(*session->session, *tokenizer, *chat, messages, options, execute));
  return static_cast<size_t>(evaluated);
}

absl::StatusOr<std::unique_ptr<belay_generation>> CreateGeneration(
    belay_session* session, const belay_generation_options* given) {
  if (session == nullptr) return Missing("a session");
  ABSL_ASSIGN_OR_RETURN(const belay_generation_options known, Known(given));
  const belay_text_model& model = *session->model;
  llm::GenerateOptions options;
  options.tokenizer = model.tokenizer.has_value() ? &*model.tokenizer : nullptr;
  if (known.max_tokens != 0) options.max_tokens = known.max_tokens;
  if (known.no_end_tokens == 0) options.stop_tokens = EndTokensOf(model);
  if (known.stop_tokens == nullptr && known.num_stop_tokens > 0) return Missing("stop_tokens");
  options.stop_tokens.insert(options.stop_tokens.end(), known.stop_tokens,
                             known.stop_tokens + known.num_stop_tokens);
  ABSL_ASSIGN_OR_RETURN(options.stop_strings,
                        Strings(known.stop_strings, known.num_stop_strings, "stop_strings"));
  options.speculate = known.speculate;
  if (known.draft != nullptr) options.draft = known.draft->session;
  llm::SamplerOptions& sampling = options.sampling;
  sampling.seed = known.seed;
  sampling.temperature = known.temperature;
  sampling.top_k = known.top_k;
  if (known.top_p != 0) sampling.top_p = known.top_p;
  sampling.min_p = known.min_p;
  if (known.repetition_penalty != 0) sampling.repetition_penalty = known.repetition_penalty;
  sampling.frequency_penalty = known.frequency_penalty;
  sampling.presence_penalty = known.presence_penalty;
  std::unique_ptr<belay_generation> created(new (std::nothrow) belay_generation);
  if (created == nullptr) return NoMemory("a generation");
  ABSL_ASSIGN_OR_RETURN(created->stream,
                        llm::TokenStream::Create(*session->session, std::move(options)));
  return created;
}

absl::StatusOr<belay_generated_token> Next(belay_generation* generation) {
  if (generation == nullptr) return Missing("a generation");
  belay_generated_token result = {};
  result.token = -1;
  ABSL_ASSIGN_OR_RETURN(const std::optional<llm::GeneratedToken> token, generation->stream->Next());
  if (token.has_value()) {
    result.token = token->id;
  } else {
    result.finish =
        static_cast<belay_finish>(static_cast<int>(generation->stream->result().finish) + 1);
  }
  const std::string& text = generation->stream->result().text;
  result.text = text.c_str() + generation->returned;
  result.text_size = text.size() - generation->returned;
  generation->returned = text.size();
  return result;
}

static_assert(static_cast<int>(llm::FinishReason::kMaxTokens) + 1 == BELAY_FINISH_MAX_TOKENS &&
              static_cast<int>(llm::FinishReason::kContextFull) + 1 == BELAY_FINISH_CONTEXT_FULL);

}  // namespace
}  // namespace belay::c

using belay::c::Give;
using belay::c::GiveBytes;
using belay::c::Missing;
using belay::c::Report;

belay_status belay_text_model_create(const belay_program* program,
                                     const belay_text_model_options* options,
                                     belay_text_model** model, belay_error** error) {
  if (model == nullptr) return Report(Missing("an output pointer for the model"), error);
  return Give(belay::c::CreateModel(program, options), model, error);
}

void belay_text_model_free(belay_text_model* model) { delete model; }

int64_t belay_text_model_vocabulary(const belay_text_model* model) {
  return model == nullptr ? 0 : model->model->vocabulary();
}

int64_t belay_text_model_context_length(const belay_text_model* model) {
  return model == nullptr ? 0 : model->model->context_length();
}

int32_t belay_text_model_has_tokenizer(const belay_text_model* model) {
  return model != nullptr && model->tokenizer.has_value() ? 1 : 0;
}

int32_t belay_text_model_has_chat_template(const belay_text_model* model) {
  return model != nullptr && model->chat.has_value() ? 1 : 0;
}

belay_status belay_text_model_encode(const belay_text_model* model, const char* text,
                                     size_t text_size, int32_t special_tokens, belay_bytes** tokens,
                                     belay_error** error) {
  return GiveBytes(belay::c::Encode(model, text, text_size, special_tokens != 0), tokens, error);
}

belay_status belay_text_model_decode(const belay_text_model* model, const int32_t* tokens,
                                     size_t num_tokens, int32_t special_tokens, belay_bytes** text,
                                     belay_error** error) {
  return GiveBytes(belay::c::Decode(model, tokens, num_tokens, special_tokens != 0), text, error);
}

belay_status belay_text_model_end_tokens(const belay_text_model* model, belay_bytes** tokens,
                                         belay_error** error) {
  if (model == nullptr) return Report(Missing("a text model"), error);
  return GiveBytes(belay::c::TokenBytes(belay::c::EndTokensOf(*model)), tokens, error);
}

belay_status belay_text_model_render(const belay_text_model* model, const char* messages,
                                     const belay_chat_options* options, belay_bytes** text,
                                     belay_error** error) {
  return GiveBytes(belay::c::Render(model, messages, options), text, error);
}

belay_status belay_session_create(const belay_text_model* model,
                                  const belay_session_options* options, belay_session** session,
                                  belay_error** error) {
  if (session == nullptr) return Report(Missing("an output pointer for the session"), error);
  return Give(belay::c::CreateSession(model, options), session, error);
}

void belay_session_free(belay_session* session) {
  if (session != nullptr && session->own.has_value()) delete session;
}

size_t belay_session_num_tokens(const belay_session* session) {
  return session == nullptr ? 0 : session->session->tokens().size();
}

const int32_t* belay_session_tokens(const belay_session* session) {
  return session == nullptr ? nullptr : session->session->tokens().data();
}

belay_status belay_session_append(belay_session* session, const int32_t* tokens, size_t num_tokens,
                                  const belay_execute_options* options, belay_error** error) {
  return Report(belay::c::Append(session, tokens, num_tokens, options), error);
}

belay_status belay_session_append_messages(belay_session* session, const char* messages,
                                           const belay_chat_options* chat,
                                           const belay_execute_options* options,
                                           size_t* num_evaluated, belay_error** error) {
  const absl::StatusOr<size_t> evaluated =
      belay::c::AppendMessages(session, messages, chat, options);
  if (evaluated.ok() && num_evaluated != nullptr) *num_evaluated = *evaluated;
  return Report(evaluated.status(), error);
}

belay_status belay_session_logits(belay_session* session, const float** logits,
                                  belay_error** error) {
  if (session == nullptr) return Report(Missing("a session"), error);
  return belay::c::Put(session->session->Logits(), logits, error,
                       [](absl::Span<const float> values) { return values.data(); });
}

belay_status belay_session_cut(belay_session* session, size_t position, belay_error** error) {
  if (session == nullptr) return Report(Missing("a session"), error);
  const auto bounded = static_cast<int64_t>(std::min<size_t>(position, INT64_MAX));
  return Report(session->session->Cut(bounded), error);
}

belay_status belay_session_fork(const belay_session* session, belay_session** fork,
                                belay_error** error) {
  if (session == nullptr) return Report(Missing("a session"), error);
  if (fork == nullptr) return Report(Missing("an output pointer for the session"), error);
  return Give(belay::c::NewSession(session->model, session->session->Fork()), fork, error);
}

belay_status belay_session_save(const belay_session* session, belay_bytes** bytes,
                                belay_error** error) {
  if (session == nullptr) return Report(Missing("a session"), error);
  return GiveBytes(session->session->Save(), bytes, error);
}

belay_status belay_session_restore(belay_session* session, const void* bytes, size_t size,
                                   belay_error** error) {
  if (session == nullptr) return Report(Missing("a session"), error);
  if (bytes == nullptr && size > 0) return Report(Missing("bytes"), error);
  return Report(session->session->Restore(std::string_view(static_cast<const char*>(bytes), size)),
                error);
}

belay_status belay_generation_create(belay_session* session,
                                     const belay_generation_options* options,
                                     belay_generation** generation, belay_error** error) {
  if (generation == nullptr) return Report(Missing("an output pointer for the generation"), error);
  return Give(belay::c::CreateGeneration(session, options), generation, error);
}

void belay_generation_free(belay_generation* generation) { delete generation; }

belay_status belay_generation_next(belay_generation* generation, belay_generated_token* token,
                                   belay_error** error) {
  if (token == nullptr || token->struct_size < sizeof(size_t)) {
    return Report(token == nullptr ? Missing("an output pointer for the token")
                                   : belay::c::BadStructSize(token->struct_size),
                  error);
  }
  const absl::StatusOr<belay_generated_token> result = belay::c::Next(generation);
  if (!result.ok()) return Report(result.status(), error);
  return Report(belay::c::StoreKnown(*result, token), error);
}

belay_status belay_batch_create(const belay_text_model* model, belay_batch** batch,
                                belay_error** error) {
  if (batch == nullptr) return Report(Missing("an output pointer for the batch"), error);
  return Give(belay::c::CreateBatch(model), batch, error);
}

void belay_batch_free(belay_batch* batch) { delete batch; }

size_t belay_batch_size(const belay_batch* batch) {
  return batch == nullptr ? 0 : batch->sessions.size();
}

belay_session* belay_batch_session(belay_batch* batch, size_t i) {
  return i < belay_batch_size(batch) ? &batch->sessions[i] : nullptr;
}

belay_status belay_batch_step(belay_batch* batch, const belay_execute_options* options,
                              belay_error** error) {
  return Report(belay::c::Step(batch, options), error);
}
