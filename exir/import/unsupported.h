// Collects all unsupported content of an archive, for a single report.
#ifndef BELAY_EXIR_IMPORT_UNSUPPORTED_H_
#define BELAY_EXIR_IMPORT_UNSUPPORTED_H_

#include <string_view>

#include "absl/status/status.h"
#include "exir/ir/problem_list.h"

namespace belay::exir {

// Memory is constant, however many problems are added.
class UnsupportedReport {
 public:
  // `where`: "node 'mul_3' (torch.ops.aten.mul.Tensor, model.py:12)", "input 'x'". `nodes` is
  // that of ProblemList::Add.
  template <class... Nodes>
  void Add(std::string_view where, std::string_view what, Nodes... nodes) {
    problems_.Add([where] { return where; }, what, nodes...);
  }
  bool empty() const { return problems_.size() == 0; }
  // OK if empty; otherwise kUnimplemented with one line per problem, formatted by ProblemList.
  absl::Status ToStatus() const;

 private:
  ProblemList problems_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_UNSUPPORTED_H_
