// Prefix of a seed for the fuzz target of backends' blobs.
#ifndef BELAY_FUZZ_GENERATORS_DELEGATE_CALL_H_
#define BELAY_FUZZ_GENERATORS_DELEGATE_CALL_H_

#include <string>

namespace belay::fuzz {

// Returns the bytes that make GenerateDelegateFile() call backend number `backend` with the given
// numbers of arguments (at most four) and outputs (at most three), all of type f32[2,3]. A seed is
// this prefix followed by a blob.
inline std::string DelegateCall(char backend, int arguments, int outputs) {
  // A float32; two small dimensions, of 2 and 3; none dynamic.
  const std::string tensor("\xff\x02\xff\x02\xff\x03\x00", 7);
  std::string choices(1, backend);
  choices.push_back(static_cast<char>(arguments));
  for (int i = 0; i < arguments; ++i) choices += tensor + std::string(1, '\0');  // no scalar
  choices.push_back(static_cast<char>(outputs));
  for (int i = 0; i < outputs; ++i) choices += tensor;
  choices += std::string(2, '\0');  // neither compile specs nor named data
  return choices;
}

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_DELEGATE_CALL_H_
