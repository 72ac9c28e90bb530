// What is wrong with a file, collected: a reader that has found one broken rule of a kind goes on
// and tells of all of them.
#ifndef BELAY_EXECUTORCH_READER_PROBLEMS_H_
#define BELAY_EXECUTORCH_READER_PROBLEMS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {

class Problems {
 public:
  void Add(absl::Status problem) {
    if (problem.ok()) return;
    // A broken rule says more about a file than what this reader lacks.
    if (count_ == 0 || absl::IsInvalidArgument(problem)) code_ = problem.code();
    if (++count_ <= kMostListed) messages_.emplace_back(problem.message());
  }
  bool empty() const { return count_ == 0; }
  // All that was added in one, the messages in order, the first ones of very many; OK without any.
  absl::Status ToStatus() const {
    if (empty()) return absl::OkStatus();
    return absl::Status(code_, ListFirst(messages_, "; ", count_));
  }

 private:
  absl::StatusCode code_ = absl::StatusCode::kInvalidArgument;
  size_t count_ = 0;
  std::vector<std::string> messages_;  // at most kMostListed
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_PROBLEMS_H_
