#include "exir/constant_rules.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/backend/named_data_store.h"
#include "exir/ir/name_pattern.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// The most names in a message.
constexpr size_t kMostNames = 20;

// Calls visit(program, position) for each parameter, buffer and tensor constant.
template <class Visit>
void ForEachTensor(MethodPrograms& methods, Visit visit) {
  for (auto& [method, program] : methods) {
    for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
      if (NamesTensor(program.signature.inputs[i].kind)) visit(program, i);
    }
  }
}

bool Matches(std::string_view pattern, const ExportedProgram& program, size_t position) {
  return MatchesPattern(pattern, program.signature.inputs[position].target) ||
         MatchesPattern(pattern, program.top().value(program.top().inputs()[position]).name);
}

absl::Status UnusedPattern(const std::string& pattern, MethodPrograms& methods) {
  absl::btree_set<std::string> names;
  ForEachTensor(methods, [&](const ExportedProgram& program, size_t i) {
    names.insert(program.signature.inputs[i].target);
  });
  const auto end =
      std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames)));
  return absl::InvalidArgumentError(absl::StrCat(
      "no parameter, buffer or constant has a name like '", Printable(pattern),
      "'; there are: ", names.empty() ? "none" : absl::StrJoin(names.begin(), end, ", "),
      end == names.end() ? "" : ", …"));
}

absl::Status SetReplaceable(ExportedProgram& program, size_t position) {
  InputSpec& spec = program.signature.inputs[position];
  if (MutatedState(program.signature).contains(spec.target)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor '", spec.target, "' can't be replaceable: the program writes to it"));
  }
  spec.replaceable = true;
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyConstantRules(const ConstantRules& rules, MethodPrograms& methods) {
  if (rules.empty()) return absl::OkStatus();
  const bool all_here = std::any_of(methods.begin(), methods.end(), [](const auto& method) {
    return method.second.dialect != IrDialect::kEdge;
  });
  std::vector<bool> used(rules.files.size(), false);
  ForEachTensor(methods, [&](ExportedProgram& program, size_t i) {
    for (size_t r = rules.files.size(); r-- > 0;) {
      if (!Matches(rules.files[r].pattern, program, i)) continue;
      program.signature.inputs[i].file = rules.files[r].tag;
      used[r] = true;
    }
  });
  for (size_t r = 0; r < used.size(); ++r) {
    if (all_here && !used[r]) return UnusedPattern(rules.files[r].pattern, methods);
  }
  for (const std::string& pattern : rules.replaceable) {
    bool matched = false;
    absl::Status status;
    ForEachTensor(methods, [&](ExportedProgram& program, size_t i) {
      if (!status.ok() || !Matches(pattern, program, i)) return;
      matched = true;
      status = SetReplaceable(program, i);
    });
    ABSL_RETURN_IF_ERROR(status);
    if (all_here && !matched) return UnusedPattern(pattern, methods);
  }
  return absl::OkStatus();
}

absl::StatusOr<NamedDataOutput> ReplaceableTensors(const MethodPrograms& methods) {
  NamedDataStore store;
  for (const auto& [method, program] : methods) {
    for (InputSpec spec : program.signature.inputs) {
      const ConstantTensor* tensor = spec.replaceable ? program.FindConstant(spec) : nullptr;
      if (tensor == nullptr) continue;
      spec.file.clear();
      ABSL_RETURN_IF_ERROR(AddReplaceableData(spec, *tensor, store));
    }
  }
  if (store.output().empty()) {
    return absl::InvalidArgumentError("the programs have no replaceable tensors");
  }
  return store.output();
}

}  // namespace belay::exir
