// Opens pages in Debian's Chromium: there must be no console errors, and search must find a node.
// Manual; skipped without Chromium:
//   tools/bazel test //tools/belay:browser_test
// SCREENSHOTS=DIR writes screenshots to that folder.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/saved_programs.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kZoo[] = "conformance/models/zoo/";

class BrowserTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    if (std::system("command -v chromium >/dev/null") != 0) {
      GTEST_SKIP() << "there is no chromium here: apt-get install chromium";
    }
  }

  std::string Page(LowerOptions options) {
    options.output = Path("p.belay");
    options.html = Path("p.html");
    const Outcome outcome = Capture([&] { return Lower(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return options.html;
  }

  // Returns the browser's standard output; its log is written to Path("log").
  std::string Browse(const std::string& page, const std::string& fragment,
                     const std::string& flags) {
    const std::string command = absl::StrCat(
        "HOME='", directory_.string(), "' chromium --headless --no-sandbox --disable-gpu",
        " --hide-scrollbars --force-color-profile=srgb --enable-logging=stderr --user-data-dir='",
        Path("profile"), "' --virtual-time-budget=30000 ", flags, " 'file://", page, "#", fragment,
        "' >'", Path("dom"), "' 2>'", Path("log"), "'");
    EXPECT_EQ(std::system(command.c_str()), 0) << Read(Path("log"));
    return Read(Path("dom"));
  }

  // Opens the page, searches for the node and takes a screenshot of each tab. Returns the resulting
  // DOM.
  std::string Open(const std::string& page, const std::string& node, const std::string& name) {
    std::string dom = Browse(page, "search=" + node, "--dump-dom");
    EXPECT_THAT(Read(Path("log")), Not(HasSubstr("CONSOLE")));
    EXPECT_THAT(dom, AllOf(HasSubstr("data-ready=\"yes\""),
                           HasSubstr(absl::StrCat("data-node=\"", node, "\""))));
    const char* screenshots = std::getenv("SCREENSHOTS");
    if (screenshots == nullptr) return dom;
    std::vector<std::string> fragments = {"tab=overview", "tab=graph", "search=" + node,
                                          "tab=memory", "tab=constants"};
    fragments.push_back(name == "profile" ? "tab=times" : "tab=lowering");
    for (size_t i = 0; i < fragments.size(); ++i) {
      Browse(page, fragments[i],
             absl::StrCat("--window-size=1440,900 --screenshot='", screenshots, "/", name, "_", i,
                          ".png'"));
    }
    return dom;
  }
};

TEST_F(BrowserTest, MobileNet) {
  const std::string dom = Open(
      Page({.input = absl::StrCat(kZoo, "mobilenet_tiny/model.pt2"), .backends = {"demo,cpu"}}),
      "convolution", "mobilenet");
  EXPECT_THAT(dom, AllOf(HasSubstr("Compiled as"), HasSubstr("conv2d, filters of")));
}

TEST_F(BrowserTest, TinyLlamaWithTwoMethods) {
  Open(Page({.methods = {absl::StrCat("prefill=", kZoo, "llama_kv_prefill/model.pt2"),
                         absl::StrCat("decode=", kZoo, "tiny_llama/model.pt2")},
             .backends = {"demo"}}),
       "embedding", "llama");
}

TEST_F(BrowserTest, ControlFlow) {
  Open(Page({.input = absl::StrCat(kZoo, "cond_nested/model.pt2"), .backends = {"demo"}}), "cond",
       "cond");
}

// Half of the nodes are in modules.
TEST_F(BrowserTest, TenThousandNodes) {
  std::string text = "program edge {\n  graph(%n0: f32[4] user_input) {\n";
  constexpr int kNodes = 10'000;
  for (int i = 1; i <= kNodes; ++i) {
    const std::string at = i > kNodes / 2
                               ? ""
                               : absl::StrCat("  @\"net.py\":", i % 97, " module=\"blocks.",
                                              i / 500, ".layer", i / 50 % 10, "\"");
    if (i % 7 == 0) {
      absl::StrAppend(&text, "    %n", i, ": f32[4] = edge.aten.add.Tensor(%n", i - 1, ", %n",
                      i - 6, ")", at, "\n");
    } else {
      absl::StrAppend(&text, "    %n", i, ": f32[4] = edge.aten.", i % 2 == 0 ? "relu" : "neg",
                      ".default(%n", i - 1, ")", at, "\n");
    }
  }
  absl::StrAppend(&text, "    return (%n", kNodes, " user_output)\n  }\n}\n");
  ASSERT_OK_AND_ASSIGN(const auto ops, exir::CreateStandardOps());
  exir::MethodPrograms programs;
  programs.emplace_back("forward", exir::ParseOrDie(text, *ops));
  ASSERT_OK(exir::WriteSavedPrograms(programs, Path("large.bir")));
  Open(Page({.input = Path("large.bir"), .backends = {"demo"}}), "n7321", "large");
}

TEST_F(BrowserTest, HostileNames) {
  ASSERT_OK_AND_ASSIGN(const auto ops, exir::CreateStandardOps());
  exir::ExportedProgram program = exir::ParseOrDie(
      R"(program edge {
        graph(%x: f32[4] user_input) {
          %"</script><img src=x onerror=alert(1)>": f32[4] = edge.aten.relu.default(%x)
            @"</style>\"'.py":3 module="a.</script><script>throw 1</script>"
          return (%"</script><img src=x onerror=alert(1)>" user_output)
        }
      })",
      *ops);
  exir::MethodPrograms programs;
  programs.emplace_back("</title>", std::move(program));
  ASSERT_OK(exir::WriteSavedPrograms(programs, Path("hostile.bir")));
  const std::string page = Page({.input = Path("hostile.bir"), .backends = {"none"}});
  const std::string dom = Browse(page, "search=onerror", "--dump-dom");
  EXPECT_THAT(Read(Path("log")), Not(HasSubstr("CONSOLE")));
  EXPECT_THAT(dom, AllOf(HasSubstr("data-ready=\"yes\""), HasSubstr("data-node=\"&lt;/script"),
                         Not(HasSubstr("<img"))));
}

TEST_F(BrowserTest, Profile) {
  const std::string program = Path("m.belay");
  ASSERT_EQ(Capture([&] {
              return Lower({.input = absl::StrCat(kZoo, "mobilenet_tiny/model.pt2"),
                            .output = program,
                            .backends = {"none"}});
            }).status,
            kDone);
  ASSERT_EQ(Capture([&] {
              return ProfileProgram({.program = program, .html = Path("t.html"), .runs = 5});
            }).status,
            kDone);
  Open(Path("t.html"), "mean", "profile");
}

}  // namespace
}  // namespace belay::tools
