// ExecuTorch data files (.ptd): separately, and with a program that reads a tensor from one.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "executorch/reader/data_file.h"
#include "executorch/reader/testing/pte_builder.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"

namespace {

using namespace belay;

// Its output is the tensor "w" of two floats.
std::string MakeProgram() {
  pte::PteBuilder builder;
  builder.Output(builder.External({2}, "w"));
  return builder.Serialize();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& program = *new std::string(MakeProgram());
  Program::Options options;
  options.limits = fuzz::TightLimits();
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const std::shared_ptr<const std::byte> bytes = fuzz::CopyExactly(file);
  pte::DataFiles files;
  const absl::Status added =
      files.Add(bytes, absl::MakeConstSpan(bytes.get(), size), options.limits);
  fuzz::Require(fuzz::CheckTyped("data file", added, fuzz::kReaderCodes));
  const absl::StatusOr<Program> opened = pte::OpenPte(program, options, files);
  fuzz::Require(fuzz::CheckTyped("open", opened.status(), fuzz::kReaderCodes));
  uint64_t sum = 0;
  for (const auto& [key, entry] : files.entries()) {
    for (const std::byte byte : entry.bytes) sum += static_cast<uint8_t>(byte);
  }
  // Prevents the compiler from removing the sum.
  asm volatile("" : : "r"(sum));
  return 0;
}
