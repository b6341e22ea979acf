#include "cli/chat_session.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "clasp/schedule.h"
#include "cli/interrupt.h"
#include "cli/map_file.h"
#include "cli/output.h"
#include "cli/output_path.h"
#include "cli/picture_file.h"
#include "cli/pictures.h"
#include "methods/method.h"
#include "request/answer_json.h"

namespace clasp::cli {

namespace {

std::string in_one_line(std::string_view text) {
    std::string line(text);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return line;
}

Status missing_value(std::string_view word, std::string_view what) {
    return {Code::InvalidArgument, std::string(word) + " takes " + std::string(what)};
}

char mark_of(draw::Mark mark) {
    switch (mark) {
        case draw::Mark::Dropped: return '.';
        case draw::Mark::Pivot: return '#';
        case draw::Mark::Merged: return '+';
        default: return 'o';
    }
}

Json messages_json(const std::vector<Message>& messages) {
    Json list = Json::array();
    std::size_t n_pictures = 0;
    for (const Message& message : messages) {
        std::string words;
        Json pictures = Json::array();
        for (const MessagePart& part : message.parts) {
            words += part.text;
            if (part.image) pictures.push_back(++n_pictures);
        }
        Json one = {{"role", role_name(message.role)}, {"content", words}};
        if (!pictures.empty()) one["pictures"] = std::move(pictures);
        list.push_back(std::move(one));
    }
    return Json::object({{"messages", std::move(list)}});
}

}  // namespace

std::string map_text(const Answer& answer) {
    const draw::StagePanel panel = last_panel(answer);
    std::string text;
    std::size_t token = 0;
    for (const ImageLayout& layout : answer.layouts) {
        if (!layout.is_placed) return {};
        for (const TokenRegion& region : layout.regions) {
            if (!text.empty()) text += '\n';
            token += region.first_cell();
            for (std::size_t row = 0; row < region.grid.height; ++row) {
                for (std::size_t column = 0; column < region.n_row_tokens(); ++column, ++token) {
                    if (column < region.grid.width)
                        text.append(1, mark_of(panel.marks[token])).append(1, ' ');
                }
                text.back() = '\n';
            }
        }
    }
    return text;
}

std::string transcript(const std::vector<Message>& messages) {
    std::string text;
    std::size_t n_pictures = 0;
    for (const Message& message : messages) {
        text += "# " + std::string(role_name(message.role)) + "\n\n";
        for (const MessagePart& part : message.parts) {
            text += part.image ? "[picture " + std::to_string(++n_pictures) + "]\n" : part.text;
        }
        text += "\n\n";
    }
    return text;
}

ChatSession::ChatSession(const Engine& engine, ChatSettings settings, Console& console, AskProgress& progress)
    : conversation_(engine, settings.system),
      n_kept_(settings.system.empty() ? 0U : 1U),
      settings_(std::move(settings)),
      console_(console),
      progress_(progress) {}

Result<bool> ChatSession::take(const ChatLine& line) {
    switch (line.word) {
        case ChatWord::Quit: return false;
        case ChatWord::Help: console_.err << chat_help(); return true;
        case ChatWord::Reset:
            conversation_.cut_back(n_kept_);
            next_images_.clear();
            last_answer_.reset();
            return true;
        case ChatWord::Undo:
            if (conversation_.messages().size() >= n_kept_ + 2)
                conversation_.cut_back(conversation_.messages().size() - 2);
            return true;
        case ChatWord::Image:
            if (line.rest.empty()) return missing_value("/image", "the path of a picture");
            CLASP_RETURN_IF_ERROR(check_picture(plain_path(line.rest)));
            next_images_.push_back({.path = plain_path(line.rest), .bytes = {}});
            tell("shown with the next question: " + base::printable(next_images_.back().path, 256));
            return true;
        case ChatWord::Budget: CLASP_RETURN_IF_ERROR(set_budget(line.rest)); return true;
        case ChatWord::Method: CLASP_RETURN_IF_ERROR(set_method(line.rest)); return true;
        case ChatWord::Map: CLASP_RETURN_IF_ERROR(show_map(plain_path(line.rest))); return true;
        case ChatWord::Save: CLASP_RETURN_IF_ERROR(save(plain_path(line.rest))); return true;
        case ChatWord::Unknown:
            return Status(Code::InvalidArgument,
                          "there is no " + base::printable(line.rest, 64) + "; /help lists what there is");
        case ChatWord::Question: break;
    }
    for (const std::string& path : line.images) {
        next_images_.push_back({.path = path, .bytes = {}});
        tell("shown with the next question: " + base::printable(path, 256));
    }
    if (!line.rest.empty()) CLASP_RETURN_IF_ERROR(ask(line.rest));
    return true;
}

bool ChatSession::has_pictures() const {
    const auto shows = [](const Message& message) {
        return std::any_of(message.parts.begin(), message.parts.end(),
                           [](const MessagePart& part) { return part.image.has_value(); });
    };
    const auto& said = conversation_.messages();
    return !next_images_.empty() || std::any_of(said.begin(), said.end(), shows);
}

Status ChatSession::ask(const std::string& question) {
    AskRequest request = settings_.request;
    request.question = question;
    request.images = next_images_;
    for (const ImageSource& image : next_images_) shown_.push_back(image.path);
    request.cancel = &interrupted();
    request.want_pictures = has_pictures();  // for /map, also where lines come from a program
    request.on_progress = progress_.sink();
    request.on_text = [&](std::string_view text) {
        progress_.clear();
        if (!settings_.as_json)
            console_.answers() << (console_.in_is_terminal ? std::string(text) : in_one_line(text))
                               << std::flush;
    };
    auto answer = conversation_.ask(request);
    progress_.clear();
    const bool had_images = !next_images_.empty();
    // Who stops a question before its answer begins has another one about the same pictures.
    if (answer.status().code() == Code::Cancelled) {
        if (had_images) tell("the pictures are still there for the next question");
        return answer.status();
    }
    // With a picture that cannot be read no question would ever be answered.
    next_images_.clear();
    if (!answer.ok()) {
        if (had_images) tell("the pictures that were shown are left out again");
        return answer.status();
    }
    if (settings_.as_json) {
        write_json_line(console_, request::answer_json(*answer, settings_.model));
        console_.out << std::flush;
    } else {
        console_.answers() << '\n' << std::flush;
        for (const std::string& note : answer->notes)
            console_.err << "note: " << base::printable(note) << '\n';
        tell_figures(*answer);
    }
    const bool was_stopped = answer->stopped == Stopped::Cancelled;
    last_answer_ = std::move(*answer);
    last_question_ = question;
    return was_stopped ? Status(Code::Cancelled, "stopped") : ok_status();
}

void ChatSession::tell(const std::string& line) const {
    if (console_.in_is_terminal) console_.err << line << '\n';
}

void ChatSession::tell_figures(const Answer& answer) const {
    std::string line = "first word after " + fixed(answer.timings.first_token_ms / 1000.0, 1) + " s";
    if (answer.tokens.visual > 0) {
        line += "; " + std::to_string(answer.tokens.final) + " of " + std::to_string(answer.tokens.visual) +
                " visual tokens in the end, class " + answer.chosen_class.name;
    }
    tell("[" + line + "]");
}

Status ChatSession::set_budget(const std::string& text) {
    AskRequest& request = settings_.request;
    if (!text.empty()) {
        CLASP_ASSIGN_OR_RETURN(request.budget, parse_budget(base::lower(text)));
        request.vanilla = false;
        request.forced_stages.clear();
        request.schedule_name.clear();
    }
    tell("budget: " + to_text(request.budget));
    return ok_status();
}

Status ChatSession::set_method(const std::string& text) {
    AskRequest& request = settings_.request;
    if (!text.empty()) {
        const methods::MethodChoice choice = methods::split_method_choice(text);
        CLASP_RETURN_IF_ERROR(methods::check_method_choice(choice));
        request.method = choice.name;
        request.method_options = choice.options;
        request.mass.reset();
        request.vanilla = false;
    }
    tell("method: " + (request.method.empty() ? "the policy's" : request.method));
    return ok_status();
}

Status ChatSession::show_map(const std::string& path) const {
    if (!last_answer_ || last_answer_->tokens.visual == 0)
        return {Code::InvalidArgument, "/map shows what an answer about a picture saw; there is none yet"};
    if (!path.empty()) {
        CLASP_RETURN_IF_ERROR(check_output_file(map_option(""), path));
        CLASP_RETURN_IF_ERROR(check_spares_pictures(path, shown_));
        CLASP_RETURN_IF_ERROR(write_token_map(path, last_question_, *last_answer_, settings_.model));
        tell("written: " + base::printable(path, 256));
        return ok_status();
    }
    const std::string map = map_text(*last_answer_);
    if (map.empty()) return {Code::Unsupported, "this model does not say where the tokens of a picture lie"};
    console_.err << map << "# pivot, o kept, + merged, . dropped: " << last_answer_->tokens.final << " of "
                 << last_answer_->tokens.visual << " after the last stage\n";
    return ok_status();
}

Status ChatSession::save(const std::string& path) const {
    if (path.empty()) return missing_value("/save", "the path of a file");
    CLASP_RETURN_IF_ERROR(check_spares_pictures(path, shown_));
    const bool as_json = extension_of(path) == ".json";
    const std::string text = as_json ? base::dump_json(messages_json(conversation_.messages())) + "\n"
                                     : transcript(conversation_.messages());
    CLASP_RETURN_IF_ERROR(base::write_file_atomic(path, text));
    tell("written: " + base::printable(path, 256));
    return ok_status();
}

}  // namespace clasp::cli
