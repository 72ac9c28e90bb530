// Captures the output and exit status of a command's function, for tests.
#ifndef BELAY_TOOLS_BELAY_CAPTURED_OUTCOME_H_
#define BELAY_TOOLS_BELAY_CAPTURED_OUTCOME_H_

#include <string>

#include "gtest/gtest.h"

namespace belay::tools {

struct Outcome {
  int status;
  std::string errors, output;  // of the standard streams
};

template <class Fn>
Outcome Capture(Fn fn) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  Outcome outcome;
  outcome.status = fn();
  outcome.output = ::testing::internal::GetCapturedStdout();
  outcome.errors = ::testing::internal::GetCapturedStderr();
  return outcome;
}

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_CAPTURED_OUTCOME_H_
