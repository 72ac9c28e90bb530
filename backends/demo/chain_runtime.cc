#include "backends/demo/chain_runtime.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/demo/demo_kernels.h"
#include "runtime/core/arena.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/tensor_view.h"

namespace belay::demo {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 28;

struct NamedOp {
  std::string_view name;
  ChainOp op;
};
constexpr NamedOp kOps[] = {
    {"aten.add.Tensor", ChainOp::kAdd}, {"aten.cos.default", ChainOp::kCos},
    {"aten.div.Tensor", ChainOp::kDiv}, {"aten.mm.default", ChainOp::kMm},
    {"aten.mul.Tensor", ChainOp::kMul}, {"aten.sin.default", ChainOp::kSin},
    {"aten.sub.Tensor", ChainOp::kSub},
};

bool IsBinary(ChainOp op) {
  return op != ChainOp::kSin && op != ChainOp::kSineSeries && op != ChainOp::kCos;
}

float Unary(ChainOp op, float x) {
  switch (op) {
    case ChainOp::kSin:
      return std::sin(x);
    case ChainOp::kSineSeries:
      return x - x * x * x / 6;
    default:
      return std::cos(x);
  }
}

float Binary(ChainOp op, float x, float y) {
  switch (op) {
    case ChainOp::kAdd:
      return x + y;
    case ChainOp::kSub:
      return x - y;
    case ChainOp::kMul:
      return x * y;
    default:
      return x / y;
  }
}

class ChainHandle final : public DelegateHandle {
 public:
  ChainHandle(EventSink events, std::vector<ChainInstruction> instructions,
              std::vector<AlignedBuffer> constants, int num_arguments, AlignedBuffer a,
              AlignedBuffer b)
      : events_(events),
        instructions_(std::move(instructions)),
        constants_(std::move(constants)),
        num_arguments_(num_arguments) {
    buffers_[0] = std::move(a);
    buffers_[1] = std::move(b);
  }

  absl::Status Execute(KernelContext& context) override {
    Budget budget;
    return ExecuteWithin(context, budget);
  }

