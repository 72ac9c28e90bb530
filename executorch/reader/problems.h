// Collects the problems of a file, so that a reader reports all broken rules of a kind at once.
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
    // A broken rule takes precedence over an unsupported feature.
    if (count_ == 0 || absl::IsInvalidArgument(problem)) code_ = problem.code();
    if (++count_ <= kMostListed) messages_.emplace_back(problem.message());
  }
  bool empty() const { return count_ == 0; }
  // Joins the messages in order, at most kMostListed of them; OK if empty.
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
