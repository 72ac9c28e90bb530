#include "runtime/llm/tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/unicode_text.h"

namespace belay::llm {
namespace {

constexpr size_t kMaxExpression = size_t{1} << 14;
// Backtracking points of a search: these, and some per byte of the string.
constexpr uint64_t kMaxBacktracking = 1'000'000, kBacktrackingPerByte = 16;
constexpr uint32_t kMaxDepth = 100'000, kMaxHeapKilobytes = 64 << 10;

PCRE2_SPTR Bytes(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string ReasonOf(int code) {
  PCRE2_UCHAR reason[256];
  const int length = pcre2_get_error_message(code, reason, sizeof(reason));
  return length < 0
             ? absl::StrCat("error ", code)
             : std::string(reinterpret_cast<const char*>(reason), static_cast<size_t>(length));
}

struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeMatchContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

}  // namespace

struct Pattern::Compiled {
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() { pcre2_code_free(code); }
  pcre2_code* code = nullptr;
};

Pattern Pattern::String(std::string string) {
  Pattern pattern;
  pattern.string_ = std::move(string);
  return pattern;
}

absl::StatusOr<Pattern> Pattern::Regex(std::string_view expression) {
  if (expression.size() > kMaxExpression) {
    return absl::InvalidArgumentError(absl::StrCat("expected a regular expression of at most ",
                                                   kMaxExpression, " bytes, got ",
                                                   expression.size()));
  }
  auto compiled = std::make_shared<Compiled>();
  int code = 0;
  size_t offset = 0;
  compiled->code = pcre2_compile(Bytes(expression), expression.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                 &code, &offset, nullptr);
  if (compiled->code == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a regular expression: ", ReasonOf(code), " at offset ", offset));
  }
  Pattern pattern;
  pattern.compiled_ = std::move(compiled);
  return pattern;
}

absl::StatusOr<std::vector<TextRange>> Pattern::Split(std::string_view text) const {
  std::vector<TextRange> ranges;
  size_t end = 0;  // of the last range
  const auto add = [&](size_t begin, size_t match_end) {
    if (end < begin) ranges.push_back({end, begin, false});
    if (begin < match_end) ranges.push_back({begin, match_end, true});
    end = match_end;
  };
  if (compiled_ == nullptr) {
    for (size_t at = 0; !string_.empty() && (at = text.find(string_, at)) != std::string_view::npos;
         at += string_.size()) {
      add(at, at + string_.size());
    }
  } else {
    const std::unique_ptr<pcre2_match_data, FreeMatchData> match(
        pcre2_match_data_create_from_pattern(compiled_->code, nullptr));
    const std::unique_ptr<pcre2_match_context, FreeMatchContext> context(
        pcre2_match_context_create(nullptr));
    if (match == nullptr || context == nullptr) {
      return absl::ResourceExhaustedError("no memory to search a regular expression");
    }
    const uint64_t limit = kMaxBacktracking + kBacktrackingPerByte * text.size();
    pcre2_set_match_limit(context.get(),
                          static_cast<uint32_t>(std::min<uint64_t>(limit, UINT32_MAX)));
    pcre2_set_depth_limit(context.get(), kMaxDepth);
    pcre2_set_heap_limit(context.get(), kMaxHeapKilobytes);
    for (size_t at = 0; at < text.size();) {
      const int found = pcre2_match(compiled_->code, Bytes(text), text.size(), at,
                                    PCRE2_NO_UTF_CHECK, match.get(), context.get());
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0) {
        return absl::ResourceExhaustedError(
            absl::StrCat("searching a regular expression: ", ReasonOf(found)));
      }
      const size_t* const offsets = pcre2_get_ovector_pointer(match.get());
      // \K may set the begin after the end.
      const size_t begin = std::max(offsets[0], at), match_end = std::max(offsets[1], begin);
      if (begin < match_end) {
        add(begin, match_end);
        at = match_end;
      } else {
        at = begin;  // An empty match: continue after the next code point.
        if (at < text.size()) at += Utf8Length(text[at]);
      }
    }
  }
  if (end < text.size()) ranges.push_back({end, text.size(), false});
  return ranges;
}

absl::StatusOr<std::string> Pattern::Replace(std::string_view text,
                                             std::string_view replacement) const {
  ABSL_ASSIGN_OR_RETURN(const std::vector<TextRange> ranges, Split(text));
  std::string result;
  for (const TextRange& range : ranges) {
    result += range.is_match ? replacement : text.substr(range.begin, range.end - range.begin);
  }
  return result;
}

}  // namespace belay::llm
