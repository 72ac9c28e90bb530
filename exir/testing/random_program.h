// Random edge programs, for property tests: well typed, executable, small; and a way to make those
// that show a fault smaller.
#ifndef BELAY_EXIR_TESTING_RANDOM_PROGRAM_H_
#define BELAY_EXIR_TESTING_RANDOM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/ir/exported_program.h"
#include "exir/op/op_registry.h"

namespace belay::exir {

struct RandomProgramOptions {
  int max_nodes = 20;  // of a top graph; bodies have up to 4
  bool control_flow = true;
  bool mutation = true;
  bool dynamic_sizes = true;
};

// A source of programs. All programs of one generator name their constants alike: the same name is
// the same tensor, some names share one storage. The same seed gives the same programs on every
// machine.
class RandomPrograms {
 public:
  // `ops` has the standard operators and must outlive the programs.
  RandomPrograms(uint64_t seed, const OpRegistry& ops, RandomProgramOptions options = {});
  // The choices are these bytes as long as there are some, then random: near bytes give programs
  // that are alike. For fuzzing.
  RandomPrograms(std::string_view choices, const OpRegistry& ops,
                 RandomProgramOptions options = {});

  // A program of the edge dialect that verifies. Every node has a debug handle (some share one) and
  // a Provenance::origin of its own.
  ExportedProgram Next();
  // Marks nodes (Node::delegation_tag) with "t0" to "t<tags-1>": in half of the cases runs of
  // neighbors, which always can be delegated, in the others anything.
  void Tag(ExportedProgram& program, int tags);

  // A number below `limit`; true in so many of a hundred cases.
  uint64_t Below(uint64_t limit);
  bool Chance(int percent) { return Below(100) < static_cast<uint64_t>(percent); }

 private:
  class Maker;

  void MakePool();

  std::mt19937_64 random_;
  std::string choices_;
  size_t next_choice_ = 0;
  const OpRegistry& ops_;
  RandomProgramOptions options_;
  std::vector<std::pair<std::string, ConstantTensor>> pool_;
};

// Makes the program smaller as long as it still `fails`: drops tags, outputs, and nodes, and lets
// values take the place of others of their type. Calls `fails` at most `budget` times. `fails` sees
// only programs that verify. Precondition: fails(program).
void ShrinkProgram(ExportedProgram& program,
                   const std::function<bool(const ExportedProgram&)>& fails, int budget = 2000);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_RANDOM_PROGRAM_H_
