#include "executorch/writer/written_file.h"

#include <cstring>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/backend/transforms/edge_to_backend_ops.h"
#include "exir/emit/emitter.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"

namespace belay::pte {

const exir::OpRegistry& Ops() {
  static const exir::OpRegistry& ops = *exir::CreateStandardOps()->release();
  return ops;
}

exir::ProgramImage Emit(const std::vector<std::pair<std::string, std::string>>& methods) {
  exir::MethodPrograms programs;
  for (const auto& [name, text] : methods) {
    programs.emplace_back(name, exir::ParseOrDie(text, Ops()));
    // The pipeline's last pass.
    EXPECT_TRUE(exir::EdgeToBackendOps().run(programs.back().second).ok());
  }
  absl::StatusOr<exir::ProgramImage> image = exir::EmitProgram(programs);
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? *std::move(image) : exir::ProgramImage();
}

File::File(const exir::ProgramImage& image, const SerializeOptions& options) {
  absl::StatusOr<exir::SerializedProgram> written = SerializeProgram(image, Ops(), options);
  EXPECT_TRUE(written.ok()) << written.status();
  if (!written.ok()) return;
  bytes = written->ToString();
  for (const exir::SerializedCompanion& companion : written->companions) {
    companion_names.push_back(companion.name);
    const size_t before = companion_bytes.size();
    for (std::string_view piece : companion.pieces) companion_bytes.append(piece);
    EXPECT_EQ(companion_bytes.size() - before, companion.size);
  }
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  EXPECT_TRUE(has_header() || VerifyProgramBuffer(verifier));
  program.reset(GetProgram(bytes.data())->UnPack());
}

uint64_t File::Number(size_t at, const std::string& in) const {
  uint64_t number = 0;
  std::memcpy(&number, in.data() + at, sizeof(number));
  return number;
}

std::string File::Value(int64_t index) const {
  if (index < 0) return "none";
  const KernelTypesUnion& v = plan().values[index]->val;
  const auto list = [&](const auto& items) {
    std::vector<std::string> texts;
    for (const int64_t item : items) texts.push_back(Value(item));
    return absl::StrCat("[", absl::StrJoin(texts, " "), "]");
  };
  switch (v.type) {
    case KernelTypes::Null:
      return "none";
    case KernelTypes::Int:
      return absl::StrCat(v.AsInt()->int_val);
    case KernelTypes::Bool:
      return v.AsBool()->bool_val ? "true" : "false";
    case KernelTypes::Double:
      return absl::StrCat("double ", v.AsDouble()->double_val);
    case KernelTypes::String:
      return absl::StrCat("'", v.AsString()->string_val, "'");
    case KernelTypes::IntList:
      return absl::StrCat("ints", list(v.AsIntList()->items));
    case KernelTypes::DoubleList:
      return absl::StrCat("doubles[", absl::StrJoin(v.AsDoubleList()->items, " "), "]");
    case KernelTypes::BoolList:
      return absl::StrCat("bools[", absl::StrJoin(v.AsBoolList()->items, " "), "]");
    case KernelTypes::TensorList:
      return absl::StrCat("tensors", list(v.AsTensorList()->items));
    case KernelTypes::OptionalTensorList:
      return absl::StrCat("optionals", list(v.AsOptionalTensorList()->items));
    default:
      return absl::StrCat("%", index);
  }
}
std::vector<std::string> File::Instructions() const {
  std::vector<std::string> texts;
  for (const auto& instruction : plan().chains[0]->instructions) {
    const InstructionArgumentsUnion& i = instruction->instr_args;
    if (const KernelCallT* call = i.AsKernelCall()) {
      const OperatorT& op = *plan().operators[call->op_index];
      std::vector<std::string> arguments;
      for (int32_t value : call->args) arguments.push_back(Value(value));
      texts.push_back(absl::StrCat(op.name, op.overload.empty() ? "" : ".", op.overload, "(",
                                   absl::StrJoin(arguments, ", "), ")"));
    } else if (const MoveCallT* move = i.AsMoveCall()) {
      texts.push_back(absl::StrCat("move ", Value(move->move_from), " -> %", move->move_to));
    } else if (const JumpFalseCallT* jump = i.AsJumpFalseCall()) {
      texts.push_back(absl::StrCat("if not ", Value(jump->cond_value_index), " goto ",
                                   jump->destination_instruction));
    }
  }
  return texts;
}

absl::Status Refusal(const exir::ProgramImage& image) {
  return SerializeProgram(image, Ops()).status();
}

}  // namespace belay::pte
