#include "fuzz/corpus/seeds.h"

namespace belay::fuzz {

Seeds AllSeeds() {
  Seeds seeds;
  AddProgramSeeds(seeds);
  AddPteSeeds(seeds);
  AddBlobSeeds(seeds);
  AddArchiveSeeds(seeds);
  AddTextSeeds(seeds);
  AddGgufSeeds(seeds);
  AddChoiceSeeds(seeds);
  return seeds;
}

}  // namespace belay::fuzz
