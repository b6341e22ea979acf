// Byte-level BPE in the manner of GPT-2, as llama.cpp's `tokenizer.ggml.model = gpt2` reads it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace clasp::training {

class Vocabulary {
   public:
    static constexpr int kBegin = 0;  // <s>
    static constexpr int kEnd = 1;    // </s>
    static constexpr int kPad = 2;    // <pad>
    static constexpr int kSpecials = 3;

    // Learns merges from the words of these texts until every word is one token or the vocabulary
    // is full. Deterministic. `seeds` are merged first, from left to right; `apart` words (such as
    // the texts of signs) are left out.
    static Vocabulary learn(const std::vector<std::string>& texts, const std::vector<std::string>& seeds,
                            int limit);
    // From the stored form: tokens and merges as in a GGUF file.
    static Vocabulary load(std::vector<std::string> tokens, std::vector<std::string> merges);

    int size() const { return static_cast<int>(tokens_.size()); }
    // Printable forms (bytes mapped to letters as GPT-2 does) and "left right" merges, by rank.
    const std::vector<std::string>& tokens() const { return tokens_; }
    const std::vector<std::string>& merges() const { return merges_; }

    std::vector<int> encode(std::string_view text) const;
    std::string decode(const std::vector<int>& ids) const;  // specials become nothing

   private:
    void add_bytes();
    void add_merge(const std::string& left, const std::string& right);
    void add_token(const std::string& token);
    std::vector<std::string> split_word(std::string_view printable) const;

    std::vector<std::string> tokens_;
    std::vector<std::string> merges_;
    std::map<std::string, int> ids_;
    std::map<std::pair<std::string, std::string>, int> ranks_;
};

// GPT-2's split of a text into words, for ASCII; other bytes count as letters.
std::vector<std::string_view> split_words(std::string_view text);

// The vocabulary of the embedded model, learned from sentences of the train split.
Vocabulary scene_vocabulary();

}  // namespace clasp::training
