// Literals, types and arguments of the text form. Part of text.h's implementation.
#ifndef BELAY_EXIR_IR_TEXT_VALUE_PARSER_H_
#define BELAY_EXIR_IR_TEXT_VALUE_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exir/ir/argument.h"
#include "exir/ir/graph.h"
#include "exir/ir/text_lexer.h"
#include "exir/op_definition/tensor_meta.h"
#include "exir/symbolic/sym_expr.h"

namespace belay::exir {

// The largest graph or module index in arguments, to be checked against the number of graphs and
// modules.
struct HighestReference {
  int64_t index = -1;
  size_t offset = 0;  // in the text
  void Note(int64_t new_index, size_t new_offset) {
    if (new_index > index) *this = {new_index, new_offset};
  }
};

// Each function consumes the named production from the lexer, or returns kInvalidArgument with the
// position.
class ValueParser {
 public:
  explicit ValueParser(std::string_view text) : lexer_(text) {}
  Lexer& lexer() { return lexer_; }

  // Consumes the current token, of any kind, and returns its text.
  std::string Take();
  absl::Status Punctuation(char c);
  absl::Status Word(std::string_view word);
  // Consumes the character if it is the current token.
  bool TakePunctuation(char c);
  bool TakeWord(std::string_view word);
  absl::StatusOr<std::string> Name(std::string_view what);  // a word or a string
  absl::StatusOr<std::string> String(std::string_view what);
  absl::StatusOr<int64_t> Int(std::string_view what);
  absl::StatusOr<uint64_t> Unsigned(std::string_view what);
  absl::StatusOr<std::vector<int64_t>> Ints();  // "[1,2]"
  absl::StatusOr<DType> Dtype();

  absl::StatusOr<SymExpr> Expression(std::string_view stops);
  absl::StatusOr<std::vector<SymExpr>> Expressions();  // "[s0,2]"
  absl::StatusOr<ValueType> Type();
  // Values are looked up in `scope`; references graph#k and module#k are recorded, not checked.
  absl::StatusOr<Argument> ParseArgument(const absl::flat_hash_map<std::string, ValueId>& scope);

  HighestReference highest_graph, highest_module;

 private:
  absl::StatusOr<TensorMeta> Tensor(DType dtype);
  absl::Status TensorDetails(TensorMeta& meta, bool& has_strides);
  absl::StatusOr<ConstantType> Constant();
  absl::StatusOr<Device> ParseDevice();
  absl::StatusOr<Argument> Number();
  absl::StatusOr<double> Double();  // also inf, nan and nan:x7ff8000000000001
  absl::StatusOr<Argument> Complex();
  absl::StatusOr<Argument> WordLiteral();
  absl::StatusOr<uint32_t> Reference();  // "#3"
  absl::StatusOr<Argument> Nested(const absl::flat_hash_map<std::string, ValueId>& scope,
                                  int depth);

  Lexer lexer_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_TEXT_VALUE_PARSER_H_
