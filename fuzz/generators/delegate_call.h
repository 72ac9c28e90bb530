// The beginning of a seed for the fuzz target of a backend's blobs.
#ifndef BELAY_FUZZ_GENERATORS_DELEGATE_CALL_H_
#define BELAY_FUZZ_GENERATORS_DELEGATE_CALL_H_

#include <string>

namespace belay::fuzz {

// What makes GenerateDelegateFile() call the `backend`-th backend with so many arguments and
// outputs, at most four and three, all of them f32[2,3]. A seed is this and a blob.
inline std::string DelegateCall(char backend, int arguments, int outputs) {
  // A float32; two dimensions, small ones, of 2 and 3; none dynamic.
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
