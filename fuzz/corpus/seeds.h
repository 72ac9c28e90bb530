// The seeds of the fuzz targets' corpora.
#ifndef BELAY_FUZZ_CORPUS_SEEDS_H_
#define BELAY_FUZZ_CORPUS_SEEDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace belay::fuzz {

struct Seed {
  std::string corpus;  // folder name
  std::string name;    // file name
  std::string bytes;
};
using Seeds = std::vector<Seed>;

// Prefix of the names of files that fuzzers found. They are not generated here.
inline constexpr std::string_view kFoundPrefix = "found_";

// Returns the seeds of all targets. They are the same at every call and on every machine: nothing
// here depends on the program compiler, on zlib, or on the order of operators.
Seeds AllSeeds();

// Adds seeds of program files and their companion and embedded data.
void AddProgramSeeds(Seeds& seeds);
// Adds seeds of ExecuTorch's program and data files.
void AddPteSeeds(Seeds& seeds);
void AddBlobSeeds(Seeds& seeds);
// `call`: the generator's choices before a payload, for one argument and one output of f32[2,3].
void AddXnnpackSeeds(Seeds& seeds, const std::string& call);
void AddArchiveSeeds(Seeds& seeds);
void AddTextSeeds(Seeds& seeds);
void AddGgufSeeds(Seeds& seeds);
// Adds seeds of targets whose inputs are choices for a generator.
void AddChoiceSeeds(Seeds& seeds);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_CORPUS_SEEDS_H_
