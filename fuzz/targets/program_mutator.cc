// Custom mutator of the targets whose inputs are program files: edits metadata fields and segment
// bytes, and recomputes sizes and checksums.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "tools/mutate/mutator.h"

// Provided by the fuzzing engine; absent when corpora are replayed.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size)
    __attribute__((weak));

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  belay::Random random(seed);
  const std::string_view given(reinterpret_cast<const char*>(data), size);
  if (!belay::mutate::IsProgramFile(given) || random.OneIn(20)) {
    return LLVMFuzzerMutate == nullptr ? size : LLVMFuzzerMutate(data, size, max_size);
  }
  std::string file;
  if (random.OneIn(3)) {
    file = given;
    switch (random.Below(3)) {
      case 0:
        belay::mutate::FlipBits(random, file);
        break;
      case 1:
        belay::mutate::SetNumbers(random, file);
        break;
      default:
        belay::mutate::Splice(random, given, file);
    }
  } else {
    file = belay::mutate::EditProgramFile(random, given);
  }
  if (file.size() > max_size) return size;
  belay::mutate::FixHeader(file);
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

// Inserts fields of one file into another.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                            const uint8_t* data2, size_t size2, uint8_t* out,
                                            size_t max_out_size, unsigned int seed) {
  belay::Random random(seed);
  std::string file(reinterpret_cast<const char*>(data1), size1);
  const std::string_view donor(reinterpret_cast<const char*>(data2), size2);
  belay::mutate::Splice(random, donor, file);
  belay::mutate::FixHeader(file);
  const size_t size = std::min(file.size(), max_out_size);
  std::memcpy(out, file.data(), size);
  return size;
}
