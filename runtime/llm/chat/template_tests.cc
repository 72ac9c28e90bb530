// Tests of chat templates, as in "x is defined".
#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/chat/template_arguments.h"
#include "runtime/llm/chat/template_functions.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {
namespace {

using Value = TemplateValue;
using Arguments = TemplateArguments;

struct TestRow {
  std::vector<std::string_view> names;
  size_t arguments;
  absl::StatusOr<bool> (*holds)(TemplateContext&, const Value& input, const Arguments&);
};

const std::vector<TestRow>& Tests() {
  using Result = absl::StatusOr<bool>;
  using Context = TemplateContext;
  static const auto& rows = *new std::vector<TestRow>{
      {{"defined"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result { return !v.is_undefined(); }},
      {{"undefined"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result { return v.is_undefined(); }},
      {{"none"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result { return v.is_none(); }},
      {{"string"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result { return v.text() != nullptr; }},
      {{"mapping"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result { return v.mapping() != nullptr; }},
      {{"number"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result { return v.is_number(); }},
      {{"integer"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result {
         return v.get_if<int64_t>() != nullptr;
       }},
      {{"float"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result {
         return v.get_if<double>() != nullptr;
       }},
      {{"boolean"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result {
         return v.get_if<bool>() != nullptr;
       }},
      {{"true"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result {
         return v.get_if<bool>() != nullptr && *v.get_if<bool>();
       }},
      {{"false"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result {
         return v.get_if<bool>() != nullptr && !*v.get_if<bool>();
       }},
      {{"iterable"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result {
         return v.is_undefined() || v.text() != nullptr || v.sequence() != nullptr ||
                v.mapping() != nullptr;
       }},
      {{"sequence"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result {
         const TemplateSequence* list = v.sequence();
         return v.is_undefined() || v.text() != nullptr || v.mapping() != nullptr ||
                (list != nullptr && list->style <= SequenceStyle::kTuple);
       }},
      {{"callable"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result {
         return v.get_if<const TemplateNode*>() != nullptr ||
                v.get_if<TemplateFunction>() != nullptr || v.get_if<TemplateMethod>() != nullptr;
       }},
      {{"odd"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result {
         int64_t i;
         if (!v.GetInt(i)) return WrongType("an integer", v);
         return i % 2 != 0;
       }},
      {{"even"},
       0,
       [](Context&, const Value& v, const Arguments&) -> Result {
         int64_t i;
         if (!v.GetInt(i)) return WrongType("an integer", v);
         return i % 2 == 0;
       }},
      {{"divisibleby"},
       1,
       [](Context&, const Value& v, const Arguments& arguments) -> Result {
         int64_t i, by;
         if (!v.GetInt(i)) return WrongType("an integer", v);
         if (!arguments.values[0].GetInt(by) || by == 0) {
           return WrongType("an integer other than 0", arguments.values[0]);
         }
         return by == -1 || i % by == 0;
       }},
      {{"equalto", "eq", "==", "sameas"},
       1,
       [](Context& context, const Value& v, const Arguments& arguments) -> Result {
         return Equal(v, arguments.values[0], context.work);
       }},
      {{"ne", "!="},
       1,
       [](Context& context, const Value& v, const Arguments& arguments) -> Result {
         ABSL_ASSIGN_OR_RETURN(const bool equal, Equal(v, arguments.values[0], context.work));
         return !equal;
       }},
      {{"lt", "<", "lessthan"},
       1,
       [](Context& context, const Value& v, const Arguments& arguments) -> Result {
         return Less(v, arguments.values[0], context.work);
       }},
      {{"gt", ">", "greaterthan"},
       1,
       [](Context& context, const Value& v, const Arguments& arguments) -> Result {
         return Less(arguments.values[0], v, context.work);
       }},
      {{"le", "<="},
       1,
       [](Context& context, const Value& v, const Arguments& arguments) -> Result {
         return LessOrEqual(v, arguments.values[0], context.work);
       }},
      {{"ge", ">="},
       1,
       [](Context& context, const Value& v, const Arguments& arguments) -> Result {
         return LessOrEqual(arguments.values[0], v, context.work);
       }},
      {{"in"},
       1,
       [](Context& context, const Value& v, const Arguments& arguments) -> Result {
         return Contains(context, arguments.values[0], v);
       }},
  };
  return rows;
}

}  // namespace

absl::StatusOr<bool> ApplyTest(TemplateContext& context, std::string_view name, const Value& input,
                               Arguments arguments) {
  ABSL_RETURN_IF_ERROR(context.work.Charge(kStepUnits));
  for (const TestRow& row : Tests()) {
    if (std::find(row.names.begin(), row.names.end(), name) == row.names.end()) continue;
    ABSL_RETURN_IF_ERROR(arguments.Bind(name,
                                        row.arguments == 0 ? std::vector<std::string_view>()
                                                           : std::vector<std::string_view>{"other"},
                                        row.arguments));
    return row.holds(context, input, arguments);
  }
  return absl::UnimplementedError(absl::StrCat("the test ", Quoted(name), " is not supported"));
}

}  // namespace belay::llm
