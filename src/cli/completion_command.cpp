// clasp-vlm completion: scripts that let a shell complete commands, options and values.
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/output.h"

namespace clasp::cli {

namespace {

Status run(const Arguments& arguments, Console& console) {
    const std::string shell = arguments.positional("SHELL").front();
    const std::string script = shell == "bash"  ? bash_completion()
                               : shell == "zsh" ? zsh_completion()
                                                : fish_completion();
    if (arguments.flag("json")) {
        write_json(console, {{"shell", shell}, {"script", script}});
    } else {
        console.out << script;
    }
    return ok_status();
}

}  // namespace

Command completion_command() {
    return {
        .name = "completion",
        .summary = "Print a script that completes commands, options and values in a shell",
        .positionals = {{.name = "SHELL", .help = "bash, zsh or fish", .choices = {"bash", "zsh", "fish"}}},
        .notes =
            "An installed clasp-vlm brings these scripts along. By hand, for one session: source <(clasp-vlm "
            "completion bash)",
        .examples = {"clasp-vlm completion bash > ~/.local/share/bash-completion/completions/clasp-vlm",
                     "clasp-vlm completion zsh > ~/.zfunc/_clasp-vlm",
                     "clasp-vlm completion fish > ~/.config/fish/completions/clasp-vlm.fish"},
        .run = run,
    };
}

}  // namespace clasp::cli
