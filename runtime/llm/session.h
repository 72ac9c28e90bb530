// A sequence of tokens and the state of a language model after them.
#ifndef BELAY_RUNTIME_LLM_SESSION_H_
#define BELAY_RUNTIME_LLM_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executor/execute_options.h"
#include "runtime/executor/method.h"
#include "runtime/executor/shared_state.h"
#include "runtime/llm/sampler.h"
#include "runtime/llm/stop_strings.h"
#include "runtime/llm/text_model.h"
#include "runtime/llm/tokenizer/tokenizer.h"

namespace belay::llm {

// How a session returns to an earlier position.
enum class Rewind {
  // Resets the state and evaluates the tokens again. Correct for every model.
  kEvaluateAgain,
  // Only moves the position, in constant time. Correct if row i of each cache depends on the tokens
  // up to i only and rows past the position have no effect: plain caches that are written by
  // position (index_copy_, index_put_). Wrong for recurrent state, and for sliding windows that
  // move their rows.
  kMovePosition,
};

struct SessionOptions {
  // nullopt: kMovePosition if TextModel::use_positional_cache(), otherwise kEvaluateAgain.
  std::optional<Rewind> rewind = std::nullopt;
};

// A generated token, as given to the callback.
struct GeneratedToken {
  int32_t id = 0;
  // Text that this token completes. A possible start of a stop string is held back. Empty without a
  // tokenizer. The concatenation is a prefix of Generation::text; the rest follows at the end.
  std::string_view text;
};

enum class FinishReason { kMaxTokens, kStopToken, kStopString, kContextFull, kCallback };
// "max_tokens", "stop_token", "stop_string", "context_full", "callback".
std::string_view FinishReasonName(FinishReason reason);

class Session;

struct GenerateOptions {
  int64_t max_tokens = 128;  // >= 0
  SamplerOptions sampling = SamplerOptions::Greedy();
  // Generation ends before these tokens, which are neither returned nor added.
  std::vector<int32_t> stop_tokens;
  // Generation ends when the text contains one of these. The text ends before it; the tokens that
  // form it are returned. Requires a tokenizer. Empty strings are kInvalidArgument.
  std::vector<std::string> stop_strings;
  const Tokenizer* tokenizer = nullptr;  // for text and stop strings
  // Called by Session::Generate for each token. Returning false ends the generation after it
  // (kCallback).
  std::function<bool(const GeneratedToken&)> on_token;
  // Speculative decoding: evaluates up to this many drafted tokens together with the last token. 0:
  // none. The tokens equal those without it, for every kind of sampling, up to the rounding of
  // methods that evaluate other numbers of tokens. Requires TextModel::verify() and
  // Rewind::kMovePosition.
  int64_t speculate = 0;
  // A session of a smaller model with the same tokenizer, whose greedy tokens are the draft. Its
  // tokens are replaced. Must outlive the generation. Requires `speculate`, Rewind::kMovePosition
  // and a known context length. nullptr: n-gram lookup (ngram_draft.h).
  Session* draft = nullptr;
  ExecuteOptions execute;  // deadline, cancellation and limits
};

struct Generation {
  std::vector<int32_t> tokens;
  std::string text;
  FinishReason finish = FinishReason::kMaxTokens;
  int64_t drafted = 0, accepted = 0;  // tokens of speculative decoding
};

// Not thread-safe; sessions of one model may be used by several threads. Each has its own cache and
// its own memory for activations. Move-only.
//
// A failed call, including one that is cancelled or past its deadline, leaves tokens and position
// as before. Evaluation is lazy at the end: the last token of a generation is evaluated by the next
// call that needs its logits.
class Session {
 public:
  // Loads the methods with an empty cache. Errors of SharedState::Create and Method::Load.
  // The model must outlive the session.
  static absl::StatusOr<Session> Create(const TextModel& model ABSL_ATTRIBUTE_LIFETIME_BOUND,
                                        const SessionOptions& options = {});

  // Evaluates tokens after the present ones, in as few calls as the methods allow.
  //   kOutOfRange  a token outside the vocabulary (the first is named); more tokens than the
  //                context length; bounds that the model itself checks
  //   kCancelled, kDeadlineExceeded, kResourceExhausted  as set in `execute`
  //   errors of Method::Execute
  absl::Status Append(absl::Span<const int32_t> tokens, const ExecuteOptions& execute = {});

  // Samples and evaluates tokens until one of FinishReason. Errors of TokenStream.
  absl::StatusOr<Generation> Generate(const GenerateOptions& options);

  // Logits of the token after the present ones: vocabulary() elements, valid until the next call.
  // kFailedPrecondition if the session is empty. Errors of Append.
  absl::StatusOr<absl::Span<const float>> Logits(const ExecuteOptions& execute = {});

  const std::vector<int32_t>& tokens() const { return tokens_; }
  int64_t position() const { return static_cast<int64_t>(tokens_.size()); }
  const TextModel& model() const { return *model_; }
  // Bytes of the cache; 0 in a batch.
  uint64_t state_bytes() const { return state_->memory_bytes(); }

