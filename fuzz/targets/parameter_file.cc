// Parameter files, of a program with replaceable parameters, and names of packed parameters.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "backends/cpu/runtime/packed_parameters.h"
#include "fuzz/generators/byte_source.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "fuzz/targets/test_doubles.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/test_named_data.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/parameters/parameters.h"

namespace {

using namespace belay;

// w + v, both replaceable, f32[2,3].
std::string MakeProgram() {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  uint32_t values[2];
  for (const char* key : {"v", "w"}) {
    program.AddNamedTensor(key, std::string(24, '\1'), DType::kFloat32, {2, 3});
    const uint32_t index = program.AddNamedConstant(key, 24);
    values[index] = method.Constant(index, DType::kFloat32, {2, 3});
  }
  const uint32_t sum = method.Arena(DType::kFloat32, {2, 3});
  method.Call("test.add.Tensor", {values[0], values[1]}, {sum});
  method.Output(sum);
  return program.Serialize();
}

absl::StatusOr<Program> OpenWith(const std::string& parameter_file) {
  static const std::string& file = *new std::string(MakeProgram());
  const auto bytes = [](const std::shared_ptr<const std::byte>& copy, size_t size) {
    return absl::MakeConstSpan(copy.get(), size);
  };
  const auto parameters = std::make_shared<Parameters>();
  const std::shared_ptr<const std::byte> copy = fuzz::CopyExactly(parameter_file);
  const absl::Status status =
      parameters->AddFileBytes(copy, bytes(copy, parameter_file.size()), {}, "parameters");
  if (!status.ok()) return status;
  const std::shared_ptr<const std::byte> program = fuzz::CopyExactly(file);
  return parameters->OpenBytes(program, bytes(program, file.size()), {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const BackendRegistry& backends = *new BackendRegistry;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  TestNamedData named;
  named.entries["w"] = std::string(24, '\1');
  MemoryBudget memory("delegate_bytes", uint64_t{1} << 20);
  const cpu::PackedParameters packed(named, memory);
  const absl::Status found = packed.Find("belay_cpu.packed/" + bytes).status();
  fuzz::Require(fuzz::CheckTyped("packed parameter", found, fuzz::kReaderCodes));
  for (int attempt = 0; attempt < 2; ++attempt) {
    fuzz::ByteSource inputs(bytes);
    fuzz::Require(fuzz::CheckExecution(
        OpenWith(bytes), {.kernels = fuzz::KernelDoubles(), .backends = backends}, inputs));
    if (bytes.size() < 64) break;
    FixHeader(bytes);
  }
  return 0;
}
