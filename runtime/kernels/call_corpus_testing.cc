#include "runtime/kernels/call_corpus_testing.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

// Expands "a{b,c}d" to "abd" and "acd".
std::vector<std::string> Alternatives(const std::string& text) {
  const size_t open = text.find('{'), close = text.find('}');
  if (open == std::string::npos) return {text};
  std::vector<std::string> all;
  const std::vector<std::string> middles =
      absl::StrSplit(text.substr(open + 1, close - open - 1), ',');
  for (const std::string& middle : middles) {
    all.push_back(text.substr(0, open) + middle + text.substr(close + 1));
  }
  return all;
}

}  // namespace

KernelRegistry* CallCorpus::reference_ = nullptr;
KernelRegistry* CallCorpus::standard_ = nullptr;
std::vector<CorpusCall>* CallCorpus::calls_ = nullptr;

void CallCorpus::SetUpTestSuite() {
  if (calls_ != nullptr) return;  // set up by another suite
  reference_ = new KernelRegistry;
  standard_ = new KernelRegistry;
  calls_ = new std::vector<CorpusCall>;
  ASSERT_OK(AddReferenceKernels(*reference_));
  ASSERT_OK(AddStandardKernels(*standard_));
  for (const std::string& line : LinesOf("runtime/kernels/calls.txt")) {
    const size_t end = line.find(" =>");
    for (const std::string& text : Alternatives(line.substr(0, end))) {
      CorpusCall& row = calls_->emplace_back();
      row.call = TextCall::Parse(text, *reference_);
      row.has_result = end != std::string::npos;
      if (row.has_result && end + 4 <= line.size()) row.result = line.substr(end + 4);
    }
  }
}

bool IsTensor(std::string_view text) {
  const size_t open = text.find('[');
  return open != 0 && open != std::string_view::npos && text.front() != '\'';
}
bool IsNumber(std::string_view text) {
  return !text.empty() && (std::isdigit(text.front()) != 0 || text.front() == '-');
}

std::string ListOf(const std::vector<std::string>& elements) {
  std::string list;
  for (const std::string& element : elements) {
    absl::StrAppend(&list, list.empty() ? "" : ",", element,
                    absl::StrContains(element, "=") ? ";" : "");
  }
  return absl::StrCat("[", list, "]");
}

bool IsRandom(const TextCall& call) {
  return call.op.starts_with("aten.rand") || call.op == "aten.native_dropout.default" ||
         call.op == "aten.poisson.default";
}

namespace {

// Skips an imaginary part that rounds to 0 next to the real part `real`.
const char* SkipNoImaginaryPart(const char* text, double real) {
  if (*text != '+' && *text != '-') return text;
  char* end = nullptr;
  const double imaginary = std::strtod(text, &end);
  const bool none =
      end != text && *end == 'j' && std::abs(imaginary) <= 1e-5 * (1 + std::abs(real));
  return none ? end + 1 : text;
}

// Absolute rounding error of complex results, which mix elements of all sizes.
double ErrorOfComplex(const std::string& text) {
  double largest = 0;
  if (!absl::StrContains(text, "j")) return 0;
  for (const char* p = text.c_str(); *p != '\0';) {
    char* end = nullptr;
    const double x = std::abs(std::strtod(p, &end));
    if (std::isfinite(x)) largest = std::max(largest, x);
    p = end == p ? p + 1 : end;
  }
  return 1e-7 * largest;
}

}  // namespace

bool AreAlike(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const std::string one(a), other(b);
  const double error = 1e-5 + ErrorOfComplex(one);
  const char *p = one.c_str(), *q = other.c_str();
  while (*p != '\0' && *q != '\0') {
    char *p_end = nullptr, *q_end = nullptr;
    const double x = std::strtod(p, &p_end), y = std::strtod(q, &q_end);
    if (p_end != p && q_end != q) {
      if (x != y && !(std::isnan(x) && std::isnan(y)) &&
          !(std::abs(x - y) <= 0.01 * std::max(std::abs(x), std::abs(y)) + error)) {
        return false;
      }
      p = p_end;
      q = q_end;
      // The text form omits imaginary parts that are exactly 0.
      const char *const after_p = SkipNoImaginaryPart(p, x), *const after_q =
                                                                 SkipNoImaginaryPart(q, y);
      if ((after_p == p) != (after_q == q)) {
        p = after_p;
        q = after_q;
      }
    } else if (*p++ != *q++) {
      return false;
    }
  }
  return *p == *q;
}

