#include "runtime/llm/session.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/byte_reader.h"
#include "runtime/core/bytes.h"
#include "runtime/core/evalue.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/llm/logits_rows.h"
#include "runtime/llm/ngram_draft.h"

namespace belay::llm {
namespace {

constexpr std::string_view kMagic = "BELAYSE1";

template <class T>
EValue TensorOf(std::vector<T>& values, int rank) {
  const auto n = static_cast<int64_t>(values.size());
  const Sizes sizes = rank == 2 ? Sizes{1, n} : rank == 1 ? Sizes{n} : Sizes{};
  return EValue(TensorView::Contiguous(DTypeOf<T>, sizes, values.data()));
}

void AppendBytes(const void* bytes, size_t size, std::string& out) {
  out.append(static_cast<const char*>(bytes), size);
}

absl::Status EmptyError() {
  return absl::FailedPreconditionError("the session is empty: append tokens first");
}

struct SavedSizes {
  uint64_t tokens, evaluated, logits, state;
};

// Returns at most `most` greedy tokens of `draft` after `tokens`, which replace its own. Fewer if
// its context ends; none if its vocabulary does not have all tokens.
absl::StatusOr<std::vector<int32_t>> ModelDraft(Session& draft, absl::Span<const int32_t> tokens,
                                                int64_t most, const ExecuteOptions& execute) {
  const auto size = static_cast<int64_t>(tokens.size());
  const std::vector<int32_t>& before = draft.tokens();
  const auto common = std::mismatch(before.begin(), before.end(), tokens.begin(), tokens.end());
  const int64_t kept = common.first - before.begin();
  const absl::Span<const int32_t> rest = tokens.subspan(static_cast<size_t>(kept));
  const auto is_unknown = [&](int32_t token) { return token >= draft.model().vocabulary(); };
  if (most < 1 || size > draft.model().context_length() ||
      std::any_of(rest.begin(), rest.end(), is_unknown)) {
    return std::vector<int32_t>();
  }
  ABSL_RETURN_IF_ERROR(draft.Cut(kept));
  ABSL_RETURN_IF_ERROR(draft.Append(rest, execute));
  GenerateOptions options;
  options.max_tokens = most;
  options.execute = execute;
  ABSL_ASSIGN_OR_RETURN(Generation generation, draft.Generate(options));
  return std::move(generation.tokens);
}

}  // namespace

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kMaxTokens:
      return "max_tokens";
    case FinishReason::kStopToken:
      return "stop_token";
    case FinishReason::kStopString:
      return "stop_string";
    case FinishReason::kContextFull:
      return "context_full";
    case FinishReason::kCallback:
      return "callback";
  }
  return "invalid";
}

Session::Session(const TextModel* model, const SessionOptions& options)
    : model_(model),
      rewind_(options.rewind.value_or(model->use_positional_cache() ? Rewind::kMovePosition
                                                                    : Rewind::kEvaluateAgain)) {}

