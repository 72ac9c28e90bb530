#include "conformance/lowering/open_order.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json Parse(std::string_view text) {
  absl::StatusOr<Json> json = ParseJson(text);
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *std::move(json) : Json();
}

// "0", "1.2" or "in0": a node's first result, a result, an input.
std::string Reference(std::string_view text) {
  if (text.starts_with("in")) return absl::StrCat(R"({"input":)", text.substr(2), "}");
  const size_t dot = text.find('.');
  return absl::StrCat(R"({"node":)", text.substr(0, dot), R"(,"out":)",
                      dot == text.npos ? "0" : text.substr(dot + 1), "}");
}

std::string References(const std::vector<std::string>& references) {
  std::string list;
  for (const std::string& reference : references) {
    absl::StrAppend(&list, list.empty() ? "" : ",", Reference(reference));
  }
  return absl::StrCat("[", list, "]");
}

// The entries of one graph.
class Entries {
 public:
  Entries& Inputs(int count, std::string_view shape = "[2]") {
    for (int i = 0; i < count; ++i) {
      Add(absl::StrCat(R"({"kind":"placeholder","input":"user_input","index":)", i,
                       R"(,"type":{"dtype":"float32","shape":)", shape, "}}"));
    }
    return *this;
  }
  Entries& Op(std::string_view name, const std::vector<std::string>& args) {
    return Add(absl::StrCat(R"({"kind":"op","id":)", ids_++, R"(,"op":")", name, R"(","args":)",
                            References(args), R"(,"type":null})"));
  }
  Entries& Call(int delegate, const std::vector<std::string>& args) {
    return Add(absl::StrCat(R"({"kind":"delegate","id":)", ids_++, R"(,"op":"call","delegate":)",
                            delegate, R"(,"args":)", References(args), "}"));
  }
  Entries& Cond(std::string_view path) {
    return Add(absl::StrCat(R"({"kind":"control","id":)", ids_++,
                            R"(,"op":"cond","args":[{"input":0}],"type":null,"graphs":{"true":")",
                            path, R"("}})"));
  }
  Json Return(const std::vector<std::string>& values) {
    std::string outputs;
    for (const std::string& value : values) {
      absl::StrAppend(&outputs, outputs.empty() ? "" : ",", R"({"kind":"user_output","value":)",
                      Reference(value), "}");
    }
    Add(absl::StrCat(R"({"kind":"output","outputs":[)", outputs, "]}"));
    return Parse(absl::StrCat("[", text_, "]"));
  }

 private:
  Entries& Add(const std::string& entry) {
    absl::StrAppend(&text_, text_.empty() ? "" : ",", entry);
    return *this;
  }
  std::string text_;
  int ids_ = 0;
};

LoweredForm Form(Json top, std::vector<Json> delegates) {
  LoweredForm form;
  form.methods["forward"] = Json::Object{{"", std::move(top)}};
  for (Json& program : delegates) {
    form.delegates.push_back({"B", Json::Array(), Json::Object{{"", std::move(program)}}, ""});
  }
  return form;
}

std::string Show(const LoweredForm& form) {
  std::string text;
  for (const auto& [name, graphs] : form.methods) absl::StrAppend(&text, graphs.Dump(), "\n");
  for (const auto& delegate : form.delegates) absl::StrAppend(&text, delegate.graphs.Dump(), "\n");
  return text;
}

const OpenOrder kTopOpen = {{{"forward", ""}}, {}};

