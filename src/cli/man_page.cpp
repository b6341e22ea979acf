#include "cli/man_page.h"

#include <sstream>

#include "clasp/version.h"
#include "cli/command.h"
#include "cli/help.h"

namespace clasp::cli {

namespace {

// Text as roff takes it: no escapes, no minus turned into a hyphen, no line that looks like a request.
std::string roff(std::string_view text) {
    std::string out;
    bool at_start = true;
    for (const char c : text) {
        if (at_start && (c == '.' || c == '\'')) out += "\\&";
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
        at_start = c == '\n';
    }
    return out;
}

void write_command(std::ostringstream& out, const Command& command) {
    out << ".SS " << command.name << '\n'
        << roff(command.summary) << ".\n.PP\n.B " << roff(usage_line(command)) << '\n';
    for (const Positional& positional : command.positionals) {
        out << ".TP\n.I " << roff(positional.name) << '\n' << roff(positional.help) << '\n';
    }
    for (const Option& option : full_options(command)) {
        out << ".TP\n.B " << roff(option_left(option)) << '\n' << roff(option_right(option)) << '\n';
    }
    if (!command.notes.empty()) out << ".PP\n" << roff(command.notes) << '\n';
    if (command.examples.empty()) return;
    out << ".PP\n.nf\n";
    for (const std::string_view example : command.examples) out << roff(example) << '\n';
    out << ".fi\n";
}

}  // namespace

std::string table_as_man_page() {
    std::ostringstream out;
    out << ".TH CLASP\\-VLM 1 \"\" \"clasp\\-vlm " << CLASP_VERSION_STRING << "\" \"User Commands\"\n"
        << ".SH NAME\nclasp\\-vlm \\- vision\\-language models that read only the visual tokens the question "
           "needs\n"
        << ".SH SYNOPSIS\n.B clasp\\-vlm\n.I COMMAND\n.RI [ arguments ]\n"
        << ".SH DESCRIPTION\nAnswers questions about pictures with local models (GGUF files) and keeps only "
           "the "
           "visual tokens that a question needs. The same program measures methods of doing so, compares "
           "them, and works on the tokens of other engines.\n.PP\nThe answer goes to standard output, "
           "figures, notes and progress to standard error. Every command takes\n.B \\-\\-json\nand then "
           "prints "
           "one JSON object and nothing else on standard output; an error is an object with the key error. "
           "Letter case does not matter in names of methods, policies, classes and choices.\n"
        << ".SH EXAMPLES\n";
    for (const Example& example : first_examples()) {
        out << ".TP\n" << roff(example.what) << '\n' << ".B " << roff(example.line) << '\n';
    }
    out << ".SH COMMANDS\n";
    for (const Command& command : commands()) write_command(out, command);
    out << ".SH EXIT STATUS\n"
        << ".TP\n.B 0\nsuccess\n.TP\n.B 1\nfailed; standard error says why in one line\n"
        << ".TP\n.B 2\nwrong usage, or a value that an option cannot take\n"
        << ".TP\n.B 130\nstopped by Ctrl\\-C (143: by the signal TERM)\n"
        << ".SH FILES\n.TP\n.I share/clasp/models\nmodels that come with the program\n"
        << ".TP\n.I ~/.cache/clasp/features\nvision layers kept by\n.B \\-\\-cache auto\n"
        << ".TP\n.I ~/.cache/clasp/packed\nweights kept by\n.B \\-\\-packed auto\n";
    return out.str();
}

}  // namespace clasp::cli
