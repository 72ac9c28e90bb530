// The calls of calls.txt and what tests change of them.
#ifndef BELAY_RUNTIME_KERNELS_CALL_CORPUS_TESTING_H_
#define BELAY_RUNTIME_KERNELS_CALL_CORPUS_TESTING_H_

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernel/kernel_registry.h"
#include "runtime/kernels/call_testing.h"

namespace belay {

// A call of which something may be changed.
struct CorpusCall {
  TextCall call;
  std::string result;  // "" when the call does not show it
  bool has_result = false;
  std::vector<std::string> names;  // of the arguments
};

// With the calls and the kernels of both engines.
class CallCorpus : public ::testing::Test {
 protected:
  static void SetUpTestSuite();

  static KernelRegistry* reference_;
  static KernelRegistry* standard_;  // the reference kernels and those that are preferred
  static std::vector<CorpusCall>* calls_;
};

// What a word of a call is.
bool IsTensor(std::string_view text);
bool IsNumber(std::string_view text);
// The words of a list, of which those that are tensors say where their elements end.
std::string ListOf(const std::vector<std::string>& elements);

// What draws numbers that nobody can foretell.
bool IsRandom(const TextCall& call);
// Whether texts of results say the same but for rounding: numbers within a part of 100.
bool AreAlike(std::string_view a, std::string_view b);

// The tensor with another dtype, other elements, another layout and shape, each alone.
std::vector<std::string> ChangedTensors(const std::string& text);
// Other values in the place of an argument; some of other kinds.
std::vector<std::string> ChangedArgument(const std::string& text);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_CORPUS_TESTING_H_
