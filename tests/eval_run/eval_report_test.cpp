// The report is one well-formed file that needs nothing from outside.
#include "draw/eval_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "draw/html.h"
#include "draw/report_table.h"
#include "eval_run/made_up_report.h"

namespace clasp::draw {
namespace {

using test::make_report;
using ::testing::HasSubstr;
using ::testing::Not;

// Tags that open must close in order; every attribute is quoted; ampersands begin entities. The empty string
// when all is well, else what is not.
std::string find_fault(const std::string& html) {
    std::vector<std::string> open;
    for (std::size_t at = html.find("<html"); at < html.size();) {
        if (html[at] == '&') {
            const std::size_t end = html.find(';', at);
            if (end == std::string::npos || end - at > 8) return "a bare ampersand at " + html.substr(at, 20);
        }
        if (html[at] != '<') {
            ++at;
            continue;
        }
        const std::size_t end = html.find('>', at);
        if (end == std::string::npos) return "an open tag at " + html.substr(at, 20);
        const std::string tag = html.substr(at + 1, end - at - 1);
        if (tag.find('<') != std::string::npos) return "a bare < in " + tag.substr(0, 40);
        const std::string name =
            tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" /", 1) - (tag[0] == '/'));
        if (std::count(tag.begin(), tag.end(), '"') % 2 != 0)
            return "a torn attribute in " + tag.substr(0, 40);
        if (tag[0] == '/') {
            const std::string closing = tag.substr(1);
            if (open.empty() || open.back() != closing) return "</" + closing + "> closes nothing";
            open.pop_back();
        } else if (tag.back() != '/') {
            open.push_back(name);
            if (name == "style") {
                at = html.find("</style>", end);
                continue;
            }
        }
        at = end + 1;
    }
    return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

TEST(EvalReportHtml, IsWellFormed) {
    EXPECT_EQ(find_fault(eval_report_html(make_report())), "");
    EXPECT_NE(find_fault("<html><b></html>"), "");
    EXPECT_NE(find_fault("<html>a & b</html>"), "");
}

TEST(EvalReportHtml, NeedsNothingFromOutside) {
    const std::string html = eval_report_html(make_report());
    for (const char* outside : {"<script", "<link", "<iframe", "@import", "url(", "href=", "src=\"http"}) {
        EXPECT_THAT(html, Not(HasSubstr(outside)));
    }
    EXPECT_THAT(html, HasSubstr("data:image/png;base64,"));
}

TEST(EvalReportHtml, HasAllItsParts) {
    const std::string html = eval_report_html(make_report());
    for (const char* part :
         {"Report &lt;1&gt; &amp; more", "id=\"main-table\"", "Upper bound", "Retain 192 tokens", "Average",
          "<svg", "class=\"heat\"", "Paired comparisons", "Worst regressions", "3 &amp; more",
          "a&lt;b&gt;&amp;&quot;c&quot;", "clasp-vlm eval yes"}) {
        EXPECT_THAT(html, HasSubstr(part));
    }
}

TEST(EvalReportHtml, NamesAFewOfManyMethodsInItsChart) {
    EvalReport report = make_report();
    eval::Summary& summary = report.summaries.front();
    eval::Row row = summary.rows.back();
    for (int i = 0; i < 12; ++i) {
        for (const double tokens : {192.0, 64.0}) {
            row.label = "m" + std::to_string(i);
            row.budget = tokens > 100.0 ? "192" : "64";
            row.average_tokens = tokens;
            row.score = 10.0 * i;
            summary.rows.push_back(row);
        }
    }
    const std::string html = eval_report_html(report);
    EXPECT_EQ(find_fault(html), "");
    // 15 lines (one row of the made-up run has a label of its own), 8 colours.
    EXPECT_THAT(html, HasSubstr(">7 others</text>"));
    EXPECT_THAT(html, HasSubstr(">m11</text>"));
    EXPECT_THAT(html, HasSubstr(">clasp</text>"));
    EXPECT_THAT(html, Not(HasSubstr(">m0</text>")));
    EXPECT_THAT(html, HasSubstr("<title>m0 at 64"));
}

TEST(EvalReportHtml, TellsNoProbabilityOfNothing) {
    EvalReport report = make_report();
    ASSERT_FALSE(report.summaries.front().comparisons.empty());
    report.summaries.front().comparisons.front().result.test.p_value = 1e-30;
    report.summaries.front().comparisons.back().result.test.p_value = 0.0123;
    const std::string html = eval_report_html(report);
    EXPECT_THAT(html, HasSubstr("<td>&lt; 0.0001</td>"));
    EXPECT_THAT(html, HasSubstr("<td>0.0123</td>"));
}

TEST(EvalReportHtml, OfNothingIsStillAPage) {
    EvalReport report;
    report.title = "empty";
    EXPECT_EQ(find_fault(eval_report_html(report)), "");
}

TEST(EvalReportMarkdown, HasTheTableAndEscapesBars) {
    EvalReport report = make_report();
    report.summaries.front().rows.back().label = "a|b";
    const std::string text = eval_report_markdown(report);
    EXPECT_THAT(text, HasSubstr("| Methods | Budget | Yes | Average |"));
    EXPECT_THAT(text, HasSubstr("| Upper bound | none | 100.0 | 100.0 % |"));
    EXPECT_THAT(text, HasSubstr("a\\|b"));
    const eval::Comparison& pair = report.summaries.front().comparisons.front();
    EXPECT_THAT(text, HasSubstr("| A | B | Budget | A - B | 95 % interval | Separable |"));
    EXPECT_THAT(text, HasSubstr("| " + pair.a + " | unpruned | " + pair.budget + " | " +
                                percent_text(pair.result.difference) + " |"));
}

TEST(ReportBands, MarkTheBestOfEachBudgetAndAverageOverBenchmarks) {
    std::vector<eval::Summary> summaries(2);
    for (std::size_t i = 0; i < 2; ++i) {
        for (const auto& [label, budget, score] :
             {std::tuple("none", "none", 80.0), std::tuple("x", "64", 60.0), std::tuple("y", "64", 40.0)}) {
            eval::Row row;
            row.label = label;
            row.budget = budget;
            row.score = i == 0 ? score : 120.0 - score;
            row.relative = score / 80.0;
            summaries[i].rows.push_back(row);
        }
    }
    const std::vector<ReportBand> bands = report_bands(summaries);
    ASSERT_EQ(bands.size(), 2U);
    ASSERT_EQ(bands[1].rows.size(), 2U);
    EXPECT_TRUE(bands[1].rows[0].cells[0].is_best);
    EXPECT_FALSE(bands[1].rows[0].cells[1].is_best);
    EXPECT_NEAR(*bands[1].rows[0].average, 75.0, 1e-9);
    EXPECT_TRUE(bands[1].rows[0].is_best_average);
}

TEST(Html, EncodesBase64AndColours) {
    const std::vector<std::uint8_t> bytes = {'M', 'a', 'n', 'M', 'a'};
    EXPECT_EQ(base64(bytes), "TWFuTWE=");
    EXPECT_EQ(base64({}), "");
    EXPECT_EQ(diverging_colour(0.0), "#fafafa");
    EXPECT_EQ(diverging_colour(-5.0), diverging_colour(-1.0));
    EXPECT_EQ(escape_html("<a href='x'>&\x01"), "&lt;a href=&#39;x&#39;&gt;&amp;?");
}

}  // namespace
}  // namespace clasp::draw
