// Times of programs before and after quantization, by module: `belay quantize --times`.
#ifndef BELAY_TOOLS_BELAY_PROGRAM_TIMES_H_
#define BELAY_TOOLS_BELAY_PROGRAM_TIMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/pipeline.h"
#include "nlohmann/json.hpp"
#include "tools/belay/lowering.h"

namespace belay::tools {

// Milliseconds of a call, before and after quantization: medians of several calls.
struct ProgramTimes {
  struct Row {
    // Has the instructions whose first node is in it or in a module of it; or the name of a row of
    // ProfileJson without a module.
    std::string module;
    double before = 0, after = 0;
  };
  std::string method;
  double before = 0, after = 0;
  std::vector<Row> modules;  // the slowest one before first

  nlohmann::json ToJson() const;
  // One line for the method, and one for each of the slowest modules.
  std::string ToString() const;
};

// Lowers the edge programs before and after quantization for the backends of `lowering`, in memory,
// and executes each method with random inputs. Errors of lowering, loading and
// executing, annotated with the method.
absl::StatusOr<std::vector<ProgramTimes>> MeasureTimes(const exir::MethodPrograms& before,
                                                       const exir::MethodPrograms& after,
                                                       const Lowering& lowering);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROGRAM_TIMES_H_
