// A conversation with an engine: it remembers what was said, so that a question may build on those before it.
//
//     clasp::Conversation conversation(*engine, "Answer in one sentence.");
//     clasp::AskRequest first;
//     first.images = {{.path = "photo.jpg"}};
//     first.question = "What is on the table?";
//     auto answer = conversation.ask(first);
//     clasp::AskRequest next;
//     next.question = "And what colour is it?";
//     answer = conversation.ask(next);
//
// Every question chooses anew which visual tokens it needs, from vision layers that the engine keeps
// (EngineOptions::cached_images), so that no picture is encoded twice.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/status.h"

namespace clasp {

// Not thread safe; conversations with one engine may run on different threads. A copy is a fork: it holds
// what was said so far, and both go on by themselves.
class Conversation {
   public:
    // The engine must outlive it. system: how to answer; empty: the chat template's own words, if it has any.
    explicit Conversation(const Engine& engine, const std::string& system = {});

    // Asks the next question. Pictures are kept, files as they are at this moment; video files, folders and
    // lists of frames are read where they are, in every turn. Nothing is added to the conversation when this
    // fails; an answer that was stopped is added as far as it came. Errors: those of Engine::ask(), and
    // invalid_argument for a request that brings a history of its own.
    Result<Answer> ask(AskRequest request);

    // All that was said, in order.
    [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }
    // Forgets what came after the first n messages.
    void cut_back(std::size_t n);

   private:
    const Engine* engine_;
    std::vector<Message> messages_;
    std::vector<std::shared_ptr<const std::string>> pictures_;  // bytes that the messages borrow
};

}  // namespace clasp
