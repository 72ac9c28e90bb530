#include "executorch/reader/translated_program.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/reader/bundled_program.h"
#include "executorch/reader/memory_places.h"
#include "executorch/reader/method_facts.h"
#include "executorch/reader/method_writer.h"
#include "executorch/reader/problems.h"
#include "executorch/reader/program_file.h"
#include "executorch/reader/step_reader.h"
#include "executorch/reader/value_reader.h"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

constexpr std::string_view kFormatName = "ET12";

// Returns all plans, sorted by name.
absl::StatusOr<std::vector<const ExecutionPlan*>> SortedPlans(const ProgramFile& file,
                                                              const Limits& limits) {
  const auto& list = *file.root().execution_plan();
  if (list.size() > limits.methods) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "execution_plan: ", list.size(), " methods, the limit 'methods' is ", limits.methods));
  }
  // Strings may be shared: their sizes are added up before they are read.
  MemoryBound names;
  for (const ExecutionPlan* plan : list) {
    names.Add(1, plan->name() == nullptr ? 0 : plan->name()->size());
  }
  if (names.bytes() > limits.metadata_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("execution_plan: the methods' names have ", names.bytes(),
                     " bytes, the limit 'metadata_bytes' is ", limits.metadata_bytes));
  }
  Problems problems;
  std::vector<const ExecutionPlan*> plans;
  for (const ExecutionPlan* plan : list) {
    if (plan->name() == nullptr || plan->name()->size() == 0 ||
        !IsUtf8(plan->name()->string_view())) {
      problems.Add(absl::InvalidArgumentError(
          absl::StrCat("execution_plan[", plans.size(), "]: its name is missing or not UTF-8")));
    }
    plans.push_back(plan);
  }
  ABSL_RETURN_IF_ERROR(problems.ToStatus());
  const auto name = [](const ExecutionPlan* plan) { return plan->name()->string_view(); };
  std::sort(plans.begin(), plans.end(),
            [&](const ExecutionPlan* a, const ExecutionPlan* b) { return name(a) < name(b); });
  for (size_t i = 1; i < plans.size(); ++i) {
    if (name(plans[i]) == name(plans[i - 1])) {
      problems.Add(absl::InvalidArgumentError(
          absl::StrCat("execution_plan: the method ", Quoted(name(plans[i])), " is a duplicate")));
    }
  }
  ABSL_RETURN_IF_ERROR(problems.ToStatus());
  return plans;
}

absl::Status TranslateMethod(const ExecutionPlan& plan, const ProgramFile& file,
                             const DataFiles& data, const Limits& limits, MemoryBudget& budget,
                             PartsBuilder& parts, schema::Method& method,
                             schema::MethodDebugInfo& debug) {
  MethodFacts facts;
  facts.plan = &plan;
  facts.name = absl::StrCat("method ", Quoted(plan.name()->string_view()));
  ABSL_RETURN_IF_ERROR(ReadValues(file, data, limits, budget, facts));
  ABSL_RETURN_IF_ERROR(ReadSteps(file, limits, budget, facts));
  ABSL_RETURN_IF_ERROR(PlaceTensors(limits, facts));
  return WriteMethod(facts, parts, budget, method, debug);
}

// Returns the named data of the program and of all data files: delegates have access to both.
absl::StatusOr<std::vector<NamedDataPlan>> AllNamedData(const ProgramFile& file,
                                                        const DataFiles& data,
                                                        const Limits& limits) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<NamedDataPlan> own, file.NamedData(limits));
  std::vector<NamedDataPlan> external;
  external.reserve(data.entries().size());
  for (const auto& [key, entry] : data.entries()) {
    NamedDataPlan plan;
    plan.key = key;
    plan.bytes = entry.bytes;
    external.push_back(std::move(plan));
  }
  std::vector<NamedDataPlan> all;
  const auto by_key = [](const NamedDataPlan& a, const NamedDataPlan& b) { return a.key < b.key; };
  std::merge(own.begin(), own.end(), external.begin(), external.end(), std::back_inserter(all),
             by_key);
  Problems problems;
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].key == all[i - 1].key) {
      problems.Add(absl::InvalidArgumentError(absl::StrCat(
          "named_data: the key ", Quoted(all[i].key), " is in the program and in a data file")));
    }
  }
  ABSL_RETURN_IF_ERROR(problems.ToStatus());
  return all;
}