std::vector<std::string> ChangedTensors(const std::string& text) {
  const size_t open = text.find('['), close = text.find(']');
  const std::string dtype = text.substr(0, open), rest = text.substr(close + 1);
  const std::string inside = text.substr(open + 1, close - open - 1);
  std::vector<std::string> sizes = absl::StrSplit(inside, ',', absl::SkipEmpty());
  std::vector<std::string> changed;
  for (const char* other : {"f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "b8",
                            "c64", "c128", "c32", "u16", "u32", "u64", "f8e4m3fn"}) {
    if (other != dtype) changed.push_back(absl::StrCat(other, text.substr(open)));
  }
  const size_t elements = rest.find('=');
  const std::string values = elements == std::string::npos ? "" : rest.substr(elements);
  const std::optional<DType> type = DTypeFromShortName(dtype);
  const std::vector<const char*> others =
      IsFloatingPoint(*type)
          ? std::vector<const char*>{"nan", "0", "-1", "1e15,2e15", "inf,-inf", "1"}
      : *type == DType::kInt64
          ? std::vector<const char*>{"-1", "0", "1", "9223372036854775807", "-9223372036854775808"}
          : std::vector<const char*>{"-1", "0", "1", "127"};
  for (const char* elements : others) {
    changed.push_back(absl::StrCat(text.substr(0, close + 1), "=", elements));
  }
  for (const char* layout : {":t", ":g", ":r"}) {
    changed.push_back(absl::StrCat(text.substr(0, close + 1), layout, values));
  }
  if (sizes.size() == 4) changed.push_back(absl::StrCat(text.substr(0, close + 1), ":l", values));
  const auto add = [&](const std::vector<std::string>& list) {
    changed.push_back(absl::StrCat(dtype, "[", absl::StrJoin(list, ","), "]", rest));
  };
  for (size_t d = 0; d < sizes.size(); ++d) {
    for (const char* size : {"0", "1", "3", "70"}) {
      std::vector<std::string> other = sizes;
      other[d] = size;
      add(other);
    }
    std::vector<std::string> fewer = sizes;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(d));
    add(fewer);
  }
  sizes.insert(sizes.begin(), "2");
  add(sizes);
  sizes[0] = "1";
  add(sizes);
  sizes.insert(sizes.begin(), 7, "1");
  if (sizes.size() > kMaxRank) sizes.resize(kMaxRank);
  add(sizes);
  return changed;
}

std::vector<std::string> ChangedArgument(const std::string& text) {
  if (IsTensor(text)) {
    std::vector<std::string> changed = ChangedTensors(text);
    changed.push_back("none");
    return changed;
  }
  if (text == "true") return {"false", "1"};
  if (text == "false") return {"true", "0"};
  if (IsNumber(text)) {
    return {"0",
            "1",
            "-1",
            "2",
            "5",
            "-7",
            "300",
            "1.5",
            "-0.5",
            "0.0",
            "nan",
            "inf",
            "-inf",
            "1e300",
            "true",
            "none",
            "1+2j",
            "9223372036854775807",
            "-9223372036854775808",
            "4294967296"};
  }
  if (text == "none") return {"0", "1", "-1", "2", "3", "0.5", "nan", "true", "[0]", "f32[1]"};
  if (text.front() == '\'') return {"''", "'mean'", "'sum'", "'amax'", "'tanh'", "'complete'"};
  std::vector<std::string> changed;
  if (text.front() == '[') {
    const std::vector<std::string> elements =
        SplitOutsideOfBrackets(text.substr(1, text.size() - 2), ',');
    const auto list = [&](const std::vector<std::string>& parts) {
      changed.push_back(ListOf(parts));
    };
    changed.push_back("[]");
    changed.push_back("none");
    for (size_t k = 0; k < elements.size(); ++k) {
      std::vector<std::string> fewer = elements;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      list(fewer);
      std::vector<std::string> other = elements;
      for (const std::string& element :
           IsTensor(elements[k])
               ? ChangedTensors(elements[k])
               : std::vector<std::string>{"0", "1", "2", "3", "-1", "-2", "7",
                                          "9223372036854775807", "-9223372036854775808"}) {
        other[k] = element;
        list(other);
      }
    }
    std::vector<std::string> more = elements;
    for (int k = 0; k < 17 && !elements.empty(); ++k) {
      more.push_back(elements[0]);
      if (k == 0 || k == 16) list(more);
    }
  }
  for (const char* dtype : {"float32", "float64", "float16", "int64", "int8", "uint8", "bool",
                            "complex64", "complex32"}) {
    if (DTypeFromName(text).has_value()) changed.push_back(dtype);
  }
  return changed;
}

}  // namespace belay
