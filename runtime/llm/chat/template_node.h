// Syntax trees of chat templates.
#ifndef BELAY_RUNTIME_LLM_CHAT_TEMPLATE_NODE_H_
#define BELAY_RUNTIME_LLM_CHAT_TEMPLATE_NODE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/llm/chat/template_value.h"

namespace belay::llm {

struct TemplateNode;
using TemplateNodePtr = std::unique_ptr<TemplateNode>;

// One node. `nodes` are its operands in the order of the comment; optional ones may be null.
struct TemplateNode {
  enum class Kind {
    // Expressions.
    kConstant,     // value
    kName,         // name
    kList,         // elements
    kTuple,        // elements
    kDict,         // key, value, key, value, …
    kAttribute,    // object; name
    kItem,         // object, index
    kSlice,        // object, start?, stop?, step?
    kCall,         // callee, arguments; named: keyword arguments
    kFilter,       // input?, arguments; name, named. Without an input: that of a filter block
    kTest,         // input, arguments; name, named
    kNegative,     // operand
    kPositive,     // operand
    kNot,          // operand
    kAnd,          // two or more operands
    kOr,           // two or more operands
    kConcat,       // two or more operands
    kBinary,       // left, right; name: + - * / // % **
    kCompare,      // left, right, …; names: operators between them
    kConditional,  // value, condition, other?
    // Statements.
    kBlock,        // statements
    kData,         // value
    kPrint,        // expression
    kIf,           // condition, block, condition, block, …, block?
    kFor,          // target, iterable, condition?, block, else block?
    kSet,          // target, value
    kSetBlock,     // target, filters?, block
    kFilterBlock,  // filters, block
    kMacro,        // block, default values; names: parameters; name
    kBreak,
    kContinue,
  };
  Kind kind = Kind::kBlock;
  int line = 1;
  int depth = 1;  // of the tree
  std::string name;
  std::vector<std::string> names;
  TemplateValue value;
  std::vector<TemplateNodePtr> nodes;
  std::vector<std::pair<std::string, TemplateNodePtr>> named;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_CHAT_TEMPLATE_NODE_H_
