// Finds the methods of a language model in a program, and checks their signatures.
#ifndef BELAY_RUNTIME_LLM_TEXT_MODEL_H_
#define BELAY_RUNTIME_LLM_TEXT_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/attributes.h"
#include "absl/base/call_once.h"
#include "absl/status/statusor.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/dtype.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/plan.h"
#include "runtime/program/program.h"

namespace belay::llm {

// How a method receives the positions of its tokens.
enum class PositionInput {
  kEach,   // integers [n]: the position of each token
  kFirst,  // an integer, or integers [] or [1]: the position of the first token
};

// Names of optional methods.
inline constexpr char kVerifyMethod[] = "verify", kBatchMethod[] = "decode_batch";

// The checked signature of a method: token ids and positions in, logits out.
struct TextMethod {
  const MethodPlan* plan = nullptr;
  size_t tokens = 0, positions = 0;  // indices of the inputs
  DType tokens_dtype = DType::kInt64;
  std::optional<DType> positions_dtype;  // nullopt: a scalar
  int tokens_rank = 2, positions_rank = 1;
  PositionInput position_input = PositionInput::kEach;
  // Numbers of tokens in one call: least, least + step, …, most.
  int64_t least = 1, most = 1, step = 1;
  int64_t vocabulary = 0;
  bool has_all_logits = false;  // of all tokens of a call, not only of the last
  int64_t sessions = 1;         // rows of tokens, positions and logits; above 1 with one token each

  bool Supports(int64_t count) const {
    return count >= least && count <= most && (count - least) % step == 0;
  }
};

struct TextModelOptions {
  // Names of the methods. "": `prefill` and `decode` if the program has both, otherwise its only
  // method that has inputs, apart from kVerifyMethod and kBatchMethod, which does both.
  std::string prefill, decode;
  // Positions of the cache. 0: the value of the program's constant method get_max_context_len or
  // get_max_seq_len (`belay lower --constant-method`); without one, the model's own checks.
  int64_t context_length = 0;
  ThreadPool* threads = nullptr;  // MethodOptions::threads
};

// A program with a method for prompts and one for single tokens, which share a cache as state. Both
// may be the same method. Signature of each, for n tokens and a vocabulary of v:
//
//   token ids  int64 or int32 [1, n] or [n]; n is static, or dynamic with bounds
//   positions  int64 or int32 [n] (PositionInput::kEach), or [1], [] or an integer (kFirst)
//   logits     float32, bfloat16 or float16 [1, n, v], [1, 1, v], [n, v] or [1, v]: the first
//              output; its last row is used. Other outputs are ignored.
//
// Optional methods, for caches that are written by position (Rewind::kMovePosition):
//
//   verify        returns the logits of all n tokens, for speculative decoding
//   decode_batch  evaluates one token of each of B sequences: token ids [B, 1] or [B], positions
//                 [B], logits [B, 1, v] or [B, v]. Buffer X [1, ...] of the other methods is
//                 X [B, ...] or batch.X [B, ...] there. A call writes row positions[i] of the cache
//                 of sequence i, whose token attends to the rows up to this one.
//
// A buffer of rank 2 or more is state: the cache. Inputs are found by the names tokens, input_ids,
// …, and cache_position, input_pos, position, …; with other names, the input of higher rank is the
// token ids. The method for single tokens accepts n = 1. Immutable and thread-safe. Copyable.
//
// A model with an adapter (LoRA) is a model of a program that Parameters::Open opens with the
// adapter's file (runtime/parameters). Programs of one file share its other weights.
class TextModel {
 public:
  // The arguments must outlive the model and its sessions.
  //   kNotFound         no such methods; lists those of the program
  //   kInvalidArgument  lists everything in both signatures that differs from the above
  static absl::StatusOr<TextModel> Create(
      const Program& program ABSL_ATTRIBUTE_LIFETIME_BOUND,
      const KernelRegistry& kernels ABSL_ATTRIBUTE_LIFETIME_BOUND,
      const BackendRegistry& backends ABSL_ATTRIBUTE_LIFETIME_BOUND,
      const TextModelOptions& options = {});

  const Program& program() const { return *program_; }
  const KernelRegistry& kernels() const { return *kernels_; }
  const BackendRegistry& backends() const { return *backends_; }
  ThreadPool* threads() const { return threads_; }

  const TextMethod& prefill() const { return prefill_; }
  const TextMethod& decode() const { return decode_; }
  bool has_one_method() const { return prefill_.plan == decode_.plan; }
  // The method with logits of all tokens: `verify`, otherwise prefill() if it has them; or null.
  const TextMethod* verify() const;
  // decode_batch, or null.
  const TextMethod* batch() const { return batch_.has_value() ? &*batch_ : nullptr; }
  // Whether the constant method use_positional_cache of the program is not 0: caches are written by
  // position (Rewind::kMovePosition).
  bool use_positional_cache() const { return use_positional_cache_; }
  int64_t vocabulary() const { return decode_.vocabulary; }
  // Maximum number of tokens of a session; 0 if unknown.
  int64_t context_length() const { return context_length_; }
  // Digest of the methods' state, of the program's segments and of replaced parameters: 32 bytes,
  // equal for equal files. The first call reads the replaced parameters.
  const std::string& digest() const;

 private:
  TextModel() = default;
  const Program* program_ = nullptr;
  const KernelRegistry* kernels_ = nullptr;
  const BackendRegistry* backends_ = nullptr;
  ThreadPool* threads_ = nullptr;
  TextMethod prefill_, decode_;
  std::optional<TextMethod> verify_, batch_;
  int64_t context_length_ = 0;
  bool use_positional_cache_ = false;
  struct Digest {
    absl::once_flag once;
    std::string bytes;
  };
  std::shared_ptr<Digest> digest_ = std::make_shared<Digest>();
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_TEXT_MODEL_H_
