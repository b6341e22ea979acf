// The engine from C++: load two GGUF files once, ask questions about a picture one after the other, print
// each answer as it comes. Ctrl-C stops cleanly.
#include <clasp/engine.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <string>

namespace {

std::atomic<bool> stop = false;

void on_interrupt(int /*signal*/) {
    stop = true;
}

// The library prints nothing by itself. This may be called from any of its threads.
void print_warning(clasp::LogLevel level, std::string_view message) {
    if (level < clasp::LogLevel::Warning) return;
    std::fprintf(stderr, "warning: %.*s\n", static_cast<int>(message.size()), message.data());
}

clasp::Status ask(const clasp::Engine& engine, const std::string& image, const std::string& question) {
    clasp::AskRequest request;
    request.images = {{.path = image, .bytes = {}}};
    request.question = question;
    CLASP_ASSIGN_OR_RETURN(request.budget, clasp::parse_budget("64"));
    request.cancel = &stop;
    request.on_text = [](std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    };
    CLASP_ASSIGN_OR_RETURN(const clasp::Answer answer, engine.ask(request));
    std::printf(
        "\n%s, %s: %.1f of %zu visual tokens per layer, %.0f ms to the first token, %zu KiB of keys and "
        "values\n",
        answer.chosen_class.name.c_str(), answer.method.c_str(), answer.tokens.average, answer.tokens.visual,
        answer.timings.first_token_ms, answer.kv_bytes / 1024);
    for (const std::string& note : answer.notes) std::printf("note: %s\n", note.c_str());
    if (answer.stopped == clasp::Stopped::Cancelled) return {clasp::Code::Cancelled, "stopped"};
    return clasp::ok_status();
}

clasp::Status run(int argc, char** argv) {
    clasp::EngineOptions options;
    options.model = argv[1];
    options.mmproj = argv[2];
    options.cached_images = 1;  // the second question about the picture need not encode it again
    options.log = print_warning;
    CLASP_ASSIGN_OR_RETURN(const auto engine, clasp::Engine::load(options));
    for (int i = 4; i < argc; ++i) CLASP_RETURN_IF_ERROR(ask(*engine, argv[3], argv[i]));
    return clasp::ok_status();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) {
        std::fprintf(stderr, "usage: %s MODEL.gguf MMPROJ.gguf IMAGE QUESTION...\n", argv[0]);
        return 2;
    }
    std::signal(SIGINT, on_interrupt);
    const clasp::Status status = run(argc, argv);
    if (status.ok()) return 0;
    const std::string_view code = clasp::code_name(status.code());
    std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(code.size()), code.data(), status.message().c_str());
    return status.code() == clasp::Code::Cancelled ? 130 : 1;
}
