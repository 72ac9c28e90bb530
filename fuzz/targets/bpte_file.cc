// ExecuTorch bundled programs (.bpte): reads all test cases, and opens the program.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "executorch/reader/bundled_program.h"
#include "executorch/reader/open_program.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "runtime/core/tensor_view.h"

namespace {

using namespace belay;

// Reads every byte of the tensors.
uint64_t SumOf(const std::vector<EValue>& values) {
  uint64_t sum = 0;
  for (const EValue& value : values) {
    const TensorView* tensor = value.get_if<TensorView>();
    if (tensor == nullptr) continue;
    for (size_t i = 0; i < tensor->nbytes(); ++i) sum += tensor->as<uint8_t>()[i];
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Program::Options options;
  options.limits = fuzz::TightLimits();
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const std::shared_ptr<const std::byte> bytes = fuzz::CopyExactly(file);
  const absl::Span<const std::byte> span = absl::MakeConstSpan(bytes.get(), size);
  const absl::StatusOr<pte::BundledProgram> read = pte::BundledProgram::Read(span, options.limits);
  fuzz::Require(fuzz::CheckTyped("bundled program", read.status(), fuzz::kReaderCodes));
  if (!read.ok()) return 0;
  uint64_t sum = 0;
  for (const pte::BundledMethod& method : read->methods()) {
    for (const pte::BundledCase& test : method.cases) {
      sum += SumOf(test.inputs) + SumOf(test.expected_outputs);
    }
  }
  const absl::StatusOr<Program> opened =
      pte::OpenProgramBytes(bytes, span, pte::DataFiles(), options);
  fuzz::Require(fuzz::CheckTyped("open", opened.status(), fuzz::kReaderCodes));
  // Prevents the compiler from removing the sum.
  asm volatile("" : : "r"(sum));
  return 0;
}
