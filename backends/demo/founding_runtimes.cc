#include "backends/demo/founding_runtimes.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/core/arena.h"
#include "runtime/core/status_macros.h"

namespace belay::demo {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 28;

enum class Op : uint8_t { kSin, kMm, kAdd };
struct Instruction {
  Op op;
  int64_t numel;
};

// Takes `text` from the front; false when it is not there.
bool Take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}
std::optional<int64_t> TakeNumber(std::string_view& rest) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  return value;
}

absl::StatusOr<std::vector<Instruction>> Parse(absl::Span<const std::byte> blob) {
  std::string_view rest(reinterpret_cast<const char*>(blob.data()), blob.size());
  const auto malformed = [&] {
    return absl::DataLossError(
        absl::StrCat("the blob is malformed at byte ", blob.size() - rest.size()));
  };
  const std::optional<int64_t> count = TakeNumber(rest);
  if (!count.has_value() || !Take(rest, "version:")) return malformed();
  const std::optional<int64_t> version = TakeNumber(rest);
  if (!version.has_value() || !Take(rest, "#")) return malformed();
  if (*version != 0) {
    return absl::UnimplementedError(
        absl::StrCat("the blob has version ", *version, ", this build reads version 0"));
  }
  std::vector<Instruction> instructions;
  while (!rest.empty()) {
    if (!Take(rest, "op:demo::")) return malformed();
    Instruction instruction{};
    if (Take(rest, "aten.sin.default")) {
      instruction.op = Op::kSin;
    } else if (Take(rest, "aten.mm.default")) {
      instruction.op = Op::kMm;
    } else if (Take(rest, "aten.add.Tensor")) {
      instruction.op = Op::kAdd;
    } else {
      return absl::UnimplementedError("the blob has an operator that this build does not know");
    }
    if (!Take(rest, ", numel:")) return malformed();
    const std::optional<int64_t> numel = TakeNumber(rest);
    if (!numel.has_value() || *numel > kMaxElements ||
        !Take(rest, ", dtype:torch.float32<debug_handle>") || !TakeNumber(rest).has_value() ||
        !Take(rest, "#")) {
      return malformed();
    }
    instruction.numel = *numel;
    instructions.push_back(instruction);
  }
  if (static_cast<int64_t>(instructions.size()) != *count) return malformed();
  return instructions;
}

class CompilerDemoHandle final : public DelegateHandle {
 public:
  static absl::StatusOr<std::unique_ptr<DelegateHandle>> Create(
      const DelegateInitContext& context, std::vector<Instruction> instructions) {
    int64_t max_value = kMaxElements;
    for (const CompileSpecView& spec : context.compile_specs) {
      if (spec.key == "max_value" && spec.value.size() == 1) {
        max_value = static_cast<unsigned char>(spec.value[0]);
      }
    }
    auto handle = std::make_unique<CompilerDemoHandle>();
    size_t arguments = 1;
    int64_t largest = 0;
    for (const Instruction& instruction : instructions) {
      if (instruction.numel > max_value) {
        return absl::InvalidArgumentError(absl::StrCat("a result has ", instruction.numel,
                                                       " elements, max_value is ", max_value));
      }
      arguments += instruction.op == Op::kSin ? 0 : 1;
      largest = std::max(largest, instruction.numel);
    }
    if (instructions.empty() || context.arguments.size() != arguments ||
        context.outputs.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the blob takes ", arguments, " arguments and gives 1 output, the call has ",
                       context.arguments.size(), " and ", context.outputs.size()));
    }
    for (AlignedBuffer& buffer : handle->buffers_) {
      ABSL_ASSIGN_OR_RETURN(buffer, AlignedBuffer::Create(static_cast<uint64_t>(largest) * 4));
    }
    handle->num_arguments_ = static_cast<int>(arguments);
    handle->instructions_ = std::move(instructions);
    return std::unique_ptr<DelegateHandle>(std::move(handle));
  }

  absl::Status Execute(KernelContext& context) override {
    ABSL_RETURN_IF_ERROR(context.CheckArity(num_arguments_, 1));
    ABSL_ASSIGN_OR_RETURN(TensorView value, Argument(context, 0));
    int next = 1;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      const Instruction& instruction = instructions_[i];
      TensorView other;
      Sizes sizes = value.sizes;
      if (instruction.op != Op::kSin) {
        ABSL_ASSIGN_OR_RETURN(other, Argument(context, next++));
        const bool fits = instruction.op == Op::kAdd ? other.sizes == value.sizes
                                                     : value.rank() == 2 && other.rank() == 2 &&
                                                           value.sizes[1] == other.sizes[0];
        if (!fits) {
          return absl::InvalidArgumentError(absl::StrCat("sizes ", FormatSizes(value.sizes),
                                                         " and ", FormatSizes(other.sizes),
                                                         " do not fit"));
        }
        if (instruction.op == Op::kMm) sizes = Sizes({value.sizes[0], other.sizes[1]});
      }
      const std::optional<int64_t> numel = NumElements(sizes);
      if (numel != instruction.numel) {
        return absl::InvalidArgumentError(absl::StrCat("the result ", FormatSizes(sizes),
                                                       " has not the ", instruction.numel,
                                                       " elements that it was compiled for"));
      }
      const TensorView result =
          TensorView::Contiguous(DType::kFloat32, sizes, buffers_[i % 2].data());
      Run(instruction.op, value, other, result);
      value = result;
    }
    ABSL_ASSIGN_OR_RETURN(const TensorView* output, context.Output(0, value.sizes));
    return CopyElements(value, *output);
  }

 private:
  static absl::StatusOr<TensorView> Argument(KernelContext& context, int i) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* tensor, context.Tensor(i));
    if (tensor->dtype != DType::kFloat32 || !tensor->is_contiguous()) {
      return absl::InvalidArgumentError(
          absl::StrCat("argument ", i, " is ", tensor->ToString(), ", expected a contiguous f32"));
    }
    return *tensor;
  }

  static void Run(Op op, const TensorView& a, const TensorView& b, const TensorView& result) {
    const float* x = a.as<const float>();
    const float* y = b.as<const float>();
    auto* out = result.as<float>();
    const int64_t numel = result.numel();
    switch (op) {
      case Op::kSin:
        for (int64_t i = 0; i < numel; ++i) out[i] = x[i] - x[i] * x[i] * x[i] / 6;
        break;
      case Op::kAdd:
        for (int64_t i = 0; i < numel; ++i) out[i] = x[i] + y[i];
        break;
      case Op::kMm:
        for (int64_t i = 0; i < numel; ++i) {
          const int64_t row = i / b.sizes[1], column = i % b.sizes[1];
          double sum = 0;
          for (int64_t k = 0; k < a.sizes[1]; ++k) {
            sum += static_cast<double>(x[row * a.sizes[1] + k]) * y[k * b.sizes[1] + column];
          }
          out[i] = static_cast<float>(sum);
        }
        break;
    }
  }

  int num_arguments_ = 0;
  std::vector<Instruction> instructions_;
  AlignedBuffer buffers_[2];
};

}  // namespace

absl::StatusOr<std::unique_ptr<DelegateHandle>> CompilerDemoRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  ABSL_ASSIGN_OR_RETURN(std::vector<Instruction> instructions, Parse(blob));
  return CompilerDemoHandle::Create(context, std::move(instructions));
}

}  // namespace belay::demo
