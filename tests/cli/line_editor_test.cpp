// The editor as a terminal's bytes reach it, and what a line of a chat asks for.
#include "cli/line_editor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "cli/chat_line.h"

namespace clasp::cli {
namespace {

// What is read when these bytes are typed, line by line.
std::vector<LineEditor::Read> typed(const std::string& bytes) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    EXPECT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(ends[1]);
    std::ostringstream out;
    LineEditor editor(ends[0], out);
    std::vector<LineEditor::Read> lines;
    do {
        lines.push_back(editor.read("> "));
    } while (lines.back().end != LineEditor::End::Input);
    close(ends[0]);
    lines.pop_back();
    return lines;
}

std::string text(const std::string& bytes) {
    const auto lines = typed(bytes);
    EXPECT_FALSE(lines.empty()) << bytes;
    return lines.empty() ? "" : lines.back().text;
}

TEST(LineEditor, EditsInPlace) {
    EXPECT_EQ(text("hello\r"), "hello");
    EXPECT_EQ(text("helo\x1b[Dl\r"), "hello");
    EXPECT_EQ(text("ello\x01h\r"), "hello");
    EXPECT_EQ(text("hellp\x7fo\r"), "hello");
    EXPECT_EQ(text("xhello\x1b[H\x1b[3~\r"), "hello");
    EXPECT_EQ(text("gone\x15hello\r"), "hello");
    EXPECT_EQ(text("hello there you\x17\x17\r"), "hello ");
    EXPECT_EQ(text("hellooo\x1b[D\x1b[D\x0b\r"), "hello");
    EXPECT_EQ(text("hel\x1b[Hx\x1b[F\x02\x06lo\r"), "xhello");
    // A character of several bytes is one.
    EXPECT_EQ(text("caf\xC3\xA9s\x1b[D\x7f\r"), "cafs");
    EXPECT_EQ(text("\xF0\x9F\x98\x80!\x1b[D\x1b[D\x1b[3~\r"), "!");
}

TEST(LineEditor, BringsLinesBack) {
    EXPECT_EQ(text("one\rtwo\r\x1b[A\x1b[A\r"), "one");
    EXPECT_EQ(text("one\rtwo\r\x1b[A\x1b[A\x1b[B!\r"), "two!");
    EXPECT_EQ(text("one\rnew\x1b[A\x1b[B\r"), "new");
    EXPECT_EQ(text("one\r\x1b[A\x1b[A\x1b[A\r"), "one");
}

TEST(LineEditor, SeveralLinesAreOneWhereTheyAreMeant) {
    EXPECT_EQ(text("one\\\rtwo\r"), "one\ntwo");
    EXPECT_EQ(text("one\x1b\rtwo\r"), "one\ntwo");
    EXPECT_EQ(text("one\ntwo\r"), "one\ntwo");
    EXPECT_EQ(text("\x1b[200~one\rtwo\x07\r\r\x1b[201~ three\r"), "one\ntwo three");
}

TEST(LineEditor, TellsWhyALineEnds) {
    EXPECT_EQ(typed("hello\x03").front().end, LineEditor::End::Interrupt);
    EXPECT_TRUE(typed("\x04").empty());
    EXPECT_EQ(text("hello\x04"), "hello");  // the input ends
    EXPECT_EQ(text("hxello\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x04\r"), "hello");
}

ChatLine line(std::string_view words) {
    return read_chat_line(words, [](const std::string& path) {
        return path == "/home/u/a.png" || path == "/home/u/b c.png" || path == "./d.png";
    });
}

TEST(ChatLine, KnowsItsWords) {
    EXPECT_EQ(line("What is it?").word, ChatWord::Question);
    EXPECT_EQ(line("  /budget  64 ").word, ChatWord::Budget);
    EXPECT_EQ(line("  /budget  64 ").rest, "64");
    EXPECT_EQ(line("/map").word, ChatWord::Map);
    EXPECT_EQ(line("/save talk.json").rest, "talk.json");
    EXPECT_EQ(line("/exit").word, ChatWord::Quit);
    EXPECT_EQ(line("/budge").word, ChatWord::Unknown);
    EXPECT_EQ(line("a/b?").word, ChatWord::Question);
}

TEST(ChatLine, PathsThatAreDroppedAreImages) {
    const auto images = [](std::string_view words) { return line(words).images; };
    using Paths = std::vector<std::string>;
    EXPECT_EQ(images("/home/u/a.png "), Paths{"/home/u/a.png"});
    EXPECT_EQ(line("/home/u/a.png ").rest, "");
    EXPECT_EQ(images("'/home/u/b c.png' What is it?"), Paths{"/home/u/b c.png"});
    EXPECT_EQ(line("'/home/u/b c.png' What's it?").rest, "What's it?");
    EXPECT_EQ(images("/home/u/b\\ c.png"), Paths{"/home/u/b c.png"});
    EXPECT_EQ(images("file:///home/u/b%20c.png /home/u/a.png And?"),
              (Paths{"/home/u/b c.png", "/home/u/a.png"}));
    EXPECT_EQ(images("./d.png what"), Paths{"./d.png"});
    EXPECT_EQ(images("What is /home/u/a.png?"), Paths{});
    EXPECT_EQ(line("/home/u/none.png").word, ChatWord::Unknown);
    EXPECT_EQ(plain_path("a b.png"), "a b.png");
    EXPECT_EQ(plain_path("'a b.png'"), "a b.png");
}

}  // namespace
}  // namespace clasp::cli
