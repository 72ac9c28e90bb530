// What kernels of both engines answer to the calls of answers.txt.
#include <string>
#include <string_view>

#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/call_corpus_testing.h"
#include "runtime/kernels/call_testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST_F(CallCorpus, Answers) {
  for (const std::string& line : LinesOf("runtime/kernels/answers.txt")) {
    const size_t result = line.find(" =>"), error = line.find(" !! ");
    ASSERT_NE(result == std::string::npos, error == std::string::npos) << line;
    const TextCall call =
        TextCall::Parse(std::string_view(line).substr(0, std::min(result, error)));
    for (const KernelRegistry* kernels : {reference_, standard_}) {
      const CallOutcome outcome = RunCall(*kernels, call);
      SCOPED_TRACE(absl::StrCat(outcome.kernel, ": ", call.ToString()));
      if (error != std::string::npos) {
        const std::string wanted = line.substr(error + 4);
        const size_t colon = wanted.find(": ");
        EXPECT_THAT(outcome.ToString(), ::testing::StartsWith(wanted.substr(0, colon + 2)));
        EXPECT_THAT(outcome.ToString(), HasSubstr(wanted.substr(colon + 2)));
      } else {
        EXPECT_EQ(outcome.ToString(), line.size() > result + 4 ? line.substr(result + 4) : "");
      }
    }
  }
}

}  // namespace
}  // namespace belay
