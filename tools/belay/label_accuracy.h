// Accuracy of classifiers on labeled data, before and after quantization: --labels.
#ifndef BELAY_TOOLS_BELAY_LABEL_ACCURACY_H_
#define BELAY_TOOLS_BELAY_LABEL_ACCURACY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "nlohmann/json.hpp"
#include "tools/belay/max_sizes.h"

namespace belay::tools {

// Numbers of samples whose label has the largest score, or one of the five largest. Of equal scores,
// the first one is larger.
struct LabelAccuracy {
  uint64_t samples = 0;
  uint64_t top1_before = 0, top1 = 0;
  uint64_t top5_before = 0, top5 = 0;
  uint64_t same_class = 0;  // samples with the same class before and after

  // "360 labeled samples: top-1 97.00 %, float32 98.40 %; …"
  std::string ToString() const;
  nlohmann::json ToJson() const;
};

// Executes the calls of labeled folders with both programs. The folders of each of `paths` are the
// classes: the name is the class if all names are numbers, otherwise the position in the sorted
// names. A class has calls as CalibrationFiles::Open. Scores are the last dimension of the first
// floating-point output; each row is a sample.
//   kInvalidArgument  no folders; a class without scores; a program without floating-point output,
//                     or with different outputs
//   errors of CalibrationFiles and RunCalls
absl::StatusOr<LabelAccuracy> MeasureAccuracy(const std::vector<std::string>& paths,
                                              const MaxSizes& max_sizes, const std::string& method,
                                              const exir::ExportedProgram& before,
                                              const exir::ExportedProgram& after);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_LABEL_ACCURACY_H_
