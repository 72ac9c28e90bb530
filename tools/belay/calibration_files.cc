#include "tools/belay/calibration_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"
#include "tools/belay/command.h"
#include "tools/belay/printing.h"
#include "tools/belay/verified_method.h"

namespace belay::tools {
namespace {

namespace fs = std::filesystem;

bool IsNpy(const fs::path& path) { return path.extension() == ".npy"; }

// Returns the entries of a folder, sorted by name.
absl::StatusOr<std::vector<fs::path>> Entries(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    entries.push_back(it->path());
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("can't read the folder ", folder, ": ", error.message()));
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool IsInputFile(const fs::path& path) {
  return IsNpy(path) && path.filename().string().starts_with("input_");
}

// Appends the calls of one path of --calibration.
absl::Status AddCalls(const std::string& path, std::vector<std::string>& calls) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return absl::NotFoundError(absl::StrCat("cannot open ", path, ": no such file or folder"));
  }
  if (!fs::is_directory(path, error)) {
    if (!IsNpy(path)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": expected a .npy file or a folder of calibration data"));
    }
    calls.push_back(path);
    return absl::OkStatus();
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<fs::path> entries, Entries(path));
  if (std::any_of(entries.begin(), entries.end(), &IsInputFile)) {
    calls.push_back(path);
    return absl::OkStatus();
  }
  const size_t before = calls.size();
  for (const fs::path& entry : entries) {
    if (IsNpy(entry) || fs::is_directory(entry, error)) calls.push_back(entry.string());
  }
  if (calls.size() > before) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": expected calibration data: .npy files, or folders of input_<i>.npy; found none"));
}

// Whether all elements are finite, for floating-point dtypes.
bool IsFinite(const NpyArray& array) {
  bool finite = true;
  DispatchDType<kFloatTypes>(array.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    const TensorView view = array.view();
    const T* elements = view.as<T>();
    finite = std::all_of(elements, elements + view.numel(),
                         [](T x) { return std::isfinite(ConvertElement<double>(x)); });
  });
  return finite;
}

// Returns a program with the same user inputs and nothing else, except nodes with side effects: so
// that opening it does not copy weights.
exir::ExportedProgram WithInputsOnly(const exir::ExportedProgram& program) {
  exir::ExportedProgram result = program.Clone();
  exir::GraphEditor editor(result.top());
  editor.SetOutputs({});
  result.signature.outputs.clear();
  editor.EraseDeadNodes();
  const exir::Graph& graph = result.top();
  std::vector<bool> erased;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    erased.push_back(!exir::IsProvidedByCaller(result.signature.inputs[i].kind) &&
                     graph.value(graph.inputs()[i]).users.empty());
  }
  exir::EraseInputs(result, editor, [&](size_t position) { return erased[position]; });
  result.EraseUnusedBodies();
  return result;
}

}  // namespace

absl::StatusOr<CalibrationPaths> ParseCalibration(const std::vector<std::string>& options,
                                                  const std::vector<MethodOption>& methods,
                                                  std::string_view option) {
  CalibrationPaths paths;
  for (const std::string& text : options) {
    // Of several names that fit, the longest: names may have colons.
    const MethodOption* found = nullptr;
    for (const MethodOption& method : methods) {
      const bool fits = text.starts_with(absl::StrCat(method.name, ":"));
      if (fits && (found == nullptr || method.name.size() > found->name.size())) found = &method;
    }
    if (found != nullptr) {
      paths.own[found->name].push_back(text.substr(found->name.size() + 1));
      continue;
    }
    const size_t colon = text.find(':');
    std::error_code error;
    if (colon != std::string::npos && !fs::exists(text, error)) {
      std::vector<std::string> names;
      for (const MethodOption& method : methods) names.push_back(method.name);
      std::sort(names.begin(), names.end());
      return absl::InvalidArgumentError(
          absl::StrCat(absl::string_view(option.data(), option.size()), ": unknown method ",
                       Quoted(text.substr(0, colon)),
                       "; the methods are: ", OneLine(absl::StrJoin(names, ", "))));
    }
    paths.all.push_back(text);
  }
  return paths;
}

absl::StatusOr<std::unique_ptr<CalibrationFiles>> CalibrationFiles::Open(
    const std::vector<std::string>& paths, const MaxSizes& max_sizes, const std::string& method,
    const exir::ExportedProgram& program) {
  std::vector<std::string> calls;
  for (const std::string& path : paths) ABSL_RETURN_IF_ERROR(AddCalls(path, calls));
  auto files = std::unique_ptr<CalibrationFiles>(new CalibrationFiles(std::move(calls)));
  VerifyOptions lowered;
  lowered.method = method;
  ABSL_ASSIGN_OR_RETURN(files->session_,
                        OpenVerifiedMethod(lowered, max_sizes, WithInputsOnly(program), {}));
  return files;
}

absl::StatusOr<absl::Span<const EValue>> CalibrationFiles::Inputs(int call) {
  const std::string& path = calls_[static_cast<size_t>(call)];
  const MethodPlan& plan = session_->method->plan();
  std::error_code error;
  ABSL_ASSIGN_OR_RETURN(inputs_, fs::is_directory(path, error) ? InputsFromFolder(plan, path)
                                                               : InputsFromFiles(plan, {path}));
  for (size_t i = 0; i < inputs_.arrays.size(); ++i) {
    if (IsFinite(inputs_.arrays[i])) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ": input ", i, " ",
                                                   Quoted(plan.inputs[i].name),
                                                   " has elements that are NaN or infinite"));
  }
  return absl::MakeConstSpan(inputs_.values);
}

}  // namespace belay::tools
