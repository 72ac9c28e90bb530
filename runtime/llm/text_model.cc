#include "runtime/llm/text_model.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {
namespace {

constexpr std::string_view kTokenNames[] = {"input_ids", "tokens", "token_ids", "ids", "token"};
constexpr std::string_view kPositionNames[] = {"cache_position", "input_pos", "positions",
                                               "position",       "start_pos", "pos"};
constexpr std::string_view kContextMethods[] = {"get_max_context_len", "get_max_seq_len"};
constexpr std::string_view kCacheMethods[] = {"use_positional_cache"};

bool IsInteger(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kInt32; }

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

template <size_t N>
bool IsOneOf(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

const TensorPlan* TensorOf(const MethodPlan& plan, uint32_t value) {
  return std::get_if<TensorPlan>(&plan.values[value]);
}

// "i64[1,<=16]"
std::string Describe(const MethodPlan& plan, uint32_t value) {
  const TensorPlan* tensor = TensorOf(plan, value);
  if (tensor == nullptr) {
    return std::holds_alternative<ScalarKind>(plan.values[value])
               ? std::string(ScalarKindName(std::get<ScalarKind>(plan.values[value])))
               : "a constant";
  }
  std::vector<std::string> sizes;
  for (size_t d = 0; d < tensor->sizes.size(); ++d) {
    const bool dynamic = (tensor->dynamic_dims >> d & 1) != 0;
    sizes.push_back(absl::StrCat(dynamic ? "<=" : "", tensor->sizes[d]));
  }
  return absl::StrCat(DTypeShortName(tensor->dtype), "[", absl::StrJoin(sizes, ","), "]");
}

// Reads one method's signature and collects all its errors.
class SignatureReader {
 public:
  SignatureReader(const MethodPlan& plan, std::vector<std::string>& problems)
      : plan_(plan), problems_(problems) {
    method_.plan = &plan;
  }

  TextMethod Read() {
    if (FindInputs()) {
      ReadTokens();
      ReadPositions();
    }
    ReadLogits();
    CheckCache();
    return method_;
  }

  // Reads a method that evaluates one token of each of several sequences.
  TextMethod ReadBatch() {
    if (FindInputs()) ReadRows();
    CheckCache();
    return method_;
  }

 private:
  void CheckCache() {
    // A counter is not a cache.
    const bool has_cache = std::any_of(
        plan_.state.begin(), plan_.state.end(),
        [&](const StatePlan& state) { return TensorOf(plan_, state.value)->sizes.size() >= 2; });
    if (!has_cache) {
      Problem(absl::StrCat("expected a cache as state (a buffer of rank 2 or more), got ",
                           plan_.state.size(), " other buffers"));
    }
  }

  void Problem(std::string_view what) {
    problems_.push_back(absl::StrCat("method ", Quoted(plan_.name), ": ", what));
  }

  bool FindInputs() {
    std::vector<size_t> inputs;  // set by callers
    std::vector<std::string> described;
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      const InputPlan& input = plan_.inputs[i];
      const ValuePlan& value = plan_.values[input.value];
      const auto* scalar = std::get_if<ScalarKind>(&value);
      const TensorPlan* tensor = TensorOf(plan_, input.value);
      if (tensor == nullptr && scalar == nullptr) continue;
      if (tensor != nullptr && tensor->location == TensorPlan::Location::kConstant) continue;
      inputs.push_back(i);
      described.push_back(absl::StrCat(Quoted(input.name), ": ", Describe(plan_, input.value)));
    }
    const std::string got = described.empty() ? "no inputs" : absl::StrJoin(described, ", ");
    if (inputs.size() != 2) {
      Problem(absl::StrCat("expected token ids and positions as inputs, got ", got));
      return false;
    }
    const auto name = [&](size_t i) { return std::string_view(plan_.inputs[inputs[i]].name); };
    const auto rank = [&](size_t i) -> int {
      const TensorPlan* tensor = TensorOf(plan_, plan_.inputs[inputs[i]].value);
      return tensor == nullptr ? -1 : static_cast<int>(tensor->sizes.size());
    };
    size_t tokens = 2;
    for (size_t i = 0; i < 2; ++i) {
      if (IsOneOf(name(i), kTokenNames) || IsOneOf(name(1 - i), kPositionNames)) tokens = i;
    }
    if (tokens == 2 && rank(0) != rank(1)) tokens = rank(0) > rank(1) ? 0 : 1;
    if (tokens == 2) {
      Problem(
          absl::StrCat("cannot tell token ids from positions; name them input_ids and "
                       "cache_position, got ",
                       got));
      return false;
    }
    method_.tokens = inputs[tokens];
    method_.positions = inputs[1 - tokens];
    return true;
  }

  // Reads the bounds of dimension `d` of an input.
  void ReadCounts(const InputPlan& input, const TensorPlan& tensor, size_t d) {
    method_.most = method_.least = tensor.sizes[d];
    if ((tensor.dynamic_dims >> d & 1) == 0) return;
    method_.least = 1;
    for (const SizeConstraint& constraint : input.constraints) {
      if (constraint.dim != d) continue;
      method_.least = std::max<int64_t>(constraint.min, 1);
      method_.most = std::min(method_.most, constraint.max);
      method_.step = std::max<int64_t>(constraint.multiplier, 1);
      // The smallest multiplier * s + offset in the bounds.
      const int64_t past = (method_.least - constraint.offset) % method_.step;
      if (past != 0) method_.least += past > 0 ? method_.step - past : -past;
    }
    if (method_.most >= method_.least) {
      method_.most -= (method_.most - method_.least) % method_.step;
    }
  }

  void ReadTokens() {
    const InputPlan& input = plan_.inputs[method_.tokens];
    const TensorPlan* tensor = TensorOf(plan_, input.value);
    const auto rank = tensor == nullptr ? 0 : tensor->sizes.size();
    const bool batch = rank == 2;
    if (tensor == nullptr || !IsInteger(tensor->dtype) || (rank != 1 && rank != 2) ||
        (batch && (tensor->sizes[0] != 1 || (tensor->dynamic_dims & 1) != 0))) {
      Problem(absl::StrCat("expected token ids i64 or i32 [1,n] or [n], got ", Quoted(input.name),
                           ": ", Describe(plan_, input.value)));
      return;
    }
    method_.tokens_dtype = tensor->dtype;
    method_.tokens_rank = static_cast<int>(rank);
    ReadCounts(input, *tensor, rank - 1);
    if (method_.most < 1 || method_.most < method_.least) {
      Problem("expected a positive number of token ids");
    }
  }

  void ReadPositions() {
    const InputPlan& input = plan_.inputs[method_.positions];
    const TensorPlan* tensor = TensorOf(plan_, input.value);
    const auto* scalar = std::get_if<ScalarKind>(&plan_.values[input.value]);
    const auto wrong = [&] {
      Problem(absl::StrCat("expected positions i64 or i32 [n], [1] or [], or an int, got ",
                           Quoted(input.name), ": ", Describe(plan_, input.value)));
    };
    if (scalar != nullptr) {
      if (*scalar != ScalarKind::kInt) return wrong();
      method_.position_input = PositionInput::kFirst;
      return;
    }
    if (!IsInteger(tensor->dtype) || tensor->sizes.size() > 1) return wrong();
    method_.positions_dtype = tensor->dtype;
    method_.positions_rank = static_cast<int>(tensor->sizes.size());
    if (tensor->sizes.empty()) {
      method_.position_input = PositionInput::kFirst;
    } else if (tensor->is_static() && tensor->sizes[0] == 1) {
      method_.position_input = PositionInput::kFirst;  // of one token also its own
    } else if (tensor->sizes[0] < method_.most ||
               (tensor->is_static() && method_.least != method_.most)) {
      wrong();
    }
  }

  void ReadLogits() {
    const TensorPlan* tensor = plan_.outputs.empty() ? nullptr : TensorOf(plan_, plan_.outputs[0]);
    const size_t rank = tensor == nullptr ? 0 : tensor->sizes.size();
    if (tensor == nullptr || !IsFloat(tensor->dtype) || (rank != 2 && rank != 3) ||
        (rank == 3 && tensor->sizes[0] != 1) || (tensor->dynamic_dims >> (rank - 1) & 1) != 0 ||
        tensor->sizes[rank - 1] < 1 || tensor->sizes[rank - 1] > INT32_MAX) {
      Problem(absl::StrCat(
          "expected logits f32, bf16 or f16 [1,n,v] or [1,v] as the first output, got ",
          plan_.outputs.empty() ? "no outputs" : Describe(plan_, plan_.outputs[0])));
      return;
    }
    method_.vocabulary = tensor->sizes[rank - 1];
    // Equal maxima: both are 1, or the rows are those of the tokens.
    method_.has_all_logits =
        tensor->sizes[rank - 2] == method_.most &&
        (method_.least == method_.most || (tensor->dynamic_dims >> (rank - 2) & 1) != 0);
  }

  // Reads tokens [B, 1] or [B], positions [B] and logits [B, 1, v] or [B, v].
  void ReadRows() {
    const uint32_t tokens_value = plan_.inputs[method_.tokens].value;
    const uint32_t positions_value = plan_.inputs[method_.positions].value;
    const TensorPlan* tokens = TensorOf(plan_, tokens_value);
    const TensorPlan* positions = TensorOf(plan_, positions_value);
    const TensorPlan* logits = plan_.outputs.empty() ? nullptr : TensorOf(plan_, plan_.outputs[0]);
    const auto is_static = [](const TensorPlan* tensor, size_t least, size_t most) {
      return tensor != nullptr && tensor->is_static() && tensor->sizes.size() >= least &&
             tensor->sizes.size() <= most && tensor->sizes[0] >= 1;
    };
    const bool fits =
        is_static(tokens, 1, 2) && is_static(positions, 1, 1) && is_static(logits, 2, 3) &&
        IsInteger(tokens->dtype) && IsInteger(positions->dtype) && IsFloat(logits->dtype) &&
        (tokens->sizes.size() == 1 || tokens->sizes[1] == 1) &&
        (logits->sizes.size() == 2 || logits->sizes[1] == 1) &&
        positions->sizes[0] == tokens->sizes[0] && logits->sizes[0] == tokens->sizes[0] &&
        logits->sizes.back() >= 1 && logits->sizes.back() <= INT32_MAX;
    if (!fits) {
      Problem(absl::StrCat(
          "expected token ids i64 or i32 [B,1] or [B], positions i64 or i32 [B], and logits f32, "
          "bf16 or f16 [B,1,v] or [B,v] of static sizes, got ",
          Describe(plan_, tokens_value), ", ", Describe(plan_, positions_value), " and ",
          plan_.outputs.empty() ? "no outputs" : Describe(plan_, plan_.outputs[0])));
      return;
    }
    method_.tokens_dtype = tokens->dtype;
    method_.positions_dtype = positions->dtype;
    method_.tokens_rank = static_cast<int>(tokens->sizes.size());
    method_.sessions = tokens->sizes[0];
    method_.vocabulary = logits->sizes.back();
    method_.has_all_logits = true;
  }

  const MethodPlan& plan_;
  std::vector<std::string>& problems_;
  TextMethod method_;
};

absl::StatusOr<std::pair<const MethodPlan*, const MethodPlan*>> FindMethods(
    const Program& program, const TextModelOptions& options) {
  std::string prefill = options.prefill, decode = options.decode;
  if (prefill.empty() != decode.empty()) (prefill.empty() ? prefill : decode) = prefill + decode;
  if (prefill.empty()) {
    std::vector<const MethodPlan*> with_inputs;
    std::vector<std::string> names;
    bool has_prefill = false, has_decode = false;
    for (const MethodPlan& method : program.methods()) {
      has_prefill = has_prefill || method.name == "prefill";
      has_decode = has_decode || method.name == "decode";
      names.push_back(method.name);
      if (!method.inputs.empty() && method.name != kVerifyMethod && method.name != kBatchMethod) {
        with_inputs.push_back(&method);
      }
    }
    if (!has_prefill || !has_decode) {
      if (with_inputs.size() == 1) return std::pair(with_inputs[0], with_inputs[0]);
      return absl::NotFoundError(
          absl::StrCat("expected methods 'prefill' and 'decode', or one method; the program has: ",
                       ListFirst(names, ", ")));
    }
    prefill = "prefill";
    decode = "decode";
  }
  ABSL_ASSIGN_OR_RETURN(const MethodPlan* const first, program.FindMethod(prefill));
  ABSL_ASSIGN_OR_RETURN(const MethodPlan* const second, program.FindMethod(decode));
  return std::pair(first, second);
}

// Returns the positive result of the first of these constant methods that the program has, or 0.
int64_t Constant(const Program& program, absl::Span<const std::string_view> names) {
  for (std::string_view name : names) {
    for (const MethodPlan& method : program.methods()) {
      if (method.name != name || !method.inputs.empty() || method.outputs.size() != 1) continue;
      const auto* value = std::get_if<int64_t>(&method.values[method.outputs[0]]);
      if (value != nullptr && *value > 0) return *value;
    }
  }
  return 0;
}

const MethodPlan* FindOptional(const Program& program, std::string_view name) {
  const absl::StatusOr<const MethodPlan*> method = program.FindMethod(name);
  return method.ok() ? *method : nullptr;
}

// Whether the bytes are not those of the program, but of a parameter file.
bool IsReplaced(const NamedDataPlan& data, const Program& program) {
  const auto contains = [&](const SegmentPlan& segment) {
    const std::byte* const begin = segment.bytes.data();
    const std::byte* const end = begin + segment.bytes.size();
    return !std::less<>()(data.bytes.data(), begin) && std::less<>()(data.bytes.data(), end);
  };
  return data.replaceable && !data.bytes.empty() &&
         std::none_of(program.segments().begin(), program.segments().end(), contains);
}

std::string DigestOf(const Program& program, const TextMethod& prefill, const TextMethod& decode) {
  std::string text;
  for (const TextMethod* method : {&prefill, &decode}) {
    absl::StrAppend(&text, method->plan->name, "\n");
    for (const StatePlan& state : method->plan->state) {
      absl::StrAppend(&text, state.name, " ", Describe(*method->plan, state.value), "\n");
    }
  }
  for (const SegmentPlan& segment : program.segments()) {
    if (segment.kind != SegmentPlan::Kind::kDebug) text += segment.sha256;
  }
  for (const NamedDataPlan& data : program.named_data()) {
    if (IsReplaced(data, program)) absl::StrAppend(&text, data.key, "\n", Sha256(data.bytes));
  }
  return Sha256(text);
}

}  // namespace

