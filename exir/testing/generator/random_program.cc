#include "exir/testing/generator/random_program.h"

#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "exir/testing/generator/program_maker.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

constexpr uint64_t kMaxBytes = 1 << 20;

// Replaces about 2% of the elements by NaN or an infinity.
template <class T>
void Poison(const TensorView& tensor, Random& random) {
  T* elements = tensor.as<T>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (!random.Chance(2)) continue;
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    elements[i] = random.Chance(50)   ? std::numeric_limits<T>::quiet_NaN()
                  : random.Chance(50) ? kInfinity
                                      : -kInfinity;
  }
}

}  // namespace

RandomPrograms::RandomPrograms(Random& random, const OpRegistry& ops, const KernelRegistry& kernels,
                               std::vector<const OperatorCalls*> deck, RandomProgramOptions options)
    : random_(random),
      ops_(ops),
      kernels_(kernels),
      deck_(std::move(deck)),
      options_(std::move(options)) {}

const OperatorCalls& RandomPrograms::Deal() {
  if (next_ == deck_.size()) next_ = 0;
  // Shuffle while dealing: similar random sequences start with the same calls.
  std::swap(deck_[next_], deck_[next_ + random_.Below(deck_.size() - next_)]);
  return *deck_[next_++];
}

RandomProgram RandomPrograms::Next() {
  return ProgramMaker(random_, ops_, kernels_, options_,
                      [this]() -> const OperatorCalls& { return Deal(); })
      .Make();
}

std::vector<OwnedValue> MakeInputs(const ExportedProgram& program, Random& random,
                                   absl::Span<const SampleTensor> samples) {
  absl::btree_map<std::string, int64_t> symbols;
  for (const auto& [name, range] : program.ranges) {
    if (!name.starts_with('s')) continue;
    symbols[name] = range.min + static_cast<int64_t>(
                                    random.Below(static_cast<size_t>(range.max - range.min + 1)));
  }
  const bool poisoned = !samples.empty() && random.Chance(15);
  std::vector<OwnedValue> inputs;
  for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
    if (program.signature.inputs[i].kind != InputKind::kUserInput) continue;
    const TensorMeta& meta = *program.top().value(program.top().inputs()[i]).tensor();
    Sizes sizes;
    for (const SymExpr& size : meta.sizes) {
      sizes.push_back(*size.EvaluateInt([&](std::string_view name) {
        const auto it = symbols.find(std::string(name));
        return it == symbols.end() ? std::nullopt : std::optional<int64_t>(it->second);
      }));
    }
    const SampleTensor* sample = samples.empty() ? nullptr : &samples[inputs.size()];
    const std::optional<DimOrder> order =
        sample == nullptr ? std::nullopt : DimOrderOf(sample->sizes, sample->strides);
    absl::StatusOr<OwnedValue> input = OwnedValue::Allocate(
        meta.dtype, sizes, DenseStrides(sizes, order.value_or(ContiguousOrder(sizes.size()))),
        kMaxBytes);
    ABSL_CHECK(input.ok());
    const TensorView& view = *input->tensor();
    const size_t element = DTypeSize(meta.dtype);
    for (int64_t k = 0; k < view.numel(); ++k) {
      std::byte* to = view.as<std::byte>() + static_cast<size_t>(k) * element;
      if (sample == nullptr) {
        const double number = static_cast<double>(random.Below(33)) / 8 - 2;
        DispatchDType<kRealTypes>(meta.dtype, [&](auto tag) {
          *reinterpret_cast<CppType<tag.value>*>(to) = ConvertElement<CppType<tag.value>>(number);
        });
      } else if (!sample->bytes.empty()) {
        std::memcpy(to,
                    sample->bytes.data() + random.Below(sample->bytes.size() / element) * element,
                    element);
      }
    }
    if (poisoned && meta.dtype == DType::kFloat32) Poison<float>(view, random);
    if (poisoned && meta.dtype == DType::kFloat64) Poison<double>(view, random);
    inputs.push_back(*std::move(input));
  }
  return inputs;
}

}  // namespace belay::exir