  // Removes the tokens from `position` on (SessionOptions::rewind).
  //   kOutOfRange  a position outside [0, position()]
  absl::Status Cut(int64_t position);

  // Returns an independent session with the same tokens, cache and logits. Errors of Create.
  absl::StatusOr<Session> Fork() const;

  // Returns tokens, cache and logits with a digest, for Restore in any process that has the same
  // program file. Internal state of delegates is not included.
  std::string Save() const;
  // Replaces everything by a result of Save. `saved` may be any bytes.
  //   kDataLoss         truncated or damaged
  //   kInvalidArgument  not a saved session; of another model; a token outside the vocabulary
  absl::Status Restore(std::string_view saved);

 private:
  friend class Batch;
  friend class TokenStream;
  Session(const TextModel* model, const SessionOptions& options);

  // The methods whose state the session has.
  static std::vector<std::string> MethodNames(const TextModel& model);
  // Returns the method; loads it if necessary.
  absl::StatusOr<Method*> MethodOf(const TextMethod& signature);
  // Evaluates tokens_ from evaluated_ on, and copies the logits of the last one.
  absl::Status Evaluate(const ExecuteOptions& execute);
  absl::Status EvaluateByCalls(const ExecuteOptions& execute);
  // Evaluates tokens from evaluated_ on: those of tokens_, then `draft`. Copies the last `rows` rows
  // of logits to `logits`.
  absl::Status Call(const TextMethod& signature, int64_t count, absl::Span<const int32_t> draft,
                    int64_t rows, std::vector<float>& logits, const ExecuteOptions& execute);
  // Evaluates the last token and a draft that may follow it. Precondition: HasOnePending().
  absl::Status EvaluateDraft(absl::Span<const int32_t> draft, const ExecuteOptions& execute);
  void DropDraft() {
    draft_.clear();
    draft_at_ = 0;
  }
  // Uses logits of the draft for tokens that equal it.
  void TakeDraft();
  // Whether only the last token is not evaluated, and is not in the draft.
  bool HasOnePending() const;
  // Removes tokens; 0 <= position <= position().
  void Truncate(int64_t position);
  bool has_logits() const { return logits_at_ > 0 && logits_at_ == position(); }
  absl::Status CheckTokens(absl::Span<const int32_t> tokens) const;

  const TextModel* model_;
  Rewind rewind_;
  bool keeps_methods_ = true;  // otherwise they are loaded for each evaluation
  std::unique_ptr<SharedState> state_;
  std::vector<std::unique_ptr<Method>> methods_;  // those that are loaded
  std::vector<int32_t> tokens_;
  int64_t evaluated_ = 0;    // tokens in the cache
  bool must_reset_ = false;  // The cache is not that of the first evaluated_ tokens.
  std::vector<float> logits_;
  int64_t logits_at_ = 0;  // number of tokens that logits_ follow; 0: none
  // The cache has rows for draft_[draft_at_], … after those of the evaluated tokens. Row i of
  // draft_logits_ follows draft_[i - 1].
  std::vector<int32_t> draft_;
  std::vector<float> draft_logits_;
  size_t draft_at_ = 0;
  // Inputs of a call.
  std::vector<int64_t> ids64_, positions64_;
  std::vector<int32_t> ids32_, positions32_;
};

// Generates token by token. Move-only; not thread-safe. Other calls may change the session between
// tokens; generation continues after its present tokens.
class TokenStream {
 public:
  // The session and the tokenizer must outlive the stream. Ignores GenerateOptions::on_token.
  //   kFailedPrecondition  the session is empty
  //   kInvalidArgument     options of Sampler::Create; stop strings without a tokenizer;
  //                        max_tokens < 0; speculate < 0; `draft` is `session`, is without
  //                        `speculate`, or has an unknown context length
  //   kUnimplemented       `speculate`, and the model returns only the logits of the last token
  //                        of a call; or the session or the draft is not Rewind::kMovePosition
  static absl::StatusOr<TokenStream> Create(Session& session ABSL_ATTRIBUTE_LIFETIME_BOUND,
                                            GenerateOptions options);

  // Adds the next token to the session, and returns it; `text` is valid until the next call.
  // Returns nullopt at the end. A failed call changes nothing and may be repeated.
  //   kInvalidArgument  logits without a finite value
  //   errors of Session::Append and of Tokenizer::Decode
  absl::StatusOr<std::optional<GeneratedToken>> Next();
  // Ends the generation. Errors of Tokenizer::Decode.
  absl::Status Finish(FinishReason reason);

  // The tokens and the text so far; at the end, all of the text.
  const Generation& result() const { return result_; }

 private:
  static absl::Status CheckDraft(const Session& session, const GenerateOptions& options);
  // Evaluates a draft, if there is one.
  absl::Status Speculate();

  TokenStream(Session* session, GenerateOptions options, Sampler sampler, StopStrings stop)
      : session_(session),
        options_(std::move(options)),
        sampler_(std::move(sampler)),
        stop_(std::move(stop)) {}

  Session* session_;
  GenerateOptions options_;
  Sampler sampler_;
  StopStrings stop_;
  Generation result_;
  std::string text_;  // of the last token
  bool finished_ = false;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_SESSION_H_
