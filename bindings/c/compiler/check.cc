// Verifies, inspects and profiles.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bindings/c/belay_compiler.h"
#include "bindings/c/compiler/compiler_handles.h"
#include "bindings/c/compiler/memory_file.h"
#include "bindings/c/execution.h"
#include "bindings/c/handles.h"
#include "exir/model_file.h"
#include "exir/pipeline.h"
#include "runtime/core/budget.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/trace/hardware_counters.h"
#include "tools/belay/command.h"
#include "tools/belay/inspect_archive.h"
#include "tools/belay/printing.h"
#include "tools/belay/profile_calls.h"
#include "tools/belay/program_file.h"
#include "tools/belay/program_json.h"
#include "tools/belay/verification.h"
#include "tools/profile/code_map.h"

namespace belay::c {
namespace {

using nlohmann::json;

// Returns the path of the file, or of a copy of its bytes.
absl::StatusOr<std::string> PathOfFile(const belay_file* file, const char* what,
                                       MemoryFiles& files) {
  if (file == nullptr) return Missing(what);
  ABSL_ASSIGN_OR_RETURN(const belay_file known, Known(file));
  return PathOf(known.path, known.bytes, known.size, what, files);
}

// Limits of a call that reads files, in proportion to them.
class WithinBudget {
 public:
  WithinBudget(const std::vector<std::string>& files, uint64_t timeout_ns,
               const belay_cancellation* cancellation)
      : scope_(&budget_) {
    uint64_t bytes = 0;
    for (const std::string& file : files) bytes += exir::SizeOfFile(file);
    if (timeout_ns != 0) budget_.deadline = DeadlineAfter(timeout_ns);
    if (cancellation != nullptr) budget_.cancel = &cancellation->cancelled;
    exir::AllowLowering({}, bytes, budget_);
  }

 private:
  Budget budget_;
  Budget::Scope scope_;
};

absl::StatusOr<std::unique_ptr<belay_bytes>> Text(const absl::StatusOr<json>& value) {
  if (!value.ok()) return value.status();
  std::unique_ptr<belay_bytes> bytes(new (std::nothrow) belay_bytes);
  if (bytes == nullptr) return NoMemory("a report");
  bytes->bytes = tools::JsonText(*value);
  return bytes;
}

struct Verified {
  bool equal;
  std::unique_ptr<belay_bytes> report;
};

absl::StatusOr<Verified> Verify(const belay_file* archive, const belay_file* program,
                                const belay_verify_options* given, MemoryFiles& files) {
  ABSL_ASSIGN_OR_RETURN(const belay_verify_options known, Known(given));
  tools::VerifyOptions options;
  ABSL_ASSIGN_OR_RETURN(options.archive, PathOfFile(archive, "the archive", files));
  ABSL_ASSIGN_OR_RETURN(options.program, PathOfFile(program, "the program", files));
  const WithinBudget budget({options.archive, options.program}, known.timeout_ns,
                            known.cancellation);
  if (known.model != nullptr) absl::StrAppend(&options.archive, ":", known.model);
  if (known.method != nullptr) options.method = known.method;
  options.seed = known.seed;
  if (known.calls < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("calls: expected at least 0, got ", known.calls));
  }
  options.calls = std::max(known.calls, 1);
  if (!(known.atol >= 0) || !(known.rtol >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("atol, rtol: expected at least 0, got ", known.atol, " and ", known.rtol));
  }
  if (known.atol != 0 || known.rtol != 0) {
    options.atol = known.atol;
    options.rtol = known.rtol;
  }
  ABSL_ASSIGN_OR_RETURN(const tools::Verification result,
                        tools::VerifyWithArchive(options, {}, {}, [](const Program&) {}));
  ABSL_ASSIGN_OR_RETURN(auto report, Text(tools::VerificationJson(result)));
  return Verified{result.equal(), std::move(report)};
}

absl::StatusOr<json> Inspect(const belay_file* file, MemoryFiles& files) {
  ABSL_ASSIGN_OR_RETURN(const std::string path, PathOfFile(file, "the file", files));
  const WithinBudget budget({path}, 0, nullptr);
  ABSL_ASSIGN_OR_RETURN(const auto mapped, MappedFile::Open(path));
  if (!tools::IsProgramFile(mapped->bytes())) return tools::ArchiveJson(path);
  ABSL_ASSIGN_OR_RETURN(const Program program, tools::OpenProgramFile(path, {}));
  return tools::ProgramJson(program);
}

absl::StatusOr<json> Profile(const belay_program* program, const belay_value* inputs,
                             size_t num_inputs, const belay_profile_options* given) {
  if (program == nullptr) return Missing("a program");
  ABSL_ASSIGN_OR_RETURN(const belay_profile_options known, Known(given));
  constexpr int32_t kDefaultRuns = 30, kMostRuns = 100'000;
  if (known.runs < 0 || known.runs > kMostRuns) {
    return absl::InvalidArgumentError(
        absl::StrCat("runs: expected 0 to ", kMostRuns, ", got ", known.runs));
  }
  HardwareCounters counters;
  constexpr size_t kMostEvents = 1'000'000;
  belay_event_log log;
  ABSL_ASSIGN_OR_RETURN(log.log, EventLog::Create(kMostEvents));
  const belay_method_options options = {.struct_size = sizeof(belay_method_options),
                                        .num_threads = known.num_threads,
                                        .log = &log,
                                        .state = nullptr,
                                        .backend_options = known.backend_options,
                                        .num_backend_options = known.num_backend_options,
                                        .banks = nullptr,
                                        .num_banks = 0,
                                        .allocator = nullptr};
  ABSL_ASSIGN_OR_RETURN(
      const auto method,
      LoadMethod(program, known.method == nullptr ? "forward" : known.method, &options));
  ABSL_RETURN_IF_ERROR(SetInputs(*method, inputs, num_inputs));
  tools::CodeMap code(*method->method);
  return tools::ProfileCalls(*method->method, *log.log, known.runs == 0 ? kDefaultRuns : known.runs,
                             counters, code);
}

}  // namespace
}  // namespace belay::c

belay_status belay_verify(const belay_file* archive, const belay_file* program,
                          const belay_verify_options* options, int32_t* equal, belay_bytes** report,
                          belay_error** error) {
  belay::c::MemoryFiles files;
  auto verified = belay::c::Verify(archive, program, options, files);
  if (!verified.ok()) return belay::c::ReportRefusal(files.WithNames(verified.status()), error);
  if (equal != nullptr) *equal = verified->equal ? 1 : 0;
  if (report != nullptr) *report = verified->report.release();
  return BELAY_OK;
}

belay_status belay_inspect(const belay_file* file, belay_bytes** json, belay_error** error) {
  if (json == nullptr) {
    return belay::c::Report(belay::c::Missing("an output pointer for the JSON"), error);
  }
  belay::c::MemoryFiles files;
  auto text = belay::c::Text(belay::c::Inspect(file, files));
  if (!text.ok()) return belay::c::ReportRefusal(files.WithNames(text.status()), error);
  *json = text->release();
  return BELAY_OK;
}

belay_status belay_profile(const belay_program* program, const belay_value* inputs,
                           size_t num_inputs, const belay_profile_options* options,
                           belay_bytes** json, belay_error** error) {
  if (json == nullptr) {
    return belay::c::Report(belay::c::Missing("an output pointer for the JSON"), error);
  }
  return belay::c::Give(belay::c::Text(belay::c::Profile(program, inputs, num_inputs, options)),
                        json, error);
}

int belay_command_line(int argc, const char* const* argv) {
  return belay::tools::RunProcessCommand(argc, argv);
}
