// A question about a picture, from C++: load two GGUF files, ask, print the answer as it comes.
#include <clasp/engine.h>

#include <cstdio>

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s MODEL.gguf MMPROJ.gguf IMAGE QUESTION\n", argv[0]);
        return 2;
    }
    clasp::EngineOptions options;
    options.model = argv[1];
    options.mmproj = argv[2];
    const auto engine = clasp::Engine::load(options);
    if (!engine.ok()) {
        std::fprintf(stderr, "%s\n", engine.status().message().c_str());
        return 1;
    }
    clasp::AskRequest request;
    request.images = {{argv[3], {}}};
    request.question = argv[4];
    request.on_text = [](std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    };
    const auto answer = (*engine)->ask(request);
    if (!answer.ok()) {
        std::fprintf(stderr, "%s\n", answer.status().message().c_str());
        return 1;
    }
    std::printf("\n%s: %zu of %zu visual tokens reached the last layer\n", answer->chosen_class.name.c_str(),
                answer->tokens.final, answer->tokens.visual);
    return 0;
}
