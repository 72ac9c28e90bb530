// Collects everything in an archive that can't be imported, to be reported at once.
#ifndef BELAY_EXIR_IMPORT_UNSUPPORTED_H_
#define BELAY_EXIR_IMPORT_UNSUPPORTED_H_

#include <string_view>

#include "absl/status/status.h"
#include "exir/ir/problem_list.h"

namespace belay::exir {

// Takes a constant amount of memory however much is added.
class UnsupportedReport {
 public:
  // `where`: "node 'mul_3' (torch.ops.aten.mul.Tensor, model.py:12)", "input 'x'".
  void Add(std::string_view where, std::string_view what) {
    problems_.Add([where] { return where; }, what);
  }
  bool empty() const { return problems_.size() == 0; }
  // OK when empty; else kUnimplemented with a line for each, as ProblemList has them.
  absl::Status ToStatus() const;

 private:
  ProblemList problems_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_UNSUPPORTED_H_
