#include "tools/belay/call_inputs.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/annotate.h"
#include "runtime/core/same_value.h"
#include "runtime/core/status_macros.h"
#include "runtime/io/npy_values.h"
#include "runtime/program/metadata_path.h"

namespace belay::tools {
namespace {

std::string Describe(const MethodPlan& plan, size_t i) {
  return absl::StrCat("input ", i, " ", Quoted(plan.inputs[i].name));
}

bool IsFixed(const MethodPlan& plan, size_t i) { return !ConstantInput(plan, i).is_none(); }

// Prints the scalar that an array stands for: an int, a float or a bool.
std::string NumberText(const EValue& value) {
  if (const auto* v = value.get_if<int64_t>()) return absl::StrCat(*v);
  if (const auto* v = value.get_if<double>()) return absl::StrCat(*v);
  return *value.get_if<bool>() ? "true" : "false";
}

bool SameNumber(const EValue& a, const EValue& b) {
  const auto same = [](const auto* x, const auto* y) { return x && y && SameValue(*x, *y); };
  return same(a.get_if<int64_t>(), b.get_if<int64_t>()) ||
         same(a.get_if<bool>(), b.get_if<bool>()) || same(a.get_if<double>(), b.get_if<double>());
}

// `paths[i]` is input i's file; nullopt for the program's own value.
absl::StatusOr<CallInputs> ReadInputs(const MethodPlan& plan,
                                      const std::vector<std::optional<std::string>>& paths) {
  CallInputs inputs;
  inputs.arrays.resize(plan.inputs.size());
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    EValue value = ConstantInput(plan, i);
    if (paths[i].has_value()) {
      ABSL_ASSIGN_OR_RETURN(inputs.arrays[i], ReadNpyFile(*paths[i]));
      const absl::StatusOr<EValue> given = InputFromNpy(plan, i, inputs.arrays[i]);
      if (!given.ok()) return Annotate(given.status(), *paths[i]);
      if (IsFixed(plan, i) && !SameNumber(*given, value)) {
        return absl::InvalidArgumentError(
            absl::StrCat(*paths[i], ": ", Describe(plan, i), " was fixed at export: expected ",
                         NumberText(value), ", got ", NumberText(*given)));
      }
      value = *given;
    }
    inputs.values.push_back(value);
  }
  return inputs;
}

}  // namespace

absl::StatusOr<CallInputs> InputsFromFiles(const MethodPlan& plan,
                                           const std::vector<std::string>& files) {
  std::vector<size_t> all, free;  // inputs that accept a file, and those that require one
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    if (!InputTakesArray(plan, i)) continue;
    all.push_back(i);
    if (!IsFixed(plan, i)) free.push_back(i);
  }
  if (files.size() < free.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe(plan, free[files.size()]), " is missing: ", files.size(), " files were given"));
  }
  if (files.size() != free.size() && files.size() != all.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected ", free.size(),
        free.size() == all.size()
            ? " input files"
            : absl::StrCat(" input files, or ", all.size(), " with those fixed at export"),
        ", got ", files.size()));
  }
  const std::vector<size_t>& given = files.size() == free.size() ? free : all;
  std::vector<std::optional<std::string>> paths(plan.inputs.size());
  for (size_t k = 0; k < given.size(); ++k) paths[given[k]] = files[k];
  return ReadInputs(plan, paths);
}

absl::StatusOr<CallInputs> InputsFromFolder(const MethodPlan& plan, const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat("can't read the folder ", folder, ": ", error.message()));
  }
  std::vector<std::optional<std::string>> paths(plan.inputs.size());
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string path = entries->path().string();
    const std::string name = entries->path().filename().string();
    constexpr std::string_view kBefore = "input_", kAfter = ".npy";
    if (!name.starts_with(kBefore) || !name.ends_with(kAfter) ||
        name.size() <= kBefore.size() + kAfter.size()) {
      continue;
    }
    const std::string digits =
        name.substr(kBefore.size(), name.size() - kBefore.size() - kAfter.size());
    size_t index = 0;
    // Canonical numbers only: input_007.npy is not a valid name.
    if (!absl::SimpleAtoi(digits, &index) || absl::StrCat(index) != digits) continue;
    if (index >= plan.inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the method has ", plan.inputs.size(), " inputs"));
    }
    if (!InputTakesArray(plan, index)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", Describe(plan, index), " takes no array"));
    }
    paths[index] = path;
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("can't read the folder ", folder, ": ", error.message()));
  }
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    if (paths[i].has_value() || !InputTakesArray(plan, i) || IsFixed(plan, i)) continue;
    return absl::NotFoundError(absl::StrCat(Describe(plan, i), " is missing: expected the file ",
                                            folder, "/input_", i, ".npy"));
  }
  return ReadInputs(plan, paths);
}

absl::StatusOr<CallInputs> RandomInputs(const MethodPlan& plan, uint64_t seed,
                                        int64_t dynamic_size) {
  CallInputs inputs;
  inputs.arrays.resize(plan.inputs.size());
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    EValue value = ConstantInput(plan, i);
    if (InputTakesArray(plan, i)) {
      ABSL_ASSIGN_OR_RETURN(inputs.arrays[i], RandomInput(plan, i, seed, dynamic_size));
      ABSL_ASSIGN_OR_RETURN(value, InputFromNpy(plan, i, inputs.arrays[i]));
    }
    inputs.values.push_back(value);
  }
  return inputs;
}

std::string DescribeValue(const EValue& value) {
  if (const auto* v = value.get_if<int64_t>()) return absl::StrCat("int ", *v);
  if (const auto* v = value.get_if<double>()) return absl::StrCat("float ", *v);
  if (const auto* v = value.get_if<bool>()) return *v ? "bool true" : "bool false";
  if (const auto* v = value.get_if<TensorView>()) return v->ToString();
  if (const auto* v = value.get_if<std::string_view>()) {
    return absl::StrCat("string \"", absl::Utf8SafeCEscape(ToAbsl(*v)), "\"");
  }
  return value.KindName();
}

std::string DescribeElements(const EValue& value) {
  constexpr int64_t kMost = 16;
  const std::string type = DescribeValue(value);
  const auto* tensor = value.get_if<TensorView>();
  if (tensor == nullptr || tensor->numel() > kMost || IsComplex(tensor->dtype)) return type;
  const auto texts = [&](DType as, auto* elements) {
    const TensorView converted = TensorView::Contiguous(
        as, absl::MakeConstSpan(tensor->sizes.data(), tensor->sizes.size()), elements);
    if (!CopyElements(*tensor, converted).ok()) return type;
    return absl::StrCat(type, " = [",
                        absl::StrJoin(absl::MakeConstSpan(elements, tensor->numel()), ", "), "]");
  };
  if (IsFloatingPoint(tensor->dtype)) {
    double elements[kMost];
    return texts(DType::kFloat64, elements);
  }
  int64_t elements[kMost];
  return texts(DType::kInt64, elements);
}

}  // namespace belay::tools
