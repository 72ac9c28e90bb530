#include "tools/belay/label_accuracy.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "exir/quantize/calibration.h"
#include "runtime/core/element.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/calibration_files.h"

namespace belay::tools {
namespace {

namespace fs = std::filesystem;

using Classes = std::map<std::string, int64_t>;  // by folder, sorted

absl::Status AddClasses(const std::string& path, Classes& classes) {
  std::error_code error;
  std::map<std::string, int64_t> names;
  bool all_numbers = true;
  for (fs::directory_iterator it(path, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (!it->is_directory(error)) continue;
    int64_t number = 0;
    const std::string name = it->path().filename().string();
    all_numbers = absl::SimpleAtoi(name, &number) && number >= 0 && all_numbers;
    names.emplace(name, number);
  }
  if (error || names.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a folder of each class",
                                                   error ? ": " : "", error.message()));
  }
  int64_t position = 0;
  for (const auto& [name, number] : names) {
    classes.emplace((fs::path(path) / name).string(), all_numbers ? number : position++);
  }
  return absl::OkStatus();
}

// Returns the scores of each sample, of the first floating-point output.
absl::StatusOr<std::vector<std::vector<double>>> ScoresOf(
    absl::Span<const exir::OwnedValue> outputs) {
  for (const exir::OwnedValue& output : outputs) {
    const TensorView* view = output.tensor();
    if (view == nullptr || !kFloatTypes.contains(view->dtype) || view->rank() == 0) continue;
    const auto classes = static_cast<size_t>(view->sizes[view->rank() - 1]);
    std::vector<std::vector<double>> scores;
    DispatchDType<kFloatTypes>(view->dtype, [&](auto tag) {
      const auto* data = view->as<CppType<tag.value>>();
      for (StridedIterator<1> it(view->sizes, {view->strides}); !it.done(); it.Next()) {
        if (scores.empty() || scores.back().size() == classes) scores.emplace_back();
        scores.back().push_back(ConvertElement<double>(data[it.offset(0)]));
      }
    });
    return scores;
  }
  return absl::InvalidArgumentError("--labels: the program has no floating-point output");
}

// Returns the number of scores that are larger than that of the class.
size_t RankOf(const std::vector<double>& scores, size_t label) {
  size_t rank = 0;
  for (size_t c = 0; c < scores.size(); ++c) {
    rank += scores[c] > scores[label] || (scores[c] == scores[label] && c < label) ? 1 : 0;
  }
  return rank;
}

}  // namespace

std::string LabelAccuracy::ToString() const {
  const auto share = [&](uint64_t count) {
    return 100 * static_cast<double>(count) / static_cast<double>(std::max<uint64_t>(samples, 1));
  };
  return absl::StrFormat(
      "%d labeled samples: top-1 %.2f %%, float32 %.2f %%; top-5 %.2f %%, float32 %.2f %%; same "
      "class %.2f %%",
      samples, share(top1), share(top1_before), share(top5), share(top5_before), share(same_class));
}

nlohmann::json LabelAccuracy::ToJson() const {
  return {{"samples", samples},
          {"top1", top1},
          {"top5", top5},
          {"top1_before", top1_before},
          {"top5_before", top5_before},
          {"same_class", same_class}};
}

absl::StatusOr<LabelAccuracy> MeasureAccuracy(const std::vector<std::string>& paths,
                                              const MaxSizes& max_sizes, const std::string& method,
                                              const exir::ExportedProgram& before,
                                              const exir::ExportedProgram& after) {
  Classes classes;
  for (const std::string& path : paths) ABSL_RETURN_IF_ERROR(AddClasses(path, classes));
  std::vector<std::string> folders;
  for (const auto& [folder, label] : classes) folders.push_back(folder);
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<CalibrationFiles> files,
                        CalibrationFiles::Open(folders, max_sizes, method, before));
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddStandardKernels(kernels));
  LabelAccuracy accuracy;
  std::vector<std::vector<size_t>> predicted(static_cast<size_t>(files->calls()));
  const auto run = [&](const exir::ExportedProgram& program, uint64_t& top1, uint64_t& top5) {
    const bool first = &program == &before;
    const auto count = [&](int call, absl::Span<const exir::OwnedValue> outputs) -> absl::Status {
      const std::string path = files->Name(call);
      const auto own = classes.find(path);
      const int64_t label =
          own != classes.end() ? own->second : classes.at(fs::path(path).parent_path().string());
      ABSL_ASSIGN_OR_RETURN(const auto samples, ScoresOf(outputs));
      std::vector<size_t>& classes_before = predicted[static_cast<size_t>(call)];
      if (!first && samples.size() != classes_before.size()) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": expected ", classes_before.size(),
                                                       " rows of scores, as before ",
                                                       "quantization, got ", samples.size()));
      }
      for (size_t i = 0; i < samples.size(); ++i) {
        const std::vector<double>& scores = samples[i];
        if (static_cast<size_t>(label) >= scores.size()) {
          return absl::InvalidArgumentError(absl::StrCat(
              path, ": the class is ", label, "; the program has ", scores.size(), " scores"));
        }
        const size_t rank = RankOf(scores, static_cast<size_t>(label));
        top1 += rank == 0 ? 1 : 0;
        top5 += rank < 5 ? 1 : 0;
        const auto best =
            static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
        if (first) {
          classes_before.push_back(best);
        } else {
          ++accuracy.samples;
          accuracy.same_class += best == classes_before[i] ? 1 : 0;
        }
      }
      return absl::OkStatus();
    };
    return exir::RunCalls(program, kernels, *files, {.outputs = count}, nullptr);
  };
  ABSL_RETURN_IF_ERROR(run(before, accuracy.top1_before, accuracy.top5_before));
  ABSL_RETURN_IF_ERROR(run(after, accuracy.top1, accuracy.top5));
  return accuracy;
}

}  // namespace belay::tools
