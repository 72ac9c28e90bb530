// Mutates valid files into broken ones: for the stress command, the fuzz targets and their tests.
//
//   const Mutator mutator({valid, another});
//   for (uint64_t i = 0; i < 20000; ++i) Try(mutator.Mutate(seed, i).bytes);
//
// In program files, the checksums and sizes around a mutation are usually recomputed: otherwise
// every mutation would fail at the header.
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
  kSplice,      // a range is removed, repeated, moved, or copied from another file
  kEditFields,  // edits a program file's metadata, decoded and re-encoded
};
std::string_view MutationKindName(MutationKind kind);

struct Mutation {
  MutationKind kind;
  std::string bytes;
};

// Immutable; thread-safe.
class Mutator {
 public:
  // `files` are the seeds and the donors of spliced ranges; at least one. Any bytes are allowed;
  // program files also get edits of their fields.
  explicit Mutator(std::vector<std::string> files);

  // Depends only on the files, the seed and the index. The result is at most twice the size of the
  // files plus 128 kB. Linear in the size of a file.
  Mutation Mutate(uint64_t seed, uint64_t index) const;

 private:
  std::vector<std::string> files_;
};

// Single steps, for fuzz targets with custom mutators.
bool IsProgramFile(std::string_view file);
// Recomputes the sizes and checksums in a program file's header; the metadata is clipped to the
// file. No effect on files without a header.
void FixHeader(std::string& file);
// Edits the fields of the metadata, moves the segments to their new offsets, and recomputes the
// header. Returns files unchanged if their metadata can't be decoded.
std::string EditProgramFile(Random& random, std::string_view file);
void FlipBits(Random& random, std::string& bytes);
void SetNumbers(Random& random, std::string& bytes);
void Truncate(Random& random, std::string& bytes);
// `donor` may be the original of `bytes`.
void Splice(Random& random, std::string_view donor, std::string& bytes);

}  // namespace belay::mutate

#endif  // BELAY_TOOLS_MUTATE_MUTATOR_H_
