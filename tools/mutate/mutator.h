// Makes broken files of valid ones: for the stress command, the fuzz targets and their tests.
//
//   const Mutator mutator({valid, another});
//   for (uint64_t i = 0; i < 20000; ++i) Try(mutator.Mutate(seed, i).bytes);
//
// In program files the checksums and sizes around a mutation are put right again, most of the time:
// otherwise nothing would get past the header.
#ifndef BELAY_TOOLS_MUTATE_MUTATOR_H_
#define BELAY_TOOLS_MUTATE_MUTATOR_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/random.h"

namespace belay::mutate {

enum class MutationKind : uint8_t {
  kFlipBits,    // of some bytes
  kSetNumbers,  // 1 to 8 bytes become an interesting number
  kTruncate,    // or extended
  kSplice,      // a range is removed, repeated, moved, or comes from another file
  kEditFields,  // of a program file's metadata, decoded and encoded again
};
std::string_view MutationKindName(MutationKind kind);

struct Mutation {
  MutationKind kind;
  std::string bytes;
};

// Immutable; thread-safe.
class Mutator {
 public:
  // Files to start from and to take pieces of; at least one. Any bytes will do, program files get
  // edits of their fields, too.
  explicit Mutator(std::vector<std::string> files);

  // Depends on the files, the seed and the index alone. At most twice the size of the files and
  // 128 kB. Linear in the size of a file.
  Mutation Mutate(uint64_t seed, uint64_t index) const;

 private:
  std::vector<std::string> files_;
};

// The steps, for fuzz targets with mutators of their own.
bool IsProgramFile(std::string_view file);
// Sizes and checksums in the header of a program file; the metadata ends with the file at the
// latest. No effect on files without a header.
void FixHeader(std::string& file);
// Edits the fields of the metadata, lays the segments out again as the new metadata says, and makes
// the header right. Files whose metadata can't be decoded come back as they are.
std::string EditProgramFile(Random& random, std::string_view file);
void FlipBits(Random& random, std::string& bytes);
void SetNumbers(Random& random, std::string& bytes);
void Truncate(Random& random, std::string& bytes);
// `donor` may be the bytes' own origin.
void Splice(Random& random, std::string_view donor, std::string& bytes);

}  // namespace belay::mutate

#endif  // BELAY_TOOLS_MUTATE_MUTATOR_H_