  absl::Status ExecuteWithin(KernelContext& context, Budget& budget) override {
    ABSL_RETURN_IF_ERROR(context.CheckArity(num_arguments_, 1));
    ABSL_ASSIGN_OR_RETURN(TensorView value, Argument(context, 0));
    size_t next_constant = 0;
    int next_argument = 1;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      ABSL_RETURN_IF_ERROR(budget.TakeInstruction());
      const ChainInstruction& instruction = instructions_[i];
      const int64_t begin = events_.Begin();
      TensorView other;
      Sizes sizes = value.sizes;
      if (IsBinary(instruction.op)) {
        if (next_constant < constants_.size()) {
          other =
              TensorView::Contiguous(DType::kFloat32, sizes, constants_[next_constant++].data());
        } else {
          ABSL_ASSIGN_OR_RETURN(other, Argument(context, next_argument++));
        }
        if (!Fits(instruction.op, value, other)) {
          return absl::InvalidArgumentError(absl::StrCat("sizes ", FormatSizes(value.sizes),
                                                         " and ", FormatSizes(other.sizes),
                                                         " do not fit"));
        }
        if (instruction.op == ChainOp::kMm) sizes = Sizes({value.sizes[0], other.sizes[1]});
      }
      if (NumElements(sizes) != instruction.numel) {
        return absl::InvalidArgumentError(absl::StrCat("the result ", FormatSizes(sizes),
                                                       " has not the ", instruction.numel,
                                                       " elements that it was compiled for"));
      }
      const Sizes operands[] = {value.sizes, other.sizes};
      ABSL_RETURN_IF_ERROR(budget.TakeWork(DemoWork(
          instruction.op == ChainOp::kMm ? DEMO_OP_MM : DEMO_OP_UNSPECIFIED, operands, sizes)));
      const TensorView result =
          TensorView::Contiguous(DType::kFloat32, sizes, buffers_[i % 2].data());
      Compute(instruction.op, value, other, result);
      events_.Step({.id = instruction.id}, begin);
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

  static bool Fits(ChainOp op, const TensorView& a, const TensorView& b) {
    if (op != ChainOp::kMm) return a.sizes == b.sizes;
    return a.rank() == 2 && b.rank() == 2 && a.sizes[1] == b.sizes[0];
  }

  static void Compute(ChainOp op, const TensorView& a, const TensorView& b,
                      const TensorView& result) {
    if (op == ChainOp::kMm) {
      return RunDemoKernel({.op = DEMO_OP_MM, .alpha = 1, .beta = 1}, {a, b}, result);
    }
    const float* x = a.as<const float>();
    auto* out = result.as<float>();
    const int64_t numel = result.numel();
    if (!IsBinary(op)) {
      for (int64_t i = 0; i < numel; ++i) out[i] = Unary(op, x[i]);
      return;
    }
    const float* y = b.as<const float>();
    for (int64_t i = 0; i < numel; ++i) out[i] = Binary(op, x[i], y[i]);
  }

  EventSink events_;
  std::vector<ChainInstruction> instructions_;
  std::vector<AlignedBuffer> constants_;  // aligned copies
  int num_arguments_;
  AlignedBuffer buffers_[2];
};

}  // namespace

std::optional<ChainOp> ChainOpFromName(std::string_view name) {
  for (const NamedOp& op : kOps) {
    if (op.name == name) return op.op;
  }
  return std::nullopt;
}

absl::StatusOr<int64_t> ChainNumel(const DelegateInitContext& context) {
  const TensorView* first =
      context.arguments.empty() ? nullptr : context.arguments[0]->get_if<TensorView>();
  if (first == nullptr)
    return absl::InvalidArgumentError("the call's first argument is not a tensor");
  return first->numel();
}

absl::StatusOr<std::unique_ptr<DelegateHandle>> MakeChain(
    const DelegateInitContext& context, std::vector<ChainInstruction> instructions,
    std::vector<absl::Span<const std::byte>> constants) {
  if (instructions.empty()) return absl::DataLossError("the blob has no instructions");
  size_t operands = 0;
  int64_t largest = 0;
  ABSL_ASSIGN_OR_RETURN(int64_t numel, ChainNumel(context));
  for (const ChainInstruction& instruction : instructions) {
    if (instruction.numel > kMaxElements) {
      return absl::ResourceExhaustedError(absl::StrCat("a result has ", instruction.numel,
                                                       " elements, at most ", kMaxElements,
                                                       " are possible"));
    }
    largest = std::max(largest, instruction.numel);
    if (IsBinary(instruction.op)) {
      if (operands < constants.size() &&
          (instruction.op == ChainOp::kMm || static_cast<int64_t>(constants[operands].size()) !=
                                                 numel * static_cast<int64_t>(sizeof(float)))) {
        return absl::DataLossError(absl::StrCat("constant ", operands, " of ",
                                                constants[operands].size(), " bytes does not fit ",
                                                numel, " elements"));
      }
      ++operands;
    }
    numel = instruction.numel;
  }
  if (operands < constants.size() || context.arguments.size() != 1 + operands - constants.size() ||
      context.outputs.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the blob has ", operands, " second operands and ", constants.size(),
                     " constants, and gives 1 output; the call has ", context.arguments.size(),
                     " arguments and ", context.outputs.size(), " outputs"));
  }
  std::vector<AlignedBuffer> copies;
  copies.reserve(constants.size());
  for (absl::Span<const std::byte> constant : constants) {
    ABSL_RETURN_IF_ERROR(context.memory->Take(constant.size(), "a copy of a constant"));
    ABSL_ASSIGN_OR_RETURN(AlignedBuffer copy, AlignedBuffer::Create(constant.size()));
    if (!constant.empty()) std::memcpy(copy.data(), constant.data(), constant.size());
    copies.push_back(std::move(copy));
  }
  const uint64_t bytes = static_cast<uint64_t>(largest) * sizeof(float);
  ABSL_RETURN_IF_ERROR(context.memory->Take(2 * bytes, "memory for intermediate results"));
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer a, AlignedBuffer::Create(bytes));
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer b, AlignedBuffer::Create(bytes));
  return std::make_unique<ChainHandle>(context.events, std::move(instructions), std::move(copies),
                                       static_cast<int>(context.arguments.size()), std::move(a),
                                       std::move(b));
}

}  // namespace belay::demo
