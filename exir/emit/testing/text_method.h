// Parses methods from text, for tests of the stages after MethodBuilder. One statement per line:
//
//   input %x: f32[4,16]           from the caller; `state %s: f32[2]`, `constant 7 %c: f32[2]`
//   %v: f32[8,8] = aten.view_copy.default(%x, [8,8])
//   [%a: f32[2,16], %b: f32[2,16]] = aten.split_copy.Tensor(%x, 2, 0)      the results are a list
//   = aten._assert_async.msg(%t)
//   %v = %u                       a move
//   jump 3
//   unless %t jump 3
//   return %v
//
// The type of a value is given at its first mention. It is a tensor in the arena, such as
// f32[?4,16]{1,0}@64#2, or a slot for a `bool` or an `int`. In the example, sizes with ? are
// dynamic with this upper bound, {1,0} is the dimension order, 64 the offset, and 2 the id of the
// symbolic sizes. Other arguments are integers, `none`, `text` and lists. An operator that begins
// with ! has effects.
#ifndef BELAY_EXIR_EMIT_TESTING_TEXT_METHOD_H_
#define BELAY_EXIR_EMIT_TESTING_TEXT_METHOD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "exir/emit/method_memory.h"

namespace belay::exir {

struct TextMethod {
  // Terminates the process if the text is invalid.
  explicit TextMethod(std::string_view text);

  // Index of the value with this name, without %.
  uint32_t operator[](std::string_view name) const;

  WrittenMethod written;
  std::map<std::string, uint32_t, std::less<>> values;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_TESTING_TEXT_METHOD_H_