std::vector<std::string> Session::MethodNames(const TextModel& model) {
  std::vector<std::string> names;
  for (const TextMethod* method : {&model.decode(), &model.prefill(), model.verify()}) {
    if (method == nullptr) continue;
    const std::string& name = method->plan->name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

absl::StatusOr<Session> Session::Create(const TextModel& model, const SessionOptions& options) {
  Session session(&model, options);
  ABSL_ASSIGN_OR_RETURN(SharedState state,
                        SharedState::Create(model.program(), MethodNames(model)));
  session.state_ = std::make_unique<SharedState>(std::move(state));
  ABSL_RETURN_IF_ERROR(session.MethodOf(model.decode()).status());
  ABSL_RETURN_IF_ERROR(session.MethodOf(model.prefill()).status());
  return session;
}

absl::StatusOr<Method*> Session::MethodOf(const TextMethod& signature) {
  for (const std::unique_ptr<Method>& method : methods_) {
    if (&method->plan() == signature.plan) return method.get();
  }
  ABSL_ASSIGN_OR_RETURN(
      Method method,
      Method::Load(model_->program(), signature.plan->name, model_->kernels(), model_->backends(),
                   {.state = state_.get(), .threads = model_->threads()}));
  methods_.push_back(std::make_unique<Method>(std::move(method)));
  return methods_.back().get();
}

absl::Status Session::Call(const TextMethod& signature, int64_t count,
                           absl::Span<const int32_t> draft, int64_t rows,
                           std::vector<float>& logits, const ExecuteOptions& execute) {
  const auto first = tokens_.begin() + evaluated_;
  ids64_.assign(first, first + (count - static_cast<int64_t>(draft.size())));
  ids64_.insert(ids64_.end(), draft.begin(), draft.end());
  positions64_.resize(signature.position_input == PositionInput::kEach ? static_cast<size_t>(count)
                                                                       : 1);
  for (size_t i = 0; i < positions64_.size(); ++i) {
    positions64_[i] = evaluated_ + static_cast<int64_t>(i);
  }
  ids32_.assign(ids64_.begin(), ids64_.end());
  positions32_.assign(positions64_.begin(), positions64_.end());
  ABSL_ASSIGN_OR_RETURN(Method* const method, MethodOf(signature));
  const EValue ids = signature.tokens_dtype == DType::kInt64
                         ? TensorOf(ids64_, signature.tokens_rank)
                         : TensorOf(ids32_, signature.tokens_rank);
  EValue positions(positions64_[0]);
  if (signature.positions_dtype.has_value()) {
    positions = *signature.positions_dtype == DType::kInt64
                    ? TensorOf(positions64_, signature.positions_rank)
                    : TensorOf(positions32_, signature.positions_rank);
  }
  ABSL_RETURN_IF_ERROR(method->SetInput(signature.tokens, ids));
  ABSL_RETURN_IF_ERROR(method->SetInput(signature.positions, positions));
  ABSL_RETURN_IF_ERROR(method->Execute(execute));
  if (rows == 0) return absl::OkStatus();
  const TensorView& all = *method->GetOutput(0).get_if<TensorView>();
  if (LogitsRows(all) < rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected logits of the last ", rows, " tokens, got ", all.ToString()));
  }
  logits.resize(static_cast<size_t>(signature.vocabulary * rows));
  for (int64_t i = 0; i < rows; ++i) {
    CopyLogits(all, LogitsRows(all) - rows + i, logits.data() + i * signature.vocabulary);
  }
  return absl::OkStatus();
}

bool Session::HasOnePending() const {
  return !must_reset_ && evaluated_ + 1 == position() &&
         (draft_at_ == draft_.size() || draft_[draft_at_] != tokens_.back());
}

absl::Status Session::EvaluateDraft(absl::Span<const int32_t> draft,
                                    const ExecuteOptions& execute) {
  const auto rows = static_cast<int64_t>(draft.size()) + 1;
  DropDraft();
  ABSL_RETURN_IF_ERROR(Call(*model_->verify(), rows, draft, rows, draft_logits_, execute));
  draft_.assign(draft.begin(), draft.end());
  logits_.assign(draft_logits_.begin(), draft_logits_.begin() + model_->vocabulary());
  logits_at_ = ++evaluated_;
  return absl::OkStatus();
}

void Session::TakeDraft() {
  for (; evaluated_ < position() && draft_at_ < draft_.size(); ++draft_at_) {
    if (draft_[draft_at_] != tokens_[static_cast<size_t>(evaluated_)]) {
      DropDraft();
      return;
    }
    const auto row =
        draft_logits_.begin() + static_cast<ptrdiff_t>(draft_at_ + 1) * model_->vocabulary();
    logits_.assign(row, row + model_->vocabulary());
    logits_at_ = ++evaluated_;
  }
}

absl::Status Session::Evaluate(const ExecuteOptions& execute) {
  if (has_logits() || tokens_.empty()) return absl::OkStatus();
  const absl::Status status = EvaluateByCalls(execute);
  if (!keeps_methods_) methods_.clear();
  return status;
}

absl::Status Session::EvaluateByCalls(const ExecuteOptions& execute) {
  TakeDraft();
  if (!has_logits() && evaluated_ == position()) {
    // A cut has dropped the logits of the last token.
    if (rewind_ == Rewind::kEvaluateAgain) {
      must_reset_ = true;
    } else {
      --evaluated_;
    }
  }
  if (must_reset_) {
    if (methods_.empty()) state_->Reset();
    for (const std::unique_ptr<Method>& method : methods_) method->ResetState();
    evaluated_ = 0;
    must_reset_ = false;
  }
  while (evaluated_ < position()) {
    DropDraft();
    const int64_t left = position() - evaluated_;
    const TextMethod* signature = &model_->prefill();
    int64_t count = std::min(left, signature->most);
    if (count >= signature->least) count -= (count - signature->least) % signature->step;
    if (!signature->Supports(count) || (left == 1 && model_->decode().Supports(1))) {
      signature = &model_->decode();
      count = 1;
    }
    const absl::Status status =
        Call(*signature, count, {}, count == left ? 1 : 0, logits_, execute);
    if (!status.ok()) {
      // The failed call may have written a part of the state.
      must_reset_ = rewind_ == Rewind::kEvaluateAgain;
      return status;
    }
    evaluated_ += count;
  }
  logits_at_ = position();
  return absl::OkStatus();
}

void Session::Truncate(int64_t position) {
  tokens_.resize(static_cast<size_t>(position));
  DropDraft();
  if (logits_at_ > position) logits_at_ = 0;
  if (evaluated_ <= position) return;
  if (rewind_ == Rewind::kEvaluateAgain) {
    must_reset_ = true;
  } else {
    evaluated_ = position;
  }
}

absl::Status Session::CheckTokens(absl::Span<const int32_t> tokens) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < model_->vocabulary()) continue;
    return absl::OutOfRangeError(absl::StrCat("token ", i, ": expected a value in [0, ",
                                              model_->vocabulary(), "), got ", tokens[i]));
  }
  return absl::OkStatus();
}

