#include "runtime/llm/batch.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/core/evalue.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/llm/logits_rows.h"

namespace belay::llm {

absl::StatusOr<Batch> Batch::Create(const TextModel& model) {
  const TextMethod* signature = model.batch();
  if (signature == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("batch: expected a method '", kBatchMethod,
                     "' in the program; import the model with 'belay import-gguf --sessions N'"));
  }
  if (model.context_length() == 0) {
    return absl::InvalidArgumentError(
        "batch: the context length is unknown; lower with '--constant-method get_max_seq_len=N'");
  }
  Batch batch(&model);
  const std::string& name = signature->plan->name;
  ABSL_ASSIGN_OR_RETURN(SharedState state, SharedState::Create(model.program(), {name}));
  batch.state_ = std::make_unique<SharedState>(std::move(state));
  ABSL_ASSIGN_OR_RETURN(Method method,
                        Method::Load(model.program(), name, model.kernels(), model.backends(),
                                     {.state = batch.state_.get(), .threads = model.threads()}));
  batch.method_ = std::make_unique<Method>(std::move(method));
  for (int64_t i = 0; i < signature->sessions; ++i) {
    Session session(&model, {.rewind = Rewind::kMovePosition});
    session.keeps_methods_ = false;
    ABSL_ASSIGN_OR_RETURN(
        SharedState row,
        SharedState::CreateRow(model.program(), Session::MethodNames(model), *batch.state_, i));
    session.state_ = std::make_unique<SharedState>(std::move(row));
    batch.sessions_.push_back(std::make_unique<Session>(std::move(session)));
  }
  return batch;
}

absl::Status Batch::Step(const ExecuteOptions& execute) {
  const TextMethod& signature = *model_->batch();
  ids64_.assign(sessions_.size(), 0);
  positions64_.assign(sessions_.size(), 0);
  std::vector<bool> steps(sessions_.size());
  for (size_t i = 0; i < sessions_.size(); ++i) {
    const Session& session = *sessions_[i];
    steps[i] = session.HasOnePending();
    // Without a token to evaluate, row `evaluated_` is written, which no later call reads before it
    // writes it again. In a full cache, the last token is evaluated again.
    const bool is_full = session.evaluated_ >= model_->context_length();
    positions64_[i] = session.evaluated_ - (is_full ? 1 : 0);
    if (steps[i] || is_full) ids64_[i] = session.tokens_[static_cast<size_t>(positions64_[i])];
  }
  if (std::none_of(steps.begin(), steps.end(), [](bool step) { return step; })) {
    return absl::OkStatus();
  }
  ids32_.assign(ids64_.begin(), ids64_.end());
  positions32_.assign(positions64_.begin(), positions64_.end());
  const auto count = static_cast<int64_t>(sessions_.size());
  const auto input = [&](DType dtype, const Sizes& sizes, std::vector<int64_t>& wide,
                         std::vector<int32_t>& narrow) {
    void* data = dtype == DType::kInt64 ? static_cast<void*>(wide.data()) : narrow.data();
    return EValue(TensorView::Contiguous(dtype, sizes, data));
  };
  const Sizes sizes = signature.tokens_rank == 2 ? Sizes{count, 1} : Sizes{count};
  ABSL_RETURN_IF_ERROR(
      method_->SetInput(signature.tokens, input(signature.tokens_dtype, sizes, ids64_, ids32_)));
  ABSL_RETURN_IF_ERROR(method_->SetInput(
      signature.positions, input(*signature.positions_dtype, {count}, positions64_, positions32_)));
  // The call overwrites rows after the evaluated tokens.
  for (const std::unique_ptr<Session>& session : sessions_) session->DropDraft();
  ABSL_RETURN_IF_ERROR(method_->Execute(execute));
  const TensorView& logits = *method_->GetOutput(0).get_if<TensorView>();
  for (size_t i = 0; i < sessions_.size(); ++i) {
    if (!steps[i]) continue;
    Session& session = *sessions_[i];
    session.logits_.resize(static_cast<size_t>(signature.vocabulary));
    CopyLogits(logits, static_cast<int64_t>(i), session.logits_.data());
    session.logits_at_ = ++session.evaluated_;
  }
  return absl::OkStatus();
}

}  // namespace belay::llm
