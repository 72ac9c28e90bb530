// Collects everything in an archive that can't be imported, to be reported at once.
#ifndef BELAY_EXIR_IMPORT_UNSUPPORTED_H_
#define BELAY_EXIR_IMPORT_UNSUPPORTED_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace belay::exir {

class UnsupportedReport {
 public:
  // `where`: "node 'mul_3' (torch.ops.aten.mul.Tensor, model.py:12)", "input 'x'".
  void Add(std::string where, std::string what) {
    lines_.push_back(std::move(where) + ": " + std::move(what));
  }
  bool empty() const { return lines_.empty(); }
  // OK when empty; else kUnimplemented with one line each, at most 100.
  absl::Status ToStatus() const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_UNSUPPORTED_H_
