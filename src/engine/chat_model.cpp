#include "engine/chat_model.h"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>

#include "base/mapped_file.h"
#include "llama.h"
#include "model/gguf_reader.h"
#include "model/llama_text.h"
#include "model/text_config.h"

namespace clasp::engine {

namespace {

constexpr std::uint32_t kContext = 2048;  // tokens of list, question and answer together
// Tokens computed at once. Few, because what a deadline interrupts is lost.
constexpr std::uint32_t kBatch = 32;
constexpr std::string_view kUserMark = "{{clasp-question}}";

Status check_file(const base::InputFile& file) {
    CLASP_ASSIGN_OR_RETURN(const base::MappedFile mapped, base::MappedFile::map(file));
    CLASP_ASSIGN_OR_RETURN(const auto reader, model::GgufReader::parse(mapped.bytes()));
    CLASP_RETURN_IF_ERROR(model::check_vocabulary(reader));
    CLASP_RETURN_IF_ERROR(model::check_container(reader));
    CLASP_RETURN_IF_ERROR(model::refuse_parts(reader));
    // What our own graphs cannot run libllama may; but numbers out of range are wrong for both.
    const auto config = model::read_text_config(reader);
    if (!config.ok() && config.status().code() == Code::Corrupt) return config.status();
    return ok_status();
}

// Nothing when libllama does not know the template.
std::optional<std::string> apply_template(const std::string& chat_template, const std::string& system,
                                          const std::string& user) {
    const std::array<llama_chat_message, 2> messages = {{{"system", system.c_str()}, {"user", user.c_str()}}};
    return model::apply_chat_template(chat_template, messages);
}

std::string plain_template(const std::string& system, const std::string& user) {
    return system + "\n\nQuestion: " + user + "\nAnswer: ";
}

bool is_past(void* deadline) {
    return ChatModel::Clock::now() >= *static_cast<const ChatModel::Clock::time_point*>(deadline);
}

}  // namespace

void ChatModel::Free::operator()(llama_context* context) const {
    llama_free(context);
}

ChatModel::~ChatModel() = default;

Result<std::unique_ptr<ChatModel>> ChatModel::load(const std::string& path,
                                                   std::shared_ptr<model::Compute> compute,
                                                   const LogSink& log) {
    CLASP_ASSIGN_OR_RETURN(const base::InputFile file, base::InputFile::open(path));
    CLASP_RETURN_IF_ERROR(check_file(file).with_context(path));
    std::unique_ptr<ChatModel> result(new ChatModel());
    result->compute_ = std::move(compute);

    llama_model_params model_params = llama_model_default_params();
    std::array<ggml_backend_dev_t, 2> devices = {nullptr, nullptr};
    if (result->compute_->has_gpu()) devices[0] = result->compute_->device();
    model_params.devices = devices.data();
    model_params.n_gpu_layers = result->compute_->has_gpu() ? -1 : 0;
    llama_context_params params = llama_context_default_params();
    params.n_batch = kBatch;
    params.n_ubatch = kBatch;
    params.n_threads = static_cast<std::int32_t>(result->compute_->n_threads());
    params.n_threads_batch = params.n_threads;
    params.abort_callback = is_past;
    params.abort_callback_data = &result->deadline_;
    params.no_perf = true;
    try {
        auto loaded = model::load_llama_model(file, model_params);
        if (!loaded.ok()) return loaded.status().with_context(path);
        result->model_ = std::move(*loaded);
        if (llama_model_has_encoder(result->model_.get()) || !llama_model_has_decoder(result->model_.get())) {
            return Status(Code::Unsupported, path + " is not a model that writes text");
        }
        params.n_ctx = std::min(
            kContext, static_cast<std::uint32_t>(std::max(1, llama_model_n_ctx_train(result->model_.get()))));
        result->context_.reset(llama_init_from_model(result->model_.get(), params));
    } catch (const std::exception& error) {
        return Status(Code::Internal, path + ": libllama failed: " + error.what());
    }
    if (result->context_ == nullptr) return Status(Code::OutOfMemory, path + ": no memory to run the model");

    const char* own = llama_model_chat_template(result->model_.get(), nullptr);
    if (own != nullptr && apply_template(own, "", "").has_value()) {
        result->template_ = own;
    } else {
        clasp::log(log, LogLevel::Warning,
                   path +
                       (own == nullptr ? " has no chat template" : " has a chat template that is not known") +
                       "; the question is asked as plain text");
    }
    return result;
}

const llama_vocab* ChatModel::vocabulary() const {
    return llama_model_get_vocab(model_.get());
}

std::string ChatModel::piece(std::int32_t token) const {
    return model::piece(vocabulary(), token, false);
}

Result<std::vector<std::int32_t>> ChatModel::tokenize(std::string_view text, bool parse_special) const {
    return model::tokenize(vocabulary(), text, parse_special);
}

Result<std::vector<std::int32_t>> ChatModel::answer(std::string_view text) const {
    return tokenize(text, false);
}

Result<ChatPrompt> ChatModel::prompt(const std::string& system, std::string_view user) const {
    constexpr std::size_t kMaxBytes = 1U << 20;
    if (system.size() + user.size() > kMaxBytes) {
        return Status(Code::TooLarge,
                      "list and question have more than " + std::to_string(kMaxBytes) + " bytes");
    }
    const std::string mark(kUserMark);
    std::string text = template_.empty() ? plain_template(system, mark)
                                         : apply_template(template_, system, mark).value_or("");
    // Models that think before they answer are told that they have done so, as their own templates do.
    if (template_.find("enable_thinking") != std::string::npos &&
        template_.find("</think>") != std::string::npos) {
        text += "<think>\n\n</think>\n\n";
    }
    const std::size_t at = text.find(kUserMark);
    if (at == std::string::npos || text.find(kUserMark, at + 1) != std::string::npos) {
        return Status(Code::Unsupported, "the question has no place of its own in the chat template");
    }
    const std::string_view whole = text;
    ChatPrompt prompt;
    CLASP_ASSIGN_OR_RETURN(prompt.tokens, tokenize(whole.substr(0, at), true));
    const std::int32_t bos = llama_vocab_bos(vocabulary());
    if (llama_vocab_get_add_bos(vocabulary()) && bos != LLAMA_TOKEN_NULL &&
        (prompt.tokens.empty() || prompt.tokens.front() != bos)) {
        prompt.tokens.insert(prompt.tokens.begin(), bos);
    }
    prompt.n_before_question = prompt.tokens.size();
    CLASP_ASSIGN_OR_RETURN(const auto question, tokenize(user, false));
    CLASP_ASSIGN_OR_RETURN(const auto rest, tokenize(whole.substr(at + mark.size()), true));
    prompt.tokens.insert(prompt.tokens.end(), question.begin(), question.end());
    prompt.tokens.insert(prompt.tokens.end(), rest.begin(), rest.end());
    return prompt;
}

bool ChatModel::has_read(std::span<const std::int32_t> tokens) const {
    return tokens.size() <= known_.size() && std::equal(tokens.begin(), tokens.end(), known_.begin());
}

void ChatModel::forget_from(std::size_t place) {
    llama_memory_t memory = llama_get_memory(context_.get());
    // Models with a state instead of keys and values can only forget everything.
    if (!llama_memory_seq_rm(memory, 0, static_cast<llama_pos>(place), -1)) {
        llama_memory_clear(memory, false);
        place = 0;
    }
    known_.resize(std::min(known_.size(), place));
}

Result<std::span<const float>> ChatModel::read(std::span<const std::int32_t> tokens,
                                               Clock::time_point deadline) {
    if (tokens.empty()) return Status(Code::InvalidArgument, "there are no tokens to read");
    const std::size_t room = llama_n_ctx(context_.get());
    if (tokens.size() > room) {
        return Status(Code::TooLarge, std::to_string(tokens.size()) + " tokens exceed the " +
                                          std::to_string(room) + " that the router model has room for");
    }
    const auto [differs, unused] = std::mismatch(known_.begin(), known_.end(), tokens.begin(), tokens.end());
    // The last token is computed in any case: its logits are wanted.
    const std::size_t shared =
        std::min(static_cast<std::size_t>(differs - known_.begin()), tokens.size() - 1);
    if (shared < known_.size()) forget_from(shared);
    deadline_ = deadline;
    const model::Compute::Work work(*compute_);
    const auto n_threads = static_cast<std::int32_t>(compute_->threads_now());
    llama_set_n_threads(context_.get(), n_threads, n_threads);
    while (known_.size() < tokens.size()) {
        const auto next = tokens.subspan(known_.size());
        std::vector<llama_token> chunk(
            next.begin(),
            next.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(next.size(), kBatch)));
        std::int32_t failed = is_past(&deadline_) ? 2 : 0;
        try {
            if (failed == 0) {
                failed =
                    llama_decode(context_.get(),
                                 llama_batch_get_one(chunk.data(), static_cast<std::int32_t>(chunk.size())));
            }
        } catch (const std::exception& error) {
            forget_from(0);
            return Status(Code::Internal, std::string("libllama failed: ") + error.what());
        }
        if (failed == 0) {
            known_.insert(known_.end(), chunk.begin(), chunk.end());
            continue;
        }
        forget_from(known_.size());
        if (failed == 2) return Status(Code::Deadline, "the router model did not answer in time");
        return Status(Code::Internal, "libllama failed with code " + std::to_string(failed));
    }
    const float* logits = llama_get_logits_ith(context_.get(), -1);
    if (logits == nullptr) return Status(Code::Internal, "libllama gave no logits");
    return std::span<const float>(logits, static_cast<std::size_t>(llama_vocab_n_tokens(vocabulary())));
}

}  // namespace clasp::engine
