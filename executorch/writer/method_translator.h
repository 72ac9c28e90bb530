// Translates one method: its values (method_values.cc), and its instructions and delegates
// (method_translation.cc).
#ifndef BELAY_EXECUTORCH_WRITER_METHOD_TRANSLATOR_H_
#define BELAY_EXECUTORCH_WRITER_METHOD_TRANSLATOR_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "executorch/format/portable_operators.h"
#include "executorch/writer/method_translation.h"

namespace belay::pte {

// Memory id of planned tensors in the arena or its first bank; the other banks follow, then
// persistent buffers. 0 is reserved (docs/pte-format.md §6).
inline constexpr uint32_t kArena = 1;
// Bytes of a result of one element that nothing reads; also its alignment.
inline constexpr uint64_t kPlaceholderBytes = 16;
inline constexpr std::string_view kSetRow = "belay.set_row_.default";

class MethodTranslator {
 public:
  MethodTranslator(const exir::ProgramImage& image, int index,
                   absl::Span<const exir::Storage> bytes, const exir::OpRegistry& ops,
                   ProgramData& data, exir::ProblemList& problems)
      : method_(image.metadata.methods(index)),
        debug_(index < image.debug.methods_size() ? &image.debug.methods(index) : nullptr),
        bytes_(bytes),
        ops_(ops),
        data_(data),
        problems_(problems) {}

  std::unique_ptr<ExecutionPlanT> Translate();

 private:
  using Index = int32_t;  // of a value of the plan
  using Calls = std::vector<Index>;

  void AddTensors();
  void AddTensor(uint32_t value, const schema::Tensor& tensor);
  // Adds a tensor of this layout to the plan, and returns it. `value` keeps its plan value.
  Index AddOtherTensor(uint32_t value, const schema::Tensor& layout) {
    const Index original = Value(value);
    AddTensor(value, layout);
    return std::exchange(values_[value], original);
  }
  void AddMethodInputs();
  void AddDelegates();
  void AddInstructions();
  void AddOutputs();
  void Translate(const schema::KernelCall& call);
  void Translate(const schema::DelegateCall& call);
  void Translate(const schema::Move& move);
  void TranslateSetRow(const schema::KernelCall& call);
  void TranslateUpdateCache(const schema::KernelCall& call);
  void TranslateRemainder(const schema::KernelCall& call);
  void TranslateInequality(const schema::KernelCall& call);
  void TranslateView(const schema::KernelCall& call);
  // Offset of kPlaceholderBytes after the arena, for results that nothing reads.
  uint64_t PlaceholderOffset() const {
    return (method_.arena_bytes() + kPlaceholderBytes - 1) / kPlaceholderBytes * kPlaceholderBytes;
  }
  uint32_t StateId() const {
    return kArena + static_cast<uint32_t>(std::max(method_.banks_size(), 1));
  }
  // Sizes of the arena's banks; that of the last one includes the placeholder.
  std::vector<uint64_t> BankSizes() const;
  // Returns whether both are arena tensors at the same offset.
  bool HaveSameOffset(uint32_t a, uint32_t b) const {
    const schema::Tensor &x = Source(a).tensor(), &y = Source(b).tensor();
    return x.location_case() == schema::Tensor::kArenaOffset &&
           y.location_case() == schema::Tensor::kArenaOffset &&
           x.arena_offset() == y.arena_offset();
  }

  // Returns the plan value of a tensor, a computed scalar, or a literal (by the literal's own
  // kind).
  Index Value(uint32_t value);
  // Returns the plan value for an argument; adds a problem if its kind does not match.
  Index ArgumentValue(uint32_t value, const PortableArgument& argument);
  Index ListValue(const schema::List& list, const PortableArgument& argument);
  // Converts a scalar to the kind in the schema, whatever the literal's kind is.
  Index NumberValue(uint32_t value, const PortableArgument& argument);
  Index TensorList(std::vector<Index> tensors);

  // Equal literals share one value.
  template <class T>
  Index Literal(T literal, std::string_view content);
  Index Null() { return Literal(NullT(), ""); }
  Index Int(int64_t number);
  Index Bool(bool truth);
  Index Ints(const std::vector<int64_t>& numbers);
  template <class T>
  Index AddValue(T value) {
    auto wrapped = std::make_unique<EValueT>();
    wrapped->val.Set(std::move(value));
    plan_->values.push_back(std::move(wrapped));
    return static_cast<Index>(plan_->values.size() - 1);
  }

  void AddCall(std::string_view op, Calls arguments);
  template <class T>
  T* AddInstruction(T instruction);
  void AddSource();

  const schema::Value& Source(uint32_t value) const {
    return method_.values(static_cast<int>(value));
  }
  void Problem(std::string_view text);

  const schema::Method& method_;
  const schema::MethodDebugInfo* const debug_;
  const absl::Span<const exir::Storage> bytes_;
  const exir::OpRegistry& ops_;
  ProgramData& data_;
  exir::ProblemList& problems_;

  std::unique_ptr<ExecutionPlanT> plan_ = std::make_unique<ExecutionPlanT>();
  ChainT* chain_ = nullptr;
  bool has_placeholder_ = false;
  bool has_sources_ = false;   // the source line of at least one instruction is known
  int at_ = -1;                // the instruction being translated; -1: none
  std::vector<Index> values_;  // by value of the method; -1: literals, which have one per kind
  absl::flat_hash_map<std::string, Index> literals_;
  absl::flat_hash_map<std::string, Index> operators_;
  absl::flat_hash_set<uint32_t> row_by_row_;  // tensors that loops fill row by row
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_METHOD_TRANSLATOR_H_