// Adds constants and named data, for reports, in file order; delegates' blobs were added before.
void AddOtherSegments(const ProgramFile& file, absl::Span<const NamedDataPlan> named_data,
                      std::vector<SegmentPlan>& segments) {
  const auto add = [&](SegmentPlan::Kind kind, uint64_t index) {
    const absl::StatusOr<absl::Span<const std::byte>> bytes = file.Segment(index);
    if (!bytes.ok()) return;
    SegmentPlan segment;
    segment.kind = kind;
    segment.bytes = *bytes;
    segments.push_back(std::move(segment));
  };
  add(SegmentPlan::Kind::kConstants, file.root().constant_segment()->segment_index());
  // Only the first one is used; the file may repeat it very often.
  const auto* contents = file.root().mutable_data_segments();
  if (contents != nullptr && contents->size() != 0) {
    add(SegmentPlan::Kind::kConstants, contents->Get(0)->segment_index());
  }
  if (file.root().named_data() != nullptr) {
    for (const pte::NamedData* named : *file.root().named_data()) {
      add(SegmentPlan::Kind::kNamedData, named->segment_index());
    }
  }
  // File offsets. Blobs may be stored between the tables, which are a copy.
  const auto address = [](const std::byte* at) { return reinterpret_cast<uintptr_t>(at); };
  const absl::Span<const std::byte> whole = file.flat().bytes;
  for (SegmentPlan& segment : segments) {
    // Wraps around for addresses before the file.
    const uintptr_t offset = address(segment.bytes.data()) - address(whole.data());
    segment.offset = offset <= whole.size() ? offset : 0;
    segment.alignment = 1;
  }
}

struct Owners {
  std::vector<std::shared_ptr<const void>> files;
  std::shared_ptr<const void> tables, converted;
};

absl::StatusOr<std::shared_ptr<const MappedFile>> Map(const std::string& path,
                                                      const belay::Program::Options& options) {
  ABSL_ASSIGN_OR_RETURN(
      std::shared_ptr<const MappedFile> file,
      MappedFile::Open(path, {.access = options.access, .max_bytes = options.limits.file_bytes}));
  if (options.verifier != nullptr) {
    ABSL_RETURN_IF_ERROR(options.verifier->VerifyFile(path, file->bytes()));
  }
  return file;
}

}  // namespace

absl::StatusOr<TranslatedProgram> TranslateProgram(const std::string& path,
                                                   const OpenOptions& options) {
  DataFiles data;
  for (const std::string& name : options.data_files) {
    ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, Map(name, options.program));
    const absl::Span<const std::byte> bytes = file->bytes();
    const absl::Status status = data.Add(std::move(file), bytes, options.program.limits);
    if (!status.ok()) return Annotate(status, name);
  }
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, Map(path, options.program));
  const absl::Span<const std::byte> bytes = file->bytes();
  absl::StatusOr<TranslatedProgram> program = TranslateProgramBytes(
      std::move(file), bytes, data, options.program, options.convert_delegates);
  if (program.ok()) return program;
  return Annotate(program.status(), path);
}

absl::StatusOr<TranslatedProgram> TranslateProgramBytes(
    std::shared_ptr<const void> owner, absl::Span<const std::byte> bytes, const DataFiles& data,
    const belay::Program::Options& options, const DelegateConverter& convert_delegates) {
  if (IsBundledProgram(bytes)) {
    ABSL_ASSIGN_OR_RETURN(const BundledProgram bundled,
                          BundledProgram::Read(bytes, options.limits));
    owner = bundled.owner();
    bytes = bundled.program();
  }
  TranslatedProgram program;
  program.limits = LimitsOfFile(options.limits, bytes.size() + data.file_bytes());
  const Limits& limits = program.limits;
  ABSL_ASSIGN_OR_RETURN(const ProgramFile file, ProgramFile::Read(bytes, limits));
  ABSL_ASSIGN_OR_RETURN(const std::vector<const ExecutionPlan*> plans, SortedPlans(file, limits));
  program.metadata.set_producer(kProducer);
  PartsBuilder builder(file, program.parts);
  MemoryBudget budget("metadata_bytes", limits.metadata_bytes);
  for (const ExecutionPlan* plan : plans) {
    ABSL_RETURN_IF_ERROR(TranslateMethod(*plan, file, data, limits, budget, builder,
                                         *program.metadata.add_methods(),
                                         *program.debug.add_methods()));
  }
  ProgramParts& parts = program.parts;
  ABSL_ASSIGN_OR_RETURN(parts.named_data, AllNamedData(file, data, limits));
  parts.file = bytes;
  auto owners = std::make_shared<Owners>();
  if (convert_delegates != nullptr) {
    ABSL_ASSIGN_OR_RETURN(
        owners->converted,
        ConvertDelegates(convert_delegates, limits, program.metadata, parts, program.notes));
    program.converted = owners->converted != nullptr;
  }
  AddOtherSegments(file, parts.named_data, parts.segments);
  parts.format = std::string(kFormatName);
  parts.metadata_bytes = file.flat().table_bytes;
  owners->files = data.owners();
  owners->files.push_back(std::move(owner));
  owners->tables = file.flat().tables;
  parts.owner = std::move(owners);
  return program;
}

}  // namespace belay::pte