absl::Status Session::Append(absl::Span<const int32_t> tokens, const ExecuteOptions& execute) {
  if (tokens.empty()) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(CheckTokens(tokens));
  const int64_t before = position(), context = model_->context_length();
  if (context > 0 && static_cast<int64_t>(tokens.size()) > context - before) {
    return absl::OutOfRangeError(absl::StrCat("expected at most ", context,
                                              " tokens (the context length), got ", before, " + ",
                                              tokens.size()));
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  const absl::Status status = Evaluate(execute);
  if (!status.ok()) Truncate(before);
  return status;
}

absl::StatusOr<absl::Span<const float>> Session::Logits(const ExecuteOptions& execute) {
  if (tokens_.empty()) return EmptyError();
  ABSL_RETURN_IF_ERROR(Evaluate(execute));
  return absl::MakeConstSpan(logits_);
}

absl::StatusOr<Generation> Session::Generate(const GenerateOptions& options) {
  ABSL_ASSIGN_OR_RETURN(TokenStream stream, TokenStream::Create(*this, options));
  const int64_t before = position();
  const auto generate = [&]() -> absl::Status {
    while (true) {
      ABSL_ASSIGN_OR_RETURN(const std::optional<GeneratedToken> token, stream.Next());
      if (!token.has_value()) return absl::OkStatus();
      if (options.on_token && !options.on_token(*token)) {
        return stream.Finish(FinishReason::kCallback);
      }
    }
  };
  const absl::Status status = generate();
  if (status.ok()) return stream.result();
  Truncate(before);
  return status;
}

absl::Status TokenStream::CheckDraft(const Session& session, const GenerateOptions& options) {
  const Session& draft = *options.draft;
  if (options.speculate == 0) {
    return absl::InvalidArgumentError("draft: expected `speculate` of at least 1, got 0");
  }
  if (&draft == &session) {
    return absl::InvalidArgumentError("draft: expected another session than the generating one");
  }
  if (draft.model().context_length() == 0) {
    return absl::InvalidArgumentError(
        "draft: the context length of the model is unknown; lower it with '--constant-method "
        "get_max_seq_len=N'");
  }
  if (draft.rewind_ != Rewind::kMovePosition) {
    return absl::UnimplementedError(
        "draft: expected a cache that is written by position, and the program of the draft model "
        "does not state it: lower it with '--constant-method use_positional_cache=1' if that is "
        "true");
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenStream> TokenStream::Create(Session& session, GenerateOptions options) {
  if (options.speculate < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("speculate: expected at least 0, got ", options.speculate));
  }
  if (options.speculate > 0 && session.model().verify() == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        "speculate: expected a method that returns logits of all its tokens, got method '",
        session.model().prefill().plan->name,
        "' with those of the last token; import the model with 'belay import-gguf --speculate N', "
        "or add a method 'verify'"));
  }
  if (options.speculate > 0 && session.rewind_ != Rewind::kMovePosition) {
    return absl::UnimplementedError(
        "speculate: expected a cache that is written by position, and the program does not state "
        "it: lower with '--constant-method use_positional_cache=1' if that is true");
  }
  if (options.draft != nullptr) ABSL_RETURN_IF_ERROR(CheckDraft(session, options));
  if (options.max_tokens < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_tokens: expected at least 0, got ", options.max_tokens));
  }
  ABSL_ASSIGN_OR_RETURN(Sampler sampler,
                        Sampler::Create(options.sampling, session.model().vocabulary()));
  ABSL_ASSIGN_OR_RETURN(StopStrings stop,
                        StopStrings::Create(options.tokenizer, options.stop_strings));
  if (session.tokens().empty()) return EmptyError();
  return TokenStream(&session, std::move(options), std::move(sampler), std::move(stop));
}

