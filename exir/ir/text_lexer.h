// Words, numbers, strings and punctuation of the text form (text.h), and how they are spelled.
#ifndef BELAY_EXIR_IR_TEXT_LEXER_H_
#define BELAY_EXIR_IR_TEXT_LEXER_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace belay::exir {

// Spelling; what a Lexer reads back.

// `name` itself when it is a word that means nothing else, else a quoted string.
std::string QuoteUnlessWord(std::string_view name);
// In quotes; control characters and bytes that are no UTF-8 as \xHH.
std::string Quote(std::string_view text);
// The shortest text that reads back to the same bits; always with '.', 'e', "inf" or "nan".
std::string FormatDouble(double value);
// "(1+2j)"; "complex:[nan,2.0]" when a part is no number.
std::string FormatComplex(std::complex<double> value);

class Lexer {
 public:
  enum class Kind : uint8_t {
    kEnd,
    kWord,         // letters, digits, '_' and '.'; does not start with a digit
    kNumber,       // digits, '.', exponent, maybe with a sign; "-inf"; maybe 'j' at its end
    kString,       // decoded
    kPunctuation,  // any other character
    kInvalid,      // a string without end or with a bad escape
  };

  explicit Lexer(std::string_view text) : text_(text) { Next(); }

  Kind kind() const { return kind_; }
  // The spelling; the decoded content of a string.
  std::string_view text() const {
    return kind_ == Kind::kString ? std::string_view(decoded_) : spelling_;
  }
  bool Is(char punctuation) const {
    return kind_ == Kind::kPunctuation && spelling_[0] == punctuation;
  }
  bool IsWord(std::string_view word) const { return kind_ == Kind::kWord && spelling_ == word; }
  size_t offset() const { return start_; }  // of the current token
  // The first character behind the current token that is no space; 0 at the end.
  char Following() const;
  void Next();
  // Takes, from the current token on, raw text up to (not including) one of `stops` outside of
  // parentheses, without spaces around. The token after it becomes current.
  std::string_view TakeRaw(std::string_view stops);
  bool IsName() const { return kind_ == Kind::kWord || kind_ == Kind::kString; }

  // kInvalidArgument with line, column, what was expected and the current token.
  absl::Status Expected(std::string_view what) const;
  // The same with any message, at `offset`.
  absl::Status ErrorAt(size_t offset, std::string_view message) const;

 private:
  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  size_t SkipSpace(size_t position) const;
  size_t EndOfNumber() const;
  void LexString();

  std::string_view text_;
  size_t start_ = 0, end_ = 0;
  Kind kind_ = Kind::kEnd;
  std::string_view spelling_;
  std::string decoded_;
  std::string_view problem_;
};

// The number, if the text is one in full. Integers are decimal; doubles as FormatDouble spells
// them.
std::optional<int64_t> ParseInt64(std::string_view text);
std::optional<uint64_t> ParseUint64(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_TEXT_LEXER_H_
