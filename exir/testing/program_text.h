// Variants of programs in text form, for tests. Prefer parameters of a function that builds the
// program; use these for variants of one that is given as a whole.
#ifndef BELAY_EXIR_TESTING_PROGRAM_TEXT_H_
#define BELAY_EXIR_TESTING_PROGRAM_TEXT_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace belay::exir {

// Replaces all occurrences of each first string by the second, in order. Fails the test if there
// are none.
std::string Replaced(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> replacements);

// Expands abbreviations of edge operators in calls, "Q(%x, 0.5, 3, 0, 255, dtype:u8)":
//
//   Q, D    quantize_per_tensor, dequantize_per_tensor    T   dequantize_per_tensor.tensor
//   C, G    dequantize_per_channel, …_per_channel_group   R   dequantize_per_token
//   To      dim_order_ops._to_dim_order_copy              E   embedding
//   P, V    permute_copy, view_copy                       Conv, Pad  convolution, constant_pad_nd
std::string WithOperators(std::string_view text);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_PROGRAM_TEXT_H_
