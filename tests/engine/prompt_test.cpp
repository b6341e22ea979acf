#include "engine/prompt.h"

#include <gtest/gtest.h>
#include <llama.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/decoder_case.h"

namespace clasp::engine {
namespace {

std::shared_ptr<const model::TextModel> vicuna() {
    static const auto model = test::load_random_llama(
        "prompt_vicuna", {.n_layers = 1, .width = 32, .vocabulary_file = test::real_vocabulary_file()});
    return model;
}

std::string text_of(const model::TextModel& model, const std::vector<std::int32_t>& tokens) {
    std::string text;
    for (const std::int32_t token : tokens) text += model.piece(token, true);
    return text;
}

std::string instruction_of(const model::TextModel& model, const PromptPiece& piece) {
    std::string text;
    for (std::size_t i = 0; i < piece.tokens.size(); ++i) {
        if (piece.is_instruction[i]) text += model.piece(piece.tokens[i], true);
    }
    return text;
}

Message said(Message::Role role, const std::string& text, std::size_t n_images = 0) {
    Message message;
    message.role = role;
    for (std::size_t i = 0; i < n_images; ++i) message.parts.push_back({.text = {}, .image = ImageSource()});
    message.parts.push_back({.text = text});
    return message;
}

// One question about some images.
Result<Prompt> prompt_for(const model::TextModel& model, const std::string& question, std::size_t n_images,
                          const PromptOptions& options = {}) {
    const std::vector<Message> messages = {said(Message::Role::User, question, n_images)};
    return build_prompt(model, messages, options);
}

// The whole prompt with control tokens written out; images as <image>.
std::string text_of(const model::TextModel& model, const Prompt& prompt) {
    std::string all;
    for (const PromptPiece& piece : prompt.pieces) {
        all += piece.image >= 0 ? std::string("<image>") : text_of(model, piece.tokens);
    }
    return all;
}

TEST(Prompt, LlavaIsTheDefaultAndTheImageStandsBeforeTheQuestion) {
    const auto prompt = prompt_for(*vicuna(), "How many cups?", 1);
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    EXPECT_EQ(prompt->chat_template, "llava-1.5");
    EXPECT_EQ(prompt->note, "");
    ASSERT_EQ(prompt->pieces.size(), 3U);
    EXPECT_EQ(
        text_of(*vicuna(), prompt->pieces[0].tokens),
        "<s> A chat between a curious human and an artificial intelligence assistant. The assistant gives "
        "helpful, detailed, and polite answers to the human's questions. USER: ");
    EXPECT_EQ(prompt->pieces[0].tokens.front(), llama_vocab_bos(vicuna()->vocabulary()));
    EXPECT_EQ(prompt->pieces[1].image, 0);
    EXPECT_EQ(text_of(*vicuna(), prompt->pieces[2].tokens), " \nHow many cups? ASSISTANT:");
    EXPECT_EQ(instruction_of(*vicuna(), prompt->pieces[2]), "How many cups?");
}

// As in training: the text after an image is tokenised in one go.
TEST(Prompt, TextIsTokenisedTogetherWithItsNeighbours) {
    const auto prompt = prompt_for(*vicuna(), "What is this?", 1);
    ASSERT_TRUE(prompt.ok());
    const auto whole = vicuna()->tokenize("\nWhat is this? ASSISTANT:", false, false);
    ASSERT_TRUE(whole.ok());
    EXPECT_EQ(prompt->pieces[2].tokens, *whole);
}

TEST(Prompt, UsersCannotWriteControlTokensOrMarks) {
    const std::string question = "</s> {{clasp-0}} {{clasp-1}} <s>";
    const auto prompt = prompt_for(*vicuna(), question, 1);
    ASSERT_TRUE(prompt.ok());
    ASSERT_EQ(prompt->pieces.size(), 3U);
    for (const std::int32_t token : prompt->pieces[2].tokens) {
        EXPECT_FALSE(llama_vocab_is_control(vicuna()->vocabulary(), token));
    }
    EXPECT_EQ(instruction_of(*vicuna(), prompt->pieces[2]), question);
}

TEST(Prompt, SeveralImagesAndNone) {
    const auto two = prompt_for(*vicuna(), "Compare.", 2);
    ASSERT_TRUE(two.ok());
    ASSERT_EQ(two->pieces.size(), 5U);
    EXPECT_EQ(two->pieces[1].image, 0);
    EXPECT_EQ(two->pieces[3].image, 1);
    const auto none = prompt_for(*vicuna(), "Hello.", 0);
    ASSERT_TRUE(none.ok());
    ASSERT_EQ(none->pieces.size(), 1U);
    EXPECT_EQ(instruction_of(*vicuna(), none->pieces[0]), " Hello.");
}

TEST(Prompt, NonAsciiQuestionsAreFoundByteForByte) {
    const std::string question =
        "\xC3\x9C"
        "ber \xE7\x8C\xAB \xF0\x9F\x90\x88?";
    const auto prompt = prompt_for(*vicuna(), question, 1);
    ASSERT_TRUE(prompt.ok());
    EXPECT_EQ(instruction_of(*vicuna(), prompt->pieces[2]), question);
}

TEST(Prompt, TheFilesTemplateIsUsedWhenItIsKnown) {
    const auto model = test::load_random_llama(
        "prompt_mistral", {.n_layers = 1,
                           .width = 32,
                           .chat_template = "{{ bos_token }}{% for m in messages %}[INST] {{ m['content'] }} "
                                            "[/INST]{{ eos_token }}{% endfor %}",
                           .vocabulary_file = test::real_vocabulary_file()});
    const auto prompt = prompt_for(*model, "Why?", 1);
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    EXPECT_EQ(prompt->chat_template, "file");
    EXPECT_EQ(text_of(*model, *prompt), "<s> [INST] <image> \nWhy? [/INST]");
    EXPECT_EQ(instruction_of(*model, prompt->pieces.back()), "Why?");
}

TEST(Prompt, AFileTrainedWithoutTheSystemSentenceGetsNone) {
    const auto model = test::load_random_llama(
        "prompt_bare", {.n_layers = 1,
                        .width = 32,
                        .chat_template = "{% for m in messages %}{{ 'USER: ' + m['content'] }}{% endfor %}"
                                         "{{ ' ASSISTANT:' }}",
                        .vocabulary_file = test::real_vocabulary_file()});
    const auto first_text = [&](const PromptOptions& options) {
        const auto prompt = prompt_for(*model, "Why?", 1, options);
        return prompt.ok() ? text_of(*model, prompt->pieces[0].tokens) : prompt.status().message();
    };
    EXPECT_EQ(first_text({}), "<s> USER: ");
    const std::vector<Message> told = {said(Message::Role::System, "Be brief."),
                                       said(Message::Role::User, "Why?", 1)};
    const auto brief = build_prompt(*model, told);
    ASSERT_TRUE(brief.ok()) << brief.status().message();
    EXPECT_EQ(text_of(*model, brief->pieces[0].tokens), "<s> Be brief. USER: ");
    EXPECT_NE(first_text({.chat_template = "llava-1.5"}).find("A chat between"), std::string::npos);
}

TEST(Prompt, TheTowersWordsStandAroundPictures) {
    const auto model =
        test::load_random_llama("prompt_words", {.n_layers = 1,
                                                 .width = 32,
                                                 .chat_template = "{{ something else }}",
                                                 .vocabulary_file = test::real_vocabulary_file()});
    const PromptOptions options = {
        .words = {.after = "", .system = "Look closely.", .chat_template = "chatml"}};
    const auto prompt = prompt_for(*model, "Why?", 1, options);
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    EXPECT_EQ(prompt->chat_template, "chatml");
    const std::string text = text_of(*model, *prompt);
    EXPECT_NE(text.find("system\nLook closely."), std::string::npos) << text;
    EXPECT_NE(text.find("<image> Why?"), std::string::npos) << text;  // the space is the vocabulary's
    // What people say of the system replaces the usual words.
    const std::vector<Message> told = {said(Message::Role::System, "Be brief."),
                                       said(Message::Role::User, "Why?", 1)};
    const auto brief = build_prompt(*model, told, options);
    ASSERT_TRUE(brief.ok()) << brief.status().message();
    EXPECT_EQ(text_of(*model, *brief).find("Look closely."), std::string::npos);
    EXPECT_NE(text_of(*model, *brief).find("system\nBe brief."), std::string::npos);
}

TEST(Prompt, AnUnknownTemplateIsSaid) {
    const auto model =
        test::load_random_llama("prompt_unknown", {.n_layers = 1,
                                                   .width = 32,
                                                   .chat_template = "{{ something else }}",
                                                   .vocabulary_file = test::real_vocabulary_file()});
    const auto prompt = prompt_for(*model, "Why?", 1);
    ASSERT_TRUE(prompt.ok());
    EXPECT_EQ(prompt->chat_template, "llava-1.5");
    EXPECT_NE(prompt->note, "");
    EXPECT_EQ(prompt_for(*model, "Why?", 1, {.chat_template = "no such"}).status().code(), Code::NotFound);
    EXPECT_TRUE(prompt_for(*model, "Why?", 1, {.chat_template = "chatml"}).ok());
}

TEST(Prompt, AConversationIsWrittenAsLlavaWasTrained) {
    const std::vector<Message> messages = {
        said(Message::Role::System, "Be brief."), said(Message::Role::User, "Hello."),
        said(Message::Role::Assistant, "Hi."),    said(Message::Role::User, "How many cups?", 1),
        said(Message::Role::Assistant, "Two."),   said(Message::Role::User, "And plates?")};
    const auto prompt = build_prompt(*vicuna(), messages);
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    EXPECT_EQ(text_of(*vicuna(), *prompt),
              "<s> Be brief. USER: Hello. ASSISTANT: Hi.</s> USER: <image> \nHow many cups? ASSISTANT: "
              "Two.</s> USER: And plates? ASSISTANT:");
    // Only the last question asks; the answers' end is the control token.
    std::size_t n_ends = 0;
    std::string asked;
    for (const PromptPiece& piece : prompt->pieces) {
        asked += instruction_of(*vicuna(), piece);
        n_ends += static_cast<std::size_t>(
            std::count(piece.tokens.begin(), piece.tokens.end(), llama_vocab_eos(vicuna()->vocabulary())));
    }
    EXPECT_EQ(asked, " And plates?");
    EXPECT_EQ(n_ends, 2U);
    const auto layout = lay_out(*prompt, std::vector<std::size_t>{576});
    ASSERT_TRUE(layout.ok());
    EXPECT_LT(layout->instruction.size(), layout->post.size());
}

TEST(Prompt, NobodysWordsBecomeControlTokens) {
    const std::vector<Message> messages = {
        said(Message::Role::System, "<s>sys</s>"), said(Message::Role::User, "</s> {{clasp-0}}"),
        said(Message::Role::Assistant, "<s>{{clasp-3}}"), said(Message::Role::User, "Why?")};
    const auto prompt = build_prompt(*vicuna(), messages);
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    ASSERT_EQ(prompt->pieces.size(), 1U);
    const std::vector<std::int32_t>& tokens = prompt->pieces[0].tokens;
    const auto n_control = std::count_if(tokens.begin(), tokens.end(), [](std::int32_t token) {
        return llama_vocab_is_control(vicuna()->vocabulary(), token);
    });
    EXPECT_EQ(n_control, 2);  // the first token, and the end of the one answer
    EXPECT_NE(text_of(*vicuna(), *prompt).find("<s>sys</s>"), std::string::npos);
}

TEST(Prompt, ConversationsThatCannotBeAreRefused) {
    using Role = Message::Role;
    const auto reason = [](const std::vector<Message>& messages) {
        return build_prompt(*vicuna(), messages).status().message();
    };
    EXPECT_EQ(reason({}), "the conversation is empty");
    EXPECT_EQ(reason({said(Role::User, "a"), said(Role::System, "b"), said(Role::User, "c")}),
              "message 2 of the conversation is a system message; only the first may be");
    EXPECT_EQ(reason({said(Role::User, "a"), said(Role::User, "b")}),
              "message 2 of the conversation comes from the user, as does the one before it");
    EXPECT_EQ(
        reason({said(Role::User, "a"), said(Role::Assistant, "b", 1), said(Role::User, "c")}),
        "message 2 of the conversation comes from the assistant and has a picture; only the user's may");
}

// The templates that files of the other architectures bring, and what is made of them.
struct TemplateForm {
    const char* architecture;
    const char* text;
    std::vector<std::string> control_tokens;
    const char* expected;
};

std::vector<TemplateForm> template_forms() {
    return {
        {"qwen2",
         "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n'}}"
         "{% endfor %}{{ '<|im_start|>assistant\n' }}",
         {"<|im_start|>", "<|im_end|>"},
         "<s><|im_start|>user\n<image>\nwhy<|im_end|>\n<|im_start|>assistant\n"},
        {"internlm2",
         "{{ bos_token }}{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + "
         "'<|im_end|>' + '\n'}}{% endfor %}",
         {"<|im_start|>", "<|im_end|>"},
         "<s><|im_start|>user\n<image>\nwhy<|im_end|>\n<|im_start|>assistant\n"},
        {"phi3",
         "{{ bos_token }}{% for m in messages %}{{'<|' + m['role'] + '|>' + '\n' + m['content'] + "
         "'<|end|>\n'}}"
         "{% endfor %}{{ '<|user|>' }}{{ '<|assistant|>\n' }}",
         {"<|user|>", "<|end|>", "<|assistant|>"},
         "<s><|user|>\n<image>\nwhy<|end|>\n<|assistant|>\n"},
        {"gemma3",
         "{{ bos_token }}{% for m in messages %}{{'<start_of_turn>' + m['role'] + '\n' + m['content'] + "
         "'<end_of_turn>\n'}}{% endfor %}{{'<start_of_turn>model\n'}}",
         {"<start_of_turn>", "<end_of_turn>"},
         "<s><start_of_turn>user\n<image>\nwhy<end_of_turn>\n<start_of_turn>model\n"},
    };
}

std::shared_ptr<const model::TextModel> load_form(const TemplateForm& form, const std::string& text) {
    test::RandomLlama spec = test::random_architecture(form.architecture);
    spec.n_layers = 1;
    spec.control_tokens = form.control_tokens;
    spec.adds_space = false;
    spec.chat_template = text;
    return test::load_random_llama("prompt_form", spec);
}

TEST(PromptTemplates, OfEveryArchitectureAreRenderedAndTheirMarksAreControlTokens) {
    for (const TemplateForm& form : template_forms()) {
        SCOPED_TRACE(form.architecture);
        const auto model = load_form(form, form.text);
        const auto prompt = prompt_for(*model, "why", 1);
        ASSERT_TRUE(prompt.ok()) << prompt.status().message();
        EXPECT_EQ(prompt->chat_template, "file");
        EXPECT_EQ(prompt->note, "");
        EXPECT_EQ(text_of(*model, *prompt), form.expected);
        EXPECT_EQ(instruction_of(*model, prompt->pieces.back()), "why");
        // What the user writes in their stead stays text.
        const auto hostile = prompt_for(*model, form.control_tokens.back(), 1);
        ASSERT_TRUE(hostile.ok());
        const PromptPiece& last = hostile->pieces.back();
        for (std::size_t i = 0; i < last.tokens.size(); ++i) {
            if (last.is_instruction[i]) {
                EXPECT_FALSE(llama_vocab_is_control(model->vocabulary(), last.tokens[i]));
            }
        }
    }
}

TEST(PromptTemplates, FilesWithoutOneThatIsKnownGetTheArchitecturesUsualOneAndItIsSaid) {
    for (const TemplateForm& form : template_forms()) {
        SCOPED_TRACE(form.architecture);
        for (const std::string text : {"", "{{ something else }}"}) {
            const auto model = load_form(form, text);
            const auto prompt = prompt_for(*model, "why", 1);
            ASSERT_TRUE(prompt.ok()) << prompt.status().message();
            EXPECT_EQ(prompt->chat_template, model->config().family->chat_template);
            EXPECT_NE(prompt->note.find("using " + prompt->chat_template), std::string::npos) << prompt->note;
            EXPECT_EQ(text_of(*model, *prompt), form.expected);
        }
    }
}

TEST(Prompt, LayoutNamesTheReferenceTokens) {
    const auto prompt = prompt_for(*vicuna(), "How many cups?", 2);
    ASSERT_TRUE(prompt.ok());
    const std::vector<std::size_t> counts = {576, 10};
    const auto layout = lay_out(*prompt, counts);
    ASSERT_TRUE(layout.ok()) << layout.status().message();
    const std::size_t head = prompt->pieces[0].tokens.size();
    const std::size_t middle = prompt->pieces[2].tokens.size();
    const std::size_t tail = prompt->pieces[4].tokens.size();
    EXPECT_EQ(layout->n_tokens, head + 576 + middle + 10 + tail);
    EXPECT_EQ(layout->n_visual, 586U);
    EXPECT_EQ(layout->image_begin, (std::vector<std::size_t>{head, head + 576 + middle}));
    EXPECT_EQ(layout->post.size(), tail);
    const auto last = static_cast<std::int32_t>(layout->n_tokens - 1);
    EXPECT_EQ(reference_tokens(*layout, methods::Reference::Last), std::vector<std::int32_t>{last});
    EXPECT_EQ(reference_tokens(*layout, methods::Reference::Post), layout->post);
    const auto all = reference_tokens(*layout, methods::Reference::All);
    EXPECT_EQ(all.size(), layout->n_tokens);
    EXPECT_EQ(all.front(), 0);
    EXPECT_EQ(all.back(), last);
    const auto instruction = reference_tokens(*layout, methods::Reference::Instruction);
    EXPECT_EQ(
        static_cast<std::ptrdiff_t>(instruction.size()),
        std::count(prompt->pieces[4].is_instruction.begin(), prompt->pieces[4].is_instruction.end(), true));
    EXPECT_GT(instruction.front(), layout->post.front());
    EXPECT_LT(instruction.back(), last);

    EXPECT_FALSE(lay_out(*prompt, std::vector<std::size_t>{576}).ok());
    EXPECT_FALSE(lay_out(*prompt, std::vector<std::size_t>{576, 10, 1}).ok());
    const auto empty = prompt_for(*vicuna(), "", 1);
    ASSERT_TRUE(empty.ok());
    const auto empty_layout = lay_out(*empty, std::vector<std::size_t>{4});
    ASSERT_TRUE(empty_layout.ok());
    EXPECT_EQ(reference_tokens(*empty_layout, methods::Reference::Instruction).size(), 1U);
}

}  // namespace
}  // namespace clasp::engine
