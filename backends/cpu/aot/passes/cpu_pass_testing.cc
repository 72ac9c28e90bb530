#include "backends/cpu/aot/passes/cpu_pass_testing.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/ops/cpu_ops.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {

const exir::OpRegistry& CpuPassTestOps() {
  static const exir::OpRegistry& ops = *[] {
    absl::StatusOr<std::unique_ptr<exir::OpRegistry>> made = exir::CreateStandardOps();
    ABSL_CHECK(made.ok());
    ABSL_CHECK(AddCpuOps(**made).ok());
    return made->release();
  }();
  return ops;
}

void Fill(exir::ExportedProgram& program, const Numbers& numbers) {
  for (exir::ConstantMap* map : {&program.state_dict, &program.constants}) {
    for (auto& [name, tensor] : *map) {
      const auto fill = [&, &tensor = tensor](auto number) {
        std::vector<std::byte> bytes(tensor.view().nbytes());
        for (size_t i = 0; i < bytes.size(); i += sizeof(number)) {
          std::memcpy(bytes.data() + i, &number, sizeof(number));
        }
        tensor = *exir::ConstantTensor::Contiguous(tensor.dtype(), tensor.sizes(),
                                                   exir::Storage::Own(std::move(bytes)));
      };
      if (tensor.dtype() == DType::kInt8) fill(numbers.i8);
      if (tensor.dtype() == DType::kInt32) fill(numbers.i32);
      if (tensor.dtype() == DType::kFloat32) fill(numbers.f32);
    }
  }
}

void ExpectLeftAsItIs(std::string_view program,
                      const std::function<absl::StatusOr<bool>(exir::ExportedProgram&)>& pass,
                      const Numbers& numbers) {
  exir::ExportedProgram made = exir::ParseOrDie(program, CpuPassTestOps());
  Fill(made, numbers);
  const std::string before = exir::PrintProgram(made);
  const absl::StatusOr<bool> changed = pass(made);
  EXPECT_TRUE(changed.ok() && !*changed) << changed.status() << "\n" << program;
  EXPECT_EQ(exir::PrintProgram(made), before);
}

}  // namespace belay::cpu
