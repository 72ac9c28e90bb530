#include "exir/testing/program_text.h"

#include <cctype>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
    {"Q", "quantized_decomposed.quantize_per_tensor.default"},
    {"D", "quantized_decomposed.dequantize_per_tensor.default"},
    {"T", "quantized_decomposed.dequantize_per_tensor.tensor"},
    {"C", "quantized_decomposed.dequantize_per_channel.default"},
    {"G", "quantized_decomposed.dequantize_per_channel_group.default"},
    {"R", "quantized_decomposed.dequantize_per_token.default"},
    {"To", "dim_order_ops._to_dim_order_copy.default"},
    {"E", "aten.embedding.default"},
    {"P", "aten.permute_copy.default"},
    {"V", "aten.view_copy.default"},
    {"Conv", "aten.convolution.default"},
    {"Pad", "aten.constant_pad_nd.default"}};

}  // namespace

std::string Replaced(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> replacements) {
  std::string result(text);
  for (const auto& [from, to] : replacements) {
    EXPECT_GT(absl::StrReplaceAll({{ToAbsl(from), ToAbsl(to)}}, &result), 0) << from;
  }
  return result;
}

std::string WithOperators(std::string_view text) {
  std::string result;
  std::string word;  // letters after a space
  for (const char c : text) {
    if (c == '(') {
      for (const auto& [name, op] : kOperators) {
        if (word == name) {
          result.replace(result.size() - word.size(), word.size(),
                         absl::StrCat("edge.", std::string(op)));
        }
      }
    }
    const bool starts = word.empty() && !result.empty() && result.back() != ' ';
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 && !starts) {
      word += c;
    } else {
      word.clear();
    }
    result += c;
  }
  return result;
}

}  // namespace belay::exir