TEST(InOrderOfTest, NodesAndDelegatesOfAnOpenGraph) {
  const Json sin = Entries().Inputs(1).Op("sin", {"in0"}).Return({"0"});
  const Json cos = Entries().Inputs(1).Op("cos", {"in0"}).Return({"0"});
  const LoweredForm expected = Form(Entries()
                                        .Inputs(1)
                                        .Op("exp", {"in0"})
                                        .Call(0, {"in0"})
                                        .Call(1, {"in0"})
                                        .Return({"2", "1", "0"}),
                                    {sin, cos});
  const LoweredForm came = Form(Entries()
                                    .Inputs(1)
                                    .Call(0, {"in0"})
                                    .Op("exp", {"in0"})
                                    .Call(1, {"in0"})
                                    .Return({"0", "2", "1"}),
                                {cos, sin});
  const Reordered ordered = InOrderOf(expected, kTopOpen, came);
  EXPECT_EQ(Show(ordered.form), Show(expected));
  EXPECT_THAT(ordered.numbers, ElementsAre(1, 0));
  EXPECT_THAT(ordered.changed, ElementsAre(false, false));
  EXPECT_TRUE(ordered.any_moved());
  EXPECT_EQ(ordered.wrong_order, "");
  // Delegates of an exact graph don't change places, and neither do its nodes.
  const Reordered exact = InOrderOf(expected, {}, came);
  EXPECT_THAT(exact.wrong_order, HasSubstr("expected delegate 0 before delegate 1"));
  EXPECT_NE(Show(exact.form), Show(expected));
}

TEST(InOrderOfTest, InputsNodesAndResultsOfAnOpenDelegate) {
  const LoweredForm expected = Form(Entries()
                                        .Inputs(2)
                                        .Op("exp", {"in0"})
                                        .Call(0, {"in1", "0"})
                                        .Op("sub", {"1.0", "1.1"})
                                        .Return({"2", "1.1"}),
                                    {Entries()
                                         .Inputs(2)
                                         .Op("sin", {"in0"})
                                         .Op("neg", {"in1"})
                                         .Op("mul", {"0", "1"})
                                         .Return({"1", "2"})});
  const LoweredForm came = Form(Entries()
                                    .Inputs(2)
                                    .Op("exp", {"in0"})
                                    .Call(0, {"0", "in1"})
                                    .Op("sub", {"1.1", "1.0"})
                                    .Return({"2", "1.0"}),
                                {Entries()
                                     .Inputs(2)
                                     .Op("neg", {"in0"})
                                     .Op("sin", {"in1"})
                                     .Op("mul", {"1", "0"})
                                     .Return({"2", "0"})});
  const OpenOrder open = {{}, {0}};
  const Reordered ordered = InOrderOf(expected, open, came);
  EXPECT_EQ(Show(ordered.form), Show(expected));
  EXPECT_THAT(ordered.changed, ElementsAre(true));
  EXPECT_FALSE(ordered.any_graph_changed);
  // A delegate whose order is exact keeps it.
  EXPECT_EQ(Show(InOrderOf(expected, kTopOpen, came).form), Show(came));
}

// The delegate's program alone does not say which input is which.
TEST(InOrderOfTest, InputsThatAreAlikeGoByWhatTheyAreGiven) {
  const auto twice = [] {
    return Entries().Inputs(2).Op("sin", {"in0"}).Op("sin", {"in1"}).Return({"0", "1"});
  };
  const LoweredForm expected =
      Form(Entries().Inputs(2).Call(0, {"in0", "in1"}).Return({"0.0", "0.1"}), {twice()});
  const LoweredForm came =
      Form(Entries().Inputs(2).Call(0, {"in1", "in0"}).Return({"0.1", "0.0"}), {twice()});
  const OpenOrder open = {{}, {0}};
  EXPECT_EQ(Show(InOrderOf(expected, open, came).form), Show(expected));
  // Results that are those of the other input are no order.
  const LoweredForm wrong =
      Form(Entries().Inputs(2).Call(0, {"in1", "in0"}).Return({"0.0", "0.1"}), {twice()});
  EXPECT_NE(Show(InOrderOf(expected, open, wrong).form), Show(expected));
}

