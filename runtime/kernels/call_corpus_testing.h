// The corpus calls.txt and the mutations that tests apply to its calls.
#ifndef BELAY_RUNTIME_KERNELS_CALL_CORPUS_TESTING_H_
#define BELAY_RUNTIME_KERNELS_CALL_CORPUS_TESTING_H_

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/call_testing.h"

namespace belay {

// A call to mutate.
struct CorpusCall {
  TextCall call;
  std::string result;  // empty if calls.txt does not state it
  bool has_result = false;
};

// Fixture with the calls and the kernels of both engines.
class CallCorpus : public ::testing::Test {
 protected:
  static void SetUpTestSuite();

  static KernelRegistry* reference_;
  static KernelRegistry* standard_;  // reference kernels and the preferred Highway kernels
  static std::vector<CorpusCall>* calls_;
};

// Classify a word of a call.
bool IsTensor(std::string_view text);
bool IsNumber(std::string_view text);
// Joins the words of a list. Tensors end with ";", which marks the end of their elements.
std::string ListOf(const std::vector<std::string>& elements);

// Returns whether the operator draws random numbers.
bool IsRandom(const TextCall& call);
// Returns whether two result strings are equal except for rounding: numbers within 1 %.
bool AreAlike(std::string_view a, std::string_view b);

// Variants of a tensor with one change each: dtype, elements, layout or shape.
std::vector<std::string> ChangedTensors(const std::string& text);
// Other values for an argument, some of other kinds.
std::vector<std::string> ChangedArgument(const std::string& text);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_CORPUS_TESTING_H_
