// Arguments with one integer per spatial dimension.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_PAIR_ARGUMENT_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_PAIR_ARGUMENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "exir/ir/argument.h"

namespace belay::cpu {

// Returns `count` integers from `least` to `most`; a single one is repeated. nullopt for anything
// else.
inline std::optional<exir::Argument::List> NumbersOf(const exir::Argument& argument, size_t count,
                                                     int64_t least, int64_t most) {
  const auto* list = argument.get_if<exir::Argument::List>();
  if (list == nullptr || (list->size() != 1 && list->size() != count)) return std::nullopt;
  for (const exir::Argument& element : *list) {
    const int64_t* number = element.get_if<int64_t>();
    if (number == nullptr || *number < least || *number > most) return std::nullopt;
  }
  if (list->size() == count) return *list;
  return exir::Argument::List(count, list->front());
}

// Returns two integers from `least` to 2^24; a single one is used twice. nullopt for anything else.
inline std::optional<exir::Argument::List> PairOf(const exir::Argument& argument, int64_t least) {
  return NumbersOf(argument, 2, least, int64_t{1} << 24);
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_PAIR_ARGUMENT_H_
