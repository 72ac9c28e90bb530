#include "npu_runtime.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "npu_blob.h"
#include "runtime/core/arena.h"
#include "runtime/core/byte_reader.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"

namespace npu {
namespace {

using belay::AlignedBuffer;
using belay::ByteReader;
using belay::CheckedInt;
using belay::EValue;
using belay::KernelContext;
using belay::TensorView;

class NpuHandle final : public belay::DelegateHandle {
 public:
  absl::Status Execute(KernelContext& context) override {
    ABSL_RETURN_IF_ERROR(context.CheckArity(arguments, static_cast<int>(outputs.size())));
    for (int i = 0; i < arguments; ++i) {
      ABSL_ASSIGN_OR_RETURN(const TensorView* argument, context.Tensor(i));
      // Layout and sizes equal those at Init: the program is static, and the executor follows its
      // plan.
      if (argument->sizes != registers[i].sizes || !argument->is_contiguous()) {
        return absl::InvalidArgumentError(absl::StrCat("argument ", i, " is ", argument->ToString(),
                                                       ", expected ", registers[i].ToString()));
      }
      registers[i].data = argument->data;
    }
    const auto results = absl::MakeSpan(registers).subspan(static_cast<size_t>(arguments));
    for (size_t k = 0; k < instructions.size(); ++k) {
      const TensorView& result = results[k];
      const float* a = registers[instructions[k].a].as<const float>();
      const float* b = registers[instructions[k].b].as<const float>();
      float* out = result.as<float>();
      const int64_t numel = result.numel();
      switch (instructions[k].opcode) {
        case Opcode::kAdd:
          for (int64_t i = 0; i < numel; ++i) out[i] = a[i] + b[i];
          break;
        case Opcode::kMul:
          for (int64_t i = 0; i < numel; ++i) out[i] = a[i] * b[i];
          break;
        case Opcode::kRelu:
          // NaN stays NaN, as in PyTorch.
          for (int64_t i = 0; i < numel; ++i) out[i] = a[i] < 0 ? 0 : a[i];
          break;
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorView& result = registers[outputs[i]];
      ABSL_ASSIGN_OR_RETURN(const TensorView* output,
                            context.Output(static_cast<int>(i), result.sizes));
      ABSL_RETURN_IF_ERROR(belay::CopyElements(result, *output));
    }
    return absl::OkStatus();
  }

  int arguments = 0;
  std::vector<Instruction> instructions;
  std::vector<uint32_t> outputs;  // registers
  std::vector<TensorView> registers;
  std::vector<AlignedBuffer> memory;  // of registers that instructions write
};

}  // namespace

absl::StatusOr<std::unique_ptr<belay::DelegateHandle>> NpuRuntime::Init(
    const belay::DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  // The blob is untrusted: everything is checked before use.
  ByteReader reader(blob);
  ABSL_ASSIGN_OR_RETURN(const BlobHeader header, reader.Take<BlobHeader>("the blob's header"));
  if (header.magic != kMagic) return absl::DataLossError("the blob is not an NPU1 blob");
  ABSL_ASSIGN_OR_RETURN(std::vector<Instruction> instructions,
                        reader.TakeList<Instruction>(header.instructions, "instructions"));
  ABSL_ASSIGN_OR_RETURN(std::vector<uint32_t> outputs,
                        reader.TakeList<uint32_t>(header.outputs, "outputs"));
  ABSL_RETURN_IF_ERROR(reader.ExpectEnd());
  if (context.arguments.size() != header.arguments || context.outputs.size() != header.outputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the blob has ", header.arguments, " arguments and ", header.outputs,
        " outputs, the call has ", context.arguments.size(), " and ", context.outputs.size()));
  }
  // Charges the limit that all delegates of a method share.
  const CheckedInt registers = CheckedInt(header.arguments) + CheckedInt(header.instructions);
  const CheckedInt tables = registers * CheckedInt(sizeof(TensorView) + sizeof(AlignedBuffer)) +
                            CheckedInt(static_cast<int64_t>(blob.size()));
  ABSL_RETURN_IF_ERROR(
      context.memory->Take(static_cast<uint64_t>(tables.value()), "the blob's tables"));
  auto handle = std::make_unique<NpuHandle>();
  handle->arguments = static_cast<int>(header.arguments);
  for (const EValue* argument : context.arguments) {
    const TensorView* tensor = argument->get_if<TensorView>();
    if (tensor == nullptr || tensor->dtype != belay::DType::kFloat32) {
      return absl::InvalidArgumentError("an argument is not an f32 tensor");
    }
    handle->registers.push_back(
        TensorView::Contiguous(belay::DType::kFloat32, tensor->sizes, nullptr));
  }
  handle->instructions = std::move(instructions);
  handle->outputs = std::move(outputs);
  for (const Instruction& instruction : handle->instructions) {
    const auto& registers = handle->registers;
    if (instruction.opcode < Opcode::kAdd || instruction.opcode > Opcode::kRelu) {
      return absl::UnimplementedError(
          absl::StrCat("instruction ", static_cast<uint32_t>(instruction.opcode), " is unknown"));
    }
    if (std::max(instruction.a, instruction.b) >= registers.size() ||
        registers[instruction.a].sizes != registers[instruction.b].sizes) {
      return absl::DataLossError("an instruction's operands are not registers of one size");
    }
    TensorView result = registers[instruction.a];
    ABSL_RETURN_IF_ERROR(context.memory->Take(result.nbytes(), "memory of a register"));
    ABSL_ASSIGN_OR_RETURN(AlignedBuffer memory, AlignedBuffer::Create(result.nbytes()));
    result.data = memory.data();
    handle->memory.push_back(std::move(memory));
    handle->registers.push_back(result);
  }
  for (uint32_t output : handle->outputs) {
    if (output >= handle->registers.size())
      return absl::DataLossError("an output is not a register");
  }
  return handle;
}

}  // namespace npu
