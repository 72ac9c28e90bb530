// Sessions that advance together: one call evaluates a token of each.
#ifndef BELAY_RUNTIME_LLM_BATCH_H_
#define BELAY_RUNTIME_LLM_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/statusor.h"
#include "runtime/executor/execute_options.h"
#include "runtime/executor/method.h"
#include "runtime/executor/shared_state.h"
#include "runtime/llm/session.h"
#include "runtime/llm/text_model.h"

namespace belay::llm {

// A fixed number of sessions whose caches are the rows of one state. All calls of Session are
// available. A sequence starts with session.Append(prompt) at any time, and ends with
// session.Cut(0):
//
//   ABSL_ASSIGN_OR_RETURN(Batch batch, Batch::Create(model));
//   ABSL_RETURN_IF_ERROR(batch.session(0).Append(prompt));
//   ABSL_ASSIGN_OR_RETURN(TokenStream stream, TokenStream::Create(batch.session(0), {}));
//   ...                                   // more sessions
//   ABSL_RETURN_IF_ERROR(stream.Next());  // samples a token, for each stream
//   ABSL_RETURN_IF_ERROR(batch.Step());   // evaluates these tokens
//
// Results equal those of single sessions, up to the rounding of methods that evaluate other numbers
// of tokens. Sessions are Rewind::kMovePosition. A session loads its methods for each evaluation
// of its own, so that the memory for activations of prompts exists once. Move-only. Not
// thread-safe: the sessions share memory.
class Batch {
 public:
  // The model must outlive the batch.
  //   kUnimplemented    the program has no method decode_batch
  //   kInvalidArgument  the context length is unknown; the buffers of decode_batch are not those of
  //                     the other methods with a row per session (SharedState::CreateRow)
  //   errors of SharedState::Create and Method::Load
  static absl::StatusOr<Batch> Create(const TextModel& model ABSL_ATTRIBUTE_LIFETIME_BOUND);

  // Number of sessions.
  int64_t size() const { return static_cast<int64_t>(sessions_.size()); }
  // Precondition: 0 <= i < size(). Valid as long as the batch, also after a move.
  Session& session(int64_t i) { return *sessions_[static_cast<size_t>(i)]; }

  // Evaluates the last token of each session whose other tokens are evaluated, as a token that a
  // stream has sampled. Other sessions stay as they are. One call of decode_batch, or none. A failed
  // call changes nothing. Errors of Method::Execute.
  absl::Status Step(const ExecuteOptions& execute = {});

  // Bytes of all caches.
  uint64_t state_bytes() const { return state_->memory_bytes(); }

 private:
  explicit Batch(const TextModel* model) : model_(model) {}

  const TextModel* model_;
  std::unique_ptr<SharedState> state_;
  std::unique_ptr<Method> method_;
  std::vector<std::unique_ptr<Session>> sessions_;
  // Inputs of a call.
  std::vector<int64_t> ids64_, positions64_;
  std::vector<int32_t> ids32_, positions32_;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_BATCH_H_
