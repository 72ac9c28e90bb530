// Methods from text, for tests of the stages behind MethodBuilder. A statement a line:
//
//   input %x: f32[4,16]           what the caller gives; `state %s: f32[2]`, `constant 7 %c: f32[2]`
//   %v: f32[8,8] = aten.view_copy.default(%x, [8,8])
//   [%a: f32[2,16], %b: f32[2,16]] = aten.split_copy.Tensor(%x, 2, 0)      the results are a list
//   = aten._assert_async.msg(%t)
//   %v = %u                       a move
//   jump 3
//   unless %t jump 3
//   return %v
//
// A value has its type where it is mentioned first: a tensor in the arena, such as
// f32[?4,16]{1,0}@64#2 (sizes with ? are dynamic and at most so large, {1,0} is the order of
// dimensions, 64 the place, 2 the number of the symbolic sizes), or a slot for a `bool` or an `int`.
// Arguments besides are integers, `none`, `text` and lists. An operator that begins with ! has
// effects.
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
  // Ends the process where the text is none.
  explicit TextMethod(std::string_view text);

  // The value of that name, without %.
  uint32_t operator[](std::string_view name) const;

  WrittenMethod written;
  std::map<std::string, uint32_t, std::less<>> values;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_TESTING_TEXT_METHOD_H_
