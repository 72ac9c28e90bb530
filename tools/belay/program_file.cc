#include "tools/belay/program_file.h"

#include <cstring>
#include <iostream>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/cpu_backend.h"
#include "executorch/payload_import/cached_program.h"
#include "executorch/payload_import/delegate_converter.h"
#include "executorch/reader/open_any_program.h"
#include "exir/ops/standard_ops.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/file_format.h"
#include "tools/belay/printing.h"

namespace belay::tools {
namespace {

// The first bytes of Belay's magic; the others detect damage.
constexpr size_t kNameBytes = 5;

}  // namespace

pte::DelegateConverter CpuConverter(int threads) {
  return [threads](absl::Span<const pte::ForeignDelegate> delegates, const NamedDataMap& named_data,
                   const Limits& limits,
                   uint64_t file_bytes) -> absl::StatusOr<pte::ConvertedDelegates> {
    ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
    const cpu::CpuBackend backend;
    return pte::XnnpackConverter(*ops, backend, threads)(delegates, named_data, limits, file_bytes);
  };
}

bool IsProgramFile(absl::Span<const std::byte> file) {
  return pte::IsExecuTorchProgram(file) ||
         (file.size() >= kNameBytes && std::memcmp(file.data(), kMagic, kNameBytes) == 0);
}

absl::StatusOr<Program> OpenProgramFile(const std::string& path, const pte::OpenOptions& options) {
  return pte::OpenWithCache(path, options, [](std::string_view note) {
    std::cerr << "belay: warning: " << OneLine(note) << "\n";
  });
}

pte::OpenOptions OpenOptionsFor(const Program::Options& program,
                                const std::vector<std::string>& data_files,
                                const std::string& payloads, const std::string& weight_cache) {
  return {program, data_files,
          payloads == "cpu" ? CpuConverter(/*threads=*/1) : pte::DelegateConverter(), weight_cache};
}

Option PayloadsOption(std::string* payloads) {
  return {"--payloads",
          payloads,
          "executes XNNPACK delegates of an ExecuTorch program with the kernels of the CPU backend "
          "(cpu), or with XNNPACK (library)",
          {.one_of = {"cpu", "library"}}};
}

Option WeightCacheOption(std::string* weight_cache) {
  return {"--weight-cache",
          weight_cache,
          "a folder for the compiled XNNPACK delegates of ExecuTorch programs and their packed "
          "weights: later calls open them without compiling",
          {.excludes = {"--payloads"}}};
}

Option DataOption(std::vector<std::string>* data_files) {
  return {
      "--parameters,--data",
      data_files,
      "files with tensors by name: replaceable parameters (written with --stage=parameters), or "
      "data of an ExecuTorch program (.ptd) (repeatable)",
      {.repeatable = true}};
}

int64_t DynamicSizeFor(const Program& program, int64_t wanted) {
  return program.producer() == pte::kProducer ? INT64_MAX : wanted;
}

}  // namespace belay::tools