const TextMethod* TextModel::verify() const {
  if (verify_.has_value()) return &*verify_;
  return prefill_.has_all_logits && prefill_.most > 1 ? &prefill_ : nullptr;
}

const std::string& TextModel::digest() const {
  absl::call_once(digest_->once,
                  [this] { digest_->bytes = DigestOf(*program_, prefill_, decode_); });
  return digest_->bytes;
}

absl::StatusOr<TextModel> TextModel::Create(const Program& program, const KernelRegistry& kernels,
                                            const BackendRegistry& backends,
                                            const TextModelOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const auto methods, FindMethods(program, options));
  std::vector<std::string> problems;
  TextModel model;
  model.program_ = &program;
  model.kernels_ = &kernels;
  model.backends_ = &backends;
  model.threads_ = options.threads;
  model.prefill_ = SignatureReader(*methods.first, problems).Read();
  model.decode_ = methods.first == methods.second
                      ? model.prefill_
                      : SignatureReader(*methods.second, problems).Read();
  const TextMethod& decode = model.decode_;
  if (const MethodPlan* verify = FindOptional(program, kVerifyMethod)) {
    model.verify_ = SignatureReader(*verify, problems).Read();
    if (problems.empty() && !model.verify_->has_all_logits) {
      problems.push_back(absl::StrCat("method ", Quoted(kVerifyMethod),
                                      ": expected logits of all tokens, got ",
                                      Describe(*verify, verify->outputs[0])));
    }
  }
  if (const MethodPlan* batch = FindOptional(program, kBatchMethod)) {
    model.batch_ = SignatureReader(*batch, problems).ReadBatch();
  }
  if (problems.empty() && !decode.Supports(1)) {
    problems.push_back(absl::StrCat("method ", Quoted(decode.plan->name),
                                    ": expected to accept one token, got at least ", decode.least));
  }
  const TextMethod* const others[] = {&model.prefill_, model.verify(), model.batch()};
  for (const TextMethod* other : others) {
    if (!problems.empty() || other == nullptr || other->vocabulary == decode.vocabulary) continue;
    problems.push_back(absl::StrCat("expected vocabularies of one size, got ", other->vocabulary,
                                    " in method ", Quoted(other->plan->name), " and ",
                                    decode.vocabulary));
  }
  if (options.context_length < 0) {
    problems.push_back(
        absl::StrCat("context_length: expected at least 0, got ", options.context_length));
  }
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrJoin(problems, "; "));
  model.context_length_ =
      options.context_length != 0 ? options.context_length : Constant(program, kContextMethods);
  model.use_positional_cache_ = Constant(program, kCacheMethods) != 0;
  return model;
}

}  // namespace belay::llm
