// What an engine remembers of prompts: their beginnings, and turns of conversations that the next question
// may go on from. The least recently used goes first when there are more bytes than the limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "engine/decoder_input.h"
#include "engine/follow_up.h"
#include "engine/prompt.h"
#include "engine/prompt_start.h"
#include "engine/sequence.h"
#include "engine/visual_input.h"

namespace clasp::engine {

// The tokens of a prompt with one number for each image, whatever became of it: -1 for the first, -2 ...
std::vector<std::int32_t> said_in(const Prompt& prompt);
// How many of them there are up to the end of the question's words and of the last image.
std::size_t question_end(const Prompt& prompt);

// What a question chose, for itself and for those that follow.
struct Choice {
    // Of said_in() up to the end of that question: a conversation without it has no claim to its tokens.
    std::size_t end = 0;
    // Its prompt as it entered the decoder; the parts of the last borrow from the other two.
    Prompt prompt;
    VisualInput visual;
    DecoderInput input;
    SharedStart front;              // up to the first stage; null: there was none
    std::vector<KeptAtStage> kept;  // per stage
    Answer answer;                  // what it says of tokens, mixes and stages; without text and times

    [[nodiscard]] std::size_t bytes() const;
};

// A question with its answer, as the layers left it. Read by several threads, changed by none.
struct Turn {
    std::string settings;            // a key of what decided, besides the words
    std::vector<std::int32_t> said;  // said_in() of its prompt, and what was answered
    Sequence sequence;
    std::shared_ptr<const Choice> choice;

    [[nodiscard]] std::size_t bytes() const;
};
using SharedTurn = std::shared_ptr<const Turn>;

// A turn that a prompt goes on from.
struct FoundTurn {
    SharedTurn turn;
    std::size_t n_shared = 0;  // of Turn::said
};

// Thread safe.
class PromptMemory : public StartStore {
   public:
    explicit PromptMemory(std::size_t max_bytes) : max_bytes_(max_bytes) {}

    [[nodiscard]] bool keeps(StartPart /*part*/) const override { return true; }
    SharedStart find(StartPart part, const std::string& key) override;
    void keep(StartPart part, const std::string& key, SharedStart start) override;

    // The turn with these settings that shares most with what is said, and the question that chose its tokens
    // for certain; something new is left to say. Nothing: there is none.
    std::optional<FoundTurn> find_turn(const std::string& settings, std::span<const std::int32_t> said);
    void keep_turn(SharedTurn turn);

    [[nodiscard]] std::size_t bytes() const;

   private:
    struct Entry {
        std::string key;  // of a start
        SharedStart start;
        SharedTurn turn;
        std::size_t n_bytes = 0;
    };
    void add(Entry entry);

    const std::size_t max_bytes_;
    mutable std::mutex mutex_;
    std::list<Entry> entries_;  // most recently used first
    std::size_t n_bytes_ = 0;
};

}  // namespace clasp::engine
