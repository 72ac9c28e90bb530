// The seeds of the fuzz targets, from which their corpora start.
#ifndef BELAY_FUZZ_CORPUS_SEEDS_H_
#define BELAY_FUZZ_CORPUS_SEEDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace belay::fuzz {

struct Seed {
  std::string corpus;  // the folder
  std::string name;    // the file
  std::string bytes;
};
using Seeds = std::vector<Seed>;

// Files with names that begin like this are not made here: fuzzers found them.
inline constexpr std::string_view kFoundPrefix = "found_";

// Of all targets. The same at every call and on every machine: nothing here depends on the compiler
// of programs, on zlib, or on the order of operators.
Seeds AllSeeds();

// Of program files and what lies beside and in them.
void AddProgramSeeds(Seeds& seeds);
// Of ExecuTorch's program and data files.
void AddPteSeeds(Seeds& seeds);
void AddBlobSeeds(Seeds& seeds);
// `call`: the choices before a payload, of one argument and one output of f32[2,3].
void AddXnnpackSeeds(Seeds& seeds, const std::string& call);
void AddArchiveSeeds(Seeds& seeds);
void AddTextSeeds(Seeds& seeds);
// Of targets whose inputs are choices for a generator.
void AddChoiceSeeds(Seeds& seeds);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_CORPUS_SEEDS_H_