TEST(InOrderOfTest, OtherProgramsStayOther) {
  const auto program = [](const char* op, const std::vector<std::string>& args) {
    return Form(Entries().Inputs(2).Op("sin", {"in0"}).Call(0, {"0", "in1"}).Return({"1"}),
                {Entries().Inputs(2).Op(op, args).Return({"0"})});
  };
  const LoweredForm expected = program("sub", {"in0", "in1"});
  const OpenOrder open = {{{"forward", ""}}, {0}};
  for (const LoweredForm& came : {program("add", {"in0", "in1"}), program("sub", {"in1", "in0"}),
                                  program("sub", {"in0", "in0"}), program("sub", {"in0"})}) {
    EXPECT_NE(Show(InOrderOf(expected, open, came).form), Show(expected));
  }
}

TEST(InOrderOfTest, DelegateInADelegate) {
  const Json sin = Entries().Inputs(1).Op("sin", {"in0"}).Return({"0"});
  const Json cos = Entries().Inputs(1).Op("cos", {"in0"}).Return({"0"});
  const LoweredForm expected = Form(
      Entries().Inputs(2).Call(2, {"in0", "in1"}).Return({"0"}),
      {sin, cos,
       Entries().Inputs(2).Call(0, {"in0"}).Call(1, {"in1"}).Op("sub", {"0", "1"}).Return({"2"})});
  const LoweredForm came = Form(
      Entries().Inputs(2).Call(2, {"in1", "in0"}).Return({"0"}),
      {cos, sin,
       Entries().Inputs(2).Call(0, {"in0"}).Call(1, {"in1"}).Op("sub", {"1", "0"}).Return({"2"})});
  const Reordered ordered = InOrderOf(expected, {{}, {2}}, came);
  EXPECT_EQ(Show(ordered.form), Show(expected));
  EXPECT_EQ(ordered.wrong_order, "");
  EXPECT_THAT(ordered.changed, ElementsAre(false, false, true));
}

TEST(InOrderOfTest, BodiesGoWithTheirNodes) {
  const auto form = [](const char* first, const char* second, const std::vector<std::string>& out) {
    LoweredForm f =
        Form(Entries().Inputs(1).Cond("cond#0/true").Cond("cond#1/true").Return(out), {});
    Json::Object& graphs = *f.methods["forward"].get_if<Json::Object>();
    graphs["cond#0/true"] = Entries().Inputs(1).Op(first, {"in0"}).Return({"0"});
    graphs["cond#1/true"] = Entries().Inputs(1).Op(second, {"in0"}).Return({"0"});
    return f;
  };
  const LoweredForm expected = form("sin", "cos", {"0", "1"});
  EXPECT_EQ(Show(InOrderOf(expected, kTopOpen, form("cos", "sin", {"1", "0"})).form),
            Show(expected));
  EXPECT_NE(Show(InOrderOf(expected, kTopOpen, form("cos", "sin", {"0", "1"})).form),
            Show(expected));
}

TEST(InOrderOfTest, SymbolsAreNumberedAsTheyAppear) {
  const auto program = [](const char* first, const char* second, const char* args) {
    const auto input = [](int index, const char* size) {
      return absl::StrCat(R"({"kind":"placeholder","input":"user_input","index":)", index,
                          R"(,"type":{"dtype":"float32","shape":[")", size, R"("]}})");
    };
    return Parse(absl::StrCat("[", input(0, first), ",", input(1, second),
                              R"(,{"kind":"op","id":0,"op":"sub","args":)", args,
                              R"(,"type":null},{"kind":"output","outputs":[)",
                              R"({"kind":"user_output","value":{"node":0,"out":0}}]}])"));
  };
  const LoweredForm expected =
      Form(Entries().Inputs(2).Op("sin", {"in0"}).Call(0, {"in0", "0"}).Return({"1"}),
           {program("d0", "2*d1 + d0", R"([{"input":0},{"input":1}])")});
  const LoweredForm came =
      Form(Entries().Inputs(2).Op("sin", {"in0"}).Call(0, {"0", "in0"}).Return({"1"}),
           {program("2*d0 + d1", "d1", R"([{"input":1},{"input":0}])")});
  EXPECT_EQ(Show(InOrderOf(expected, {{}, {0}}, came).form), Show(expected));
}

}  // namespace
}  // namespace belay::conformance