absl::StatusOr<std::optional<GeneratedToken>> TokenStream::Next() {
  const auto end = [&](FinishReason reason) -> absl::StatusOr<std::optional<GeneratedToken>> {
    ABSL_RETURN_IF_ERROR(Finish(reason));
    return std::nullopt;
  };
  if (finished_) return std::nullopt;
  if (stop_.stopped()) return end(FinishReason::kStopString);
  if (static_cast<int64_t>(result_.tokens.size()) >= options_.max_tokens) {
    return end(FinishReason::kMaxTokens);
  }
  const int64_t context = session_->model().context_length(), position = session_->position();
  if (context > 0 && position >= context) return end(FinishReason::kContextFull);
  ABSL_RETURN_IF_ERROR(Speculate());
  ABSL_ASSIGN_OR_RETURN(const absl::Span<const float> logits, session_->Logits(options_.execute));
  ABSL_ASSIGN_OR_RETURN(const int32_t token, sampler_.Sample(logits, session_->tokens()));
  if (std::find(options_.stop_tokens.begin(), options_.stop_tokens.end(), token) !=
      options_.stop_tokens.end()) {
    return end(FinishReason::kStopToken);
  }
  ABSL_ASSIGN_OR_RETURN(text_, stop_.Push(token));
  if (session_->draft_at_ < session_->draft_.size() &&
      session_->draft_[session_->draft_at_] == token) {
    ++result_.accepted;
  }
  session_->tokens_.push_back(token);
  result_.tokens.push_back(token);
  result_.text += text_;
  return GeneratedToken{token, text_};
}

absl::Status TokenStream::Speculate() {
  if (options_.speculate == 0 || !session_->HasOnePending()) return absl::OkStatus();
  const TextMethod& verify = *session_->model().verify();
  const int64_t context = session_->model().context_length(), position = session_->position();
  // The last token that may be generated needs no logits.
  int64_t most = std::min({options_.speculate, verify.most - 1,
                           options_.max_tokens - static_cast<int64_t>(result_.tokens.size()) - 1});
  if (context > 0) most = std::min(most, context - position);
  while (most > 0 && !verify.Supports(most + 1)) --most;
  const absl::Span<const int32_t> tokens = session_->tokens();
  std::vector<int32_t> continued;
  absl::Span<const int32_t> draft;
  if (options_.draft != nullptr) {
    ABSL_ASSIGN_OR_RETURN(continued, ModelDraft(*options_.draft, tokens, most, options_.execute));
    const int64_t vocabulary = session_->model().vocabulary();
    draft = absl::MakeConstSpan(continued);
    const auto unknown = std::find_if(draft.begin(), draft.end(),
                                      [&](int32_t token) { return token >= vocabulary; });
    draft = draft.first(static_cast<size_t>(unknown - draft.begin()));
  } else {
    draft = NgramDraft(tokens, most);
  }
  while (!draft.empty() && !verify.Supports(static_cast<int64_t>(draft.size()) + 1)) {
    draft.remove_suffix(1);
  }
  if (draft.empty()) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(session_->EvaluateDraft(draft, options_.execute));
  result_.drafted += static_cast<int64_t>(draft.size());
  return absl::OkStatus();
}

