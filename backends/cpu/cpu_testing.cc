#include "backends/cpu/cpu_testing.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/emitter.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/module_data.h"
#include "exir/testing/programs.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::cpu {
namespace {

template <class T, class Element>
exir::ConstantTensor Filled(const exir::ConstantTensor& like, const Element& element) {
  std::vector<std::byte> bytes(like.view().nbytes());
  auto* elements = reinterpret_cast<T*>(bytes.data());
  for (int64_t i = 0; i < like.view().numel(); ++i) elements[i] = element();
  auto made = exir::ConstantTensor::Contiguous(like.dtype(), like.sizes(),
                                               exir::Storage::Own(std::move(bytes)));
  EXPECT_OK(made.status());
  return *std::move(made);
}

}  // namespace

exir::OwnedValue Tensor(DType dtype, std::vector<int64_t> sizes) {
  absl::StatusOr<exir::OwnedValue> made = exir::OwnedValue::Allocate(
      dtype, Sizes(sizes), ContiguousStrides(absl::MakeConstSpan(sizes)), uint64_t{1} << 20);
  EXPECT_OK(made.status());
  return *std::move(made);
}

exir::ExportedProgram ParseWithNumbers(std::string_view text, const exir::OpRegistry& ops,
                                       float scalar) {
  exir::ExportedProgram program = exir::ParseOrDie(text, ops);
  Random random(TestSeed());
  for (exir::ConstantMap* map : {&program.state_dict, &program.constants}) {
    for (auto& [name, tensor] : *map) {
      const bool scales = absl::StartsWith(name, "scale");
      if (tensor.dtype() == DType::kInt8) {
        const int64_t most = absl::StartsWith(name, "four") ? 7 : 127;
        tensor = Filled<int8_t>(tensor, [&] {
          return static_cast<int8_t>(int64_t(random.Next() % (2 * most + 1)) - most);
        });
      } else if (tensor.dtype() == DType::kBFloat16) {
        tensor = Filled<BFloat16>(tensor, [&] { return BFloat16(Draw(random)); });
      } else if (tensor.dtype() == DType::kFloat16) {
        tensor = Filled<Half>(tensor, [&] { return Half(Draw(random)); });
      } else if (tensor.dtype() == DType::kFloat32) {
        tensor = Filled<float>(tensor, [&] {
          if (scales) return std::ldexp(1.0f, -6 - static_cast<int>(random.Next() % 3));
          const float drawn = Draw(random);
          return tensor.sizes().empty() ? scalar : drawn;
        });
      }
    }
  }
  return program;
}

void CpuTest::SetUp() {
  ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
  ASSERT_OK(AddStandardKernels(kernels_));
  for (const exir::Backend* backend : Aot().backends) ASSERT_OK(set_.Add(backend));
  for (const BackendRuntime* runtime : Runtimes()) ASSERT_OK(registry_.Add(runtime));
}

absl::StatusOr<exir::ExportedProgram> CpuTest::Lower(const exir::ExportedProgram& program) {
  return exir::ToBackend(program, *Aot().create_partitioner(compile_specs_), set_);
}

absl::StatusOr<Program> CpuTest::Emit(exir::ExportedProgram lowered) {
  exir::MethodPrograms methods;
  methods.emplace_back("forward", std::move(lowered));
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(methods));
  return exir::OpenImage(image);
}

void CpuTest::ExpectSame(std::string_view text, const exir::CallSequence& calls, float scalar,
                         const exir::Closeness& closeness, std::vector<std::string>* operators) {
  const exir::ExportedProgram program = ParseWithNumbers(text, *ops_, scalar);
  auto interpreter = exir::Interpreter::Create(program, kernels_);
  ASSERT_OK(interpreter.status());
  auto lowered = Lower(program);
  ASSERT_OK(lowered.status());
  EXPECT_EQ(lowered->top().num_nodes(), 1u) << exir::PrintProgram(*lowered);
  if (operators != nullptr) *operators = OperatorsOf(*lowered);
  auto file = Emit(*std::move(lowered));
  ASSERT_OK(file.status());
  auto method = Method::Load(*file, "forward", kernels_, registry_);
  ASSERT_OK(method.status());
  const auto want = exir::RunCalls(*interpreter, calls);
  ASSERT_OK(want.back().status);
  const auto got = exir::RunCalls(*method, calls);
  ASSERT_OK(got.back().status);
  EXPECT_EQ(exir::FirstDifference(want, got, closeness), "");
}

std::vector<std::string> CpuTest::OperatorsOf(const exir::ExportedProgram& lowered) {
  const exir::LoweredBackendModule& module = *lowered.lowered_modules[exir::ModuleId(0)];
  const exir::ModuleData named_data(module.named_data);
  Program::Options options;
  options.named_data = &named_data;
  auto program = Program::OpenBytes(module.processed.owner, module.processed.bytes, options);
  EXPECT_OK(program.status());
  std::vector<std::string> operators = program->methods()[0].operators;
  std::sort(operators.begin(), operators.end());
  return operators;
}

}  // namespace belay::cpu
