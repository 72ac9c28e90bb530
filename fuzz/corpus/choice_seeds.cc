#include <cstddef>
#include <string>

#include "fuzz/corpus/seeds.h"
#include "runtime/core/random.h"
#include "runtime/core/str_cat.h"

namespace belay::fuzz {
namespace {

// Adds `count` strings of random bytes. Some have mostly small values, which generators decode as
// the common choices.
void AddRandom(Seeds& seeds, const std::string& corpus, int count, size_t size) {
  for (int i = 0; i < count; ++i) {
    Random random(1, static_cast<uint64_t>(i));
    std::string bytes(1 + random.Below(size), '\0');
    const bool plain = i % 3 == 2;
    for (char& byte : bytes) byte = static_cast<char>(plain ? random.Below(12) : random.Next());
    seeds.push_back({corpus, absl::StrCat("random_", i), std::move(bytes)});
  }
}

}  // namespace

void AddChoiceSeeds(Seeds& seeds) {
  AddRandom(seeds, "generated_program", 60, 200);
  AddRandom(seeds, "operator_call", 200, 80);
  AddRandom(seeds, "pt2_container", 30, 300);
  AddRandom(seeds, "named_data", 30, 200);
  AddRandom(seeds, "differential", 24, 60);
}

}  // namespace belay::fuzz
