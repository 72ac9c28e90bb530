#include <cstdint>
#include <new>
#include <optional>

#include "absl/types/span.h"
#include "bindings/c/handles.h"
#include "bindings/c/opened_program.h"
#include "executorch/reader/open_any_program.h"
#include "executorch/reader/program_kernels.h"
#include "runtime/core/status_macros.h"

namespace belay::c {

absl::StatusOr<pte::OpenOptions> OpenOptionsOf(const belay_open_options* given) {
  ABSL_ASSIGN_OR_RETURN(const belay_open_options known, Known(given));
  pte::OpenOptions options;
  if (known.copy != 0) options.program.access = FileAccess::kCopy;
  if (known.companion_root != nullptr) options.program.companion_root = known.companion_root;
  ABSL_ASSIGN_OR_RETURN(options.data_files,
                        Strings(known.data_files, known.num_data_files, "data_files"));
  Limits& limits = options.program.limits;
  if (known.limit_file_bytes != 0) limits.file_bytes = known.limit_file_bytes;
  if (known.limit_arena_bytes != 0) {
    limits.arena_bytes = limits.scratch_bytes = limits.delegate_bytes = known.limit_arena_bytes;
  }
  if (known.limit_instructions != 0) limits.executed_instructions = known.limit_instructions;
  if (known.limit_work != 0) limits.executed_work = known.limit_work;
  if (known.weight_cache != nullptr) options.weight_cache = known.weight_cache;
  return options;
}

absl::StatusOr<std::unique_ptr<belay_program>> CreateProgram(Program program) {
  std::unique_ptr<belay_program> created(new (std::nothrow) belay_program);
  if (created == nullptr) return NoMemory("a program");
  ABSL_RETURN_IF_ERROR(pte::AddProgramKernels(program, created->kernels));
  created->program = std::move(program);
  return created;
}

namespace {

absl::StatusOr<std::unique_ptr<belay_program>> OpenFile(const char* path,
                                                        const belay_open_options* given) {
  if (path == nullptr) return Missing("a path");
  ABSL_ASSIGN_OR_RETURN(const pte::OpenOptions options, OpenOptionsOf(given));
  ABSL_ASSIGN_OR_RETURN(Program program, pte::OpenAnyProgram(path, options));
  return CreateProgram(std::move(program));
}

absl::StatusOr<std::unique_ptr<belay_program>> OpenMemory(const void* bytes, size_t size,
                                                          const belay_open_options* given) {
  if (bytes == nullptr) return Missing("bytes");
  ABSL_ASSIGN_OR_RETURN(const pte::OpenOptions options, OpenOptionsOf(given));
  if (!options.data_files.empty() || options.program.access != FileAccess::kMap ||
      !options.weight_cache.empty()) {
    return absl::InvalidArgumentError(
        "expected no copy, data_files or weight_cache for a program in memory");
  }
  const auto file = absl::MakeConstSpan(static_cast<const std::byte*>(bytes), size);
  ABSL_ASSIGN_OR_RETURN(Program program, pte::OpenAnyProgramBytes(file, options.program));
  return CreateProgram(std::move(program));
}

absl::Status BankInfo(const belay_program* program, const char* method, size_t i,
                      belay_bank_info* given) {
  if (program == nullptr) return Missing("a program");
  if (method == nullptr) return Missing("the name of a method");
  ABSL_ASSIGN_OR_RETURN(const MethodPlan* plan, program->program->FindMethod(method));
  if (i >= plan->banks.size()) return OutOfRange("bank", i, plan->banks.size());
  const BankPlan& bank = plan->banks[i];
  belay_bank_info info = {};
  info.name = bank.name.c_str();
  info.bytes = bank.bytes;
  info.alignment = bank.alignment;
  return StoreKnown(info, given);
}

}  // namespace
}  // namespace belay::c

belay_status belay_program_open(const char* path, const belay_open_options* options,
                                belay_program** program, belay_error** error) {
  if (program == nullptr)
    return belay::c::Report(belay::c::Missing("an output pointer for the program"), error);
  return belay::c::Give(belay::c::OpenFile(path, options), program, error);
}

belay_status belay_program_open_bytes(const void* bytes, size_t size,
                                      const belay_open_options* options, belay_program** program,
                                      belay_error** error) {
  if (program == nullptr)
    return belay::c::Report(belay::c::Missing("an output pointer for the program"), error);
  return belay::c::Give(belay::c::OpenMemory(bytes, size, options), program, error);
}

void belay_program_free(belay_program* program) { delete program; }

size_t belay_program_num_methods(const belay_program* program) {
  return program == nullptr ? 0 : program->program->methods().size();
}

const char* belay_program_method_name(const belay_program* program, size_t i) {
  if (i >= belay_program_num_methods(program)) return nullptr;
  return program->program->methods()[i].name.c_str();
}

size_t belay_program_num_banks(const belay_program* program, const char* method) {
  if (program == nullptr || method == nullptr) return 0;
  const auto plan = program->program->FindMethod(method);
  return plan.ok() ? (*plan)->banks.size() : 0;
}

belay_status belay_program_bank(const belay_program* program, const char* method, size_t i,
                                belay_bank_info* info, belay_error** error) {
  return belay::c::Report(belay::c::BankInfo(program, method, i, info), error);
}
