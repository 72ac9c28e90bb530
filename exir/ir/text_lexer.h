// Lexer of the text form (text.h) for words, numbers, strings and punctuation, and the functions
// that print them.
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

// Printing; a Lexer reads it back.

// Returns `name` itself if it is a word and not a keyword, else a quoted string.
std::string QuoteUnlessWord(std::string_view name);
// Returns `text` in quotes, with control characters and invalid UTF-8 as \xHH.
std::string Quote(std::string_view text);
// Returns the shortest string that parses to the same bits; always contains '.', 'e', "inf" or
// "nan".
std::string FormatDouble(double value);
// "(1+2j)"; "complex:[nan,2.0]" if a part is NaN.
std::string FormatComplex(std::complex<double> value);

class Lexer {
 public:
  enum class Kind : uint8_t {
    kEnd,
    kWord,         // letters, digits, '_' and '.'; does not start with a digit
    kNumber,       // digits, '.', exponent, maybe with a sign; "-inf"; maybe 'j' at its end
    kString,       // content is decoded
    kPunctuation,  // any other character
    kInvalid,      // an unterminated string or one with an invalid escape
  };

  explicit Lexer(std::string_view text) : text_(text) { Next(); }

  Kind kind() const { return kind_; }
  // The spelling; for strings the decoded content.
  std::string_view text() const {
    return kind_ == Kind::kString ? std::string_view(decoded_) : spelling_;
  }
  bool Is(char punctuation) const {
    return kind_ == Kind::kPunctuation && spelling_[0] == punctuation;
  }
  bool IsWord(std::string_view word) const { return kind_ == Kind::kWord && spelling_ == word; }
  size_t offset() const { return start_; }  // of the current token
  // Returns the first character after the current token that is not a space; 0 at the end.
  char Following() const;
  void Next();
  // Consumes raw text from the current token up to (not including) one of `stops` outside of
  // parentheses, without surrounding spaces. The next token becomes current.
  std::string_view TakeRaw(std::string_view stops);
  bool IsName() const { return kind_ == Kind::kWord || kind_ == Kind::kString; }

  // Returns kInvalidArgument with line, column, the expected production and the current token.
  absl::Status Expected(std::string_view what) const;
  // Returns kInvalidArgument with line, column and any message, at `offset`.
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

// Parse `text` completely as a number; nullopt otherwise. Integers are decimal; doubles as printed
// by FormatDouble.
std::optional<int64_t> ParseInt64(std::string_view text);
std::optional<uint64_t> ParseUint64(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_TEXT_LEXER_H_