absl::Status TokenStream::Finish(FinishReason reason) {
  if (finished_) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const std::string rest, stop_.Finish());
  result_.text += rest;
  result_.finish = reason;
  finished_ = true;
  return absl::OkStatus();
}

absl::Status Session::Cut(int64_t position) {
  if (position < 0 || position > this->position()) {
    return absl::OutOfRangeError(
        absl::StrCat("expected a position in [0, ", this->position(), "], got ", position));
  }
  Truncate(position);
  return absl::OkStatus();
}

absl::StatusOr<Session> Session::Fork() const {
  ABSL_ASSIGN_OR_RETURN(Session fork, Create(*model_, {.rewind = rewind_}));
  ABSL_RETURN_IF_ERROR(fork.state_->Restore(state_->Save()));
  fork.tokens_ = tokens_;
  fork.evaluated_ = evaluated_;
  fork.must_reset_ = must_reset_;
  fork.logits_ = logits_;
  fork.logits_at_ = logits_at_;
  return fork;
}

// Magic, digest of the model, SavedSizes, tokens, logits, state, SHA-256 of all these.
std::string Session::Save() const {
  const std::string state = must_reset_ ? std::string() : state_->Save();
  const SavedSizes sizes = {tokens_.size(), must_reset_ ? 0 : static_cast<uint64_t>(evaluated_),
                            has_logits() ? logits_.size() : 0, state.size()};
  std::string saved(kMagic);
  saved += model_->digest();
  AppendBytes(&sizes, sizeof(sizes), saved);
  AppendBytes(tokens_.data(), tokens_.size() * sizeof(int32_t), saved);
  AppendBytes(logits_.data(), static_cast<size_t>(sizes.logits) * sizeof(float), saved);
  saved += state;
  saved += Sha256(saved);
  return saved;
}

absl::Status Session::Restore(std::string_view saved) {
  if (!saved.starts_with(kMagic)) {
    return absl::InvalidArgumentError("expected a saved session, got other bytes");
  }
  if (saved.size() < kMagic.size() + 2 * kSha256Bytes + sizeof(SavedSizes)) {
    return absl::DataLossError("the saved session is truncated");
  }
  const std::string_view content = saved.substr(0, saved.size() - kSha256Bytes);
  if (Sha256(content) != saved.substr(content.size())) {
    return absl::DataLossError("the saved session is damaged: its digest differs");
  }
  if (content.substr(kMagic.size(), kSha256Bytes) != model_->digest()) {
    return absl::InvalidArgumentError("the saved session is of another model");
  }
  ByteReader reader(AsBytes(content).subspan(kMagic.size() + kSha256Bytes));
  ABSL_ASSIGN_OR_RETURN(const SavedSizes sizes, reader.Take<SavedSizes>("sizes"));
  ABSL_ASSIGN_OR_RETURN(std::vector<int32_t> tokens,
                        reader.TakeList<int32_t>(sizes.tokens, "tokens"));
  ABSL_ASSIGN_OR_RETURN(std::vector<float> logits, reader.TakeList<float>(sizes.logits, "logits"));
  ABSL_RETURN_IF_ERROR(CheckTokens(tokens));
  const auto vocabulary = static_cast<uint64_t>(model_->vocabulary());
  if (sizes.evaluated > sizes.tokens || (sizes.logits != 0 && sizes.logits != vocabulary) ||
      sizes.state != reader.rest().size() || (sizes.state == 0 && sizes.evaluated != 0) ||
      (sizes.logits != 0 && sizes.tokens == 0)) {
    return absl::InvalidArgumentError("the sizes in the saved session do not agree");
  }
  if (sizes.state != 0) {
    ABSL_RETURN_IF_ERROR(state_->Restore(AsString(reader.rest())));
  }
  must_reset_ = sizes.state == 0;
  DropDraft();
  tokens_ = std::move(tokens);
  evaluated_ = static_cast<int64_t>(sizes.evaluated);
  logits_at_ = sizes.logits != 0 ? static_cast<int64_t>(sizes.tokens) : 0;
  logits_ = std::move(logits);
  return absl::OkStatus();
}

}  // namespace belay::llm
