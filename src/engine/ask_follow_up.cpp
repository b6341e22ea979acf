// A question that follows others: which tokens it sees, and what it leaves for the next one.
#include <algorithm>
#include <utility>

#include "engine/ask_run.h"
#include "engine/follow_up.h"
#include "engine/key_hash.h"

namespace clasp::engine {

namespace {

// All that decides which tokens a question keeps besides its words: the same in two requests, and what one
// kept is what the other would have kept.
std::string key_of_turn(const AskPlan& ask,
                        const std::vector<std::shared_ptr<const PreparedPicture>>& pictures) {
    const AskRequest& request = ask.request;
    KeyHash hash("turn");
    hash.add(request.cache_scope);
    hash.add(policy_hash(ask.policy));
    hash.add(ask.plan.method == nullptr ? std::string_view() : ask.plan.method->name);
    hash.add_number(request.method_options.size());
    for (const std::string& option : request.method_options) hash.add(option);
    hash.add(mass_name(ask.plan.mass));
    hash.add(ask.started.budget.asked);
    hash.add(ask.started.budget.decided);
    hash.add(request.budget_kind);
    hash.add_number(static_cast<std::uint64_t>(ask.positions));
    hash.add_number(!request.use_fusion ? 0U : *request.use_fusion ? 2U : 1U);
    hash.add_number(request.vanilla ? 1U : 0U);
    hash.add_number(static_cast<std::uint64_t>(request.compat));
    hash.add_number(request.select_seed);
    const PictureDetail& detail = request.detail;
    for (const std::size_t limit : {detail.min_tokens, detail.max_tokens, detail.max_tiles})
        hash.add_number(limit);
    for (const std::string& word : {detail.preset, detail.tile_merge, detail.newline}) hash.add(word);
    hash.add_number(pictures.size());
    for (const auto& picture : pictures) {
        hash.add_number(picture->keys.size());
        for (const FeatureKey& key : picture->keys) hash.add(key);
    }
    return hash.finish();
}

// Pieces of text behind the last image.
std::size_t n_behind_images(const Prompt& prompt) {
    std::size_t n = 0;
    while (n < prompt.pieces.size() && prompt.pieces[prompt.pieces.size() - 1 - n].image < 0) ++n;
    return n;
}

// The rows of a choice up to the first stage, whatever the memory has let go meanwhile.
class StartOfChoice : public StartStore {
   public:
    explicit StartOfChoice(SharedStart front) : front_(std::move(front)) {}
    [[nodiscard]] bool keeps(StartPart part) const override { return part == StartPart::Front; }
    SharedStart find(StartPart /*part*/, const std::string& /*key*/) override { return front_; }
    void keep(StartPart /*part*/, const std::string& /*key*/, SharedStart /*start*/) override {}

