// Collects everything in an archive that can't be imported, to be reported at once.
#ifndef BELAY_EXIR_IMPORT_UNSUPPORTED_H_
#define BELAY_EXIR_IMPORT_UNSUPPORTED_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace belay::exir {

// A name or a text of the archive for a line of the report: without what is beyond a few hundred
// bytes.
std::string Shortened(std::string_view text);

// Takes a constant amount of memory however much is added.
class UnsupportedReport {
 public:
  // `where`: "node 'mul_3' (torch.ops.aten.mul.Tensor, model.py:12)", "input 'x'". Both are
  // shortened.
  void Add(std::string_view where, std::string_view what);
  bool empty() const { return count_ == 0; }
  // OK when empty; else kUnimplemented with one line each, at most 100.
  absl::Status ToStatus() const;

 private:
  uint64_t count_ = 0;
  std::vector<std::string> lines_;  // the first of them
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_UNSUPPORTED_H_