   private:
    SharedStart front_;
};

}  // namespace

Status AskRun::look_back(Lane& lane) {
    const AskRequest& request = plan_->request;
    if (state_.prompts == nullptr || (!plan_->pictures.empty() && state_.memory == nullptr)) {
        history_notes_.emplace_back("nothing of earlier questions is kept here, so this one chooses anew");
        return ok_status();
    }
    const base::Stopwatch watch;
    for (const PlannedPicture& picture : plan_->pictures) {
        CLASP_ASSIGN_OR_RETURN(auto prepared, prepare_picture(picture, *state_.vision, request.want_pictures,
                                                              state_.memory.get(), request.cancel));
        prepared_.push_back(std::move(prepared));
    }
    turn_key_ = key_of_turn(*plan_, prepared_);
    const auto found = state_.prompts->find_turn(turn_key_, said_in(plan_->prompt));
    if (!found) {
        if (!request.history.empty()) {
            history_notes_.emplace_back(
                "the tokens of the question before are not there, so this one chooses anew");
        }
        return ok_status();
    }
    if (request.history_mode == HistoryMode::Auto) {
        CLASP_ASSIGN_OR_RETURN(history_.missed, missed_by(lane, *found->turn->choice));
        look_back_ms_ = watch.elapsed_ms();
        if (!history_.missed || *history_.missed > kMaxMissedShare) return ok_status();
    }
    return go_on_from(*found);
}

Result<std::optional<double>> AskRun::missed_by(Lane& lane, const Choice& choice) const {
    const std::optional<double> unknown;
    // What left before the decoder has no score.
    if (!choice.visual.reports.empty()) return unknown;
    if (choice.kept.empty()) return std::optional<double>(0.0);
    if (choice.front == nullptr && choice.input.stages.front().layer > 0) return unknown;
    const std::size_t n_front = choice.input.parts.size() - n_behind_images(choice.prompt);
    std::vector<PromptPart> parts(choice.input.parts.begin(),
                                  choice.input.parts.begin() + static_cast<std::ptrdiff_t>(n_front));
    const std::vector<PromptPiece>& pieces = plan_->prompt.pieces;
    for (std::size_t i = pieces.size() - n_behind_images(plan_->prompt); i < pieces.size(); ++i) {
        parts.push_back({.tokens = pieces[i].tokens});
    }
    std::vector<std::size_t> rows_per_image;
    for (const ArrangedImage& image : choice.input.images) rows_per_image.push_back(image.n_rows);
    CLASP_ASSIGN_OR_RETURN(const PromptLayout layout, lay_out(plan_->prompt, rows_per_image));
    const PrefillStage stage = {.layer = choice.input.stages.front().layer,
                                .needs = {.scores = true},
                                .reference = reference_tokens(layout, methods::Reference::Instruction)};
    StartOfChoice start(choice.front);
    PrefillRequest looking;
    looking.parts = parts;
    looking.stages = std::span(&stage, 1);
    looking.selector = [](const StageView& /*view*/) -> Result<StageChoice> { return StageChoice(); };
    looking.positions = plan_->positions;
    looking.starts = &start;
    looking.cancel = plan_->request.cancel;
    CLASP_ASSIGN_OR_RETURN(Sequence scratch, Sequence::create(state_.text));
    CLASP_ASSIGN_OR_RETURN(const auto run, lane.executor().start(scratch, looking));
    CLASP_RETURN_IF_ERROR(run->advance(static_cast<std::size_t>(stage.layer)));
    CLASP_ASSIGN_OR_RETURN(const std::vector<float> scores, run->look_ahead());
    return std::optional<double>(missed_share(scores, choice.kept));
}

Status AskRun::go_on_from(const FoundTurn& found) {
    const Turn& turn = *found.turn;
    const std::vector<std::int32_t> said = said_in(plan_->prompt);
    const std::size_t n_shared = turn.sequence.tokens().size() - (turn.said.size() - found.n_shared);
    const auto room = static_cast<std::int32_t>(said.size() - found.n_shared) +
                      room_for(static_cast<std::int32_t>(plan_->request.generation.max_tokens));
    CLASP_ASSIGN_OR_RETURN(Sequence sequence, turn.sequence.fork(0));
    CLASP_RETURN_IF_ERROR(sequence.cut_back(n_shared));
    // Frequencies of positions that change with the length of the whole were used for what is there.
    const model::TextModel& text = *state_.text;
    if (model::rope_factors_for(text.config(), text.weights(), sequence.next_position() + room) !=
        sequence.rope_factors()) {
        return ok_status();
    }
    CLASP_RETURN_IF_ERROR(sequence.reserve(room));
    sequence_.emplace(std::move(sequence));
    more_.assign(said.begin() + static_cast<std::ptrdiff_t>(found.n_shared), said.end());
    choice_ = turn.choice;
    history_.did = HistoryMode::Reuse;
    history_.n_tokens = n_shared;
    phase_ = Phase::Read;
    return ok_status();
}

Status AskRun::read_on(Lane& lane, std::size_t n_layers) {
    const base::Stopwatch watch;
    const AskRequest& request = plan_->request;
    if (reading_on_ == nullptr) {
        if (request.on_reused) request.on_reused(history_.n_tokens);
        if (request.on_progress)
            prefilling_.emplace(request.on_progress, Progress::Phase::Prefill, plan_->work.back());
        CLASP_ASSIGN_OR_RETURN(reading_on_, lane.executor().start_extending(*sequence_, more_));
    }
    CLASP_RETURN_IF_ERROR(reading_on_->advance(n_layers, request.cancel));
    if (prefilling_) prefilling_->at(plan_->work.back() * reading_on_->share_done());
    reading_on_ms_ += watch.elapsed_ms();
    return reading_on_->is_done() ? begin_writing_on() : ok_status();
}

Status AskRun::begin_writing_on() {
    std::vector<float> logits = reading_on_->take_logits();
    reading_on_.reset();
    if (prefilling_) prefilling_->finish();
    answer_ = choice_->answer;
    answer_.chosen_class = plan_->plan.chosen_class;
    answer_.tokens.text = plan_->shape.n_text;
    answer_.kv_bytes = sequence_->kv_bytes();
    answer_.notes = plan_->notes;
    answer_.timings.route_ms = plan_->plan.route_ms;
    answer_.timings.prefill_ms = reading_on_ms_;
    if (!prepared_.empty()) answer_.cache_hit = true;
    for (const auto& picture : prepared_) {
        if (plan_->request.want_pictures) answer_.pictures.push_back(picture->image);
    }
    return write_after(std::move(logits));
}

void AskRun::keep_turn() {
    // No memory for a copy is no reason to lose the answer.
    if (!sequence_->trim().ok()) return;
    Turn turn = {turn_key_, said_in(plan_->prompt), std::move(*sequence_), choice_};
    const auto tokens = turn.sequence.tokens();
    const std::size_t n_read =
        choice_ == nullptr ? turn.sequence.n_prompt() : history_.n_tokens + more_.size();
    turn.said.insert(turn.said.end(), tokens.begin() + static_cast<std::ptrdiff_t>(n_read), tokens.end());
    if (choice_ == nullptr) {
        auto choice = std::make_shared<Choice>();
        choice->end = question_end(plan_->prompt);
        choice->prompt = std::move(plan_->prompt);
        choice->visual = std::move(visual_);
        choice->input = std::move(input_);
        choice->front = front_;
        choice->kept = std::move(kept_);
        choice->answer = std::move(described_);
        turn.choice = std::move(choice);
    }
    state_.prompts->keep_turn(std::make_shared<const Turn>(std::move(turn)));
}

}  // namespace clasp::engine
