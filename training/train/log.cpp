#include "train/log.h"

#include <algorithm>

#include "nn/gemm.h"

namespace clasp::training {
namespace {

void add_scores(const MentionScores& from, MentionScores& to) {
    for (std::size_t i = 0; i < to.hits.size(); ++i) {
        to.hits[i] += from.hits[i];
        to.trials[i] += from.trials[i];
    }
}

static_assert(world::kClipForms + 1 == world::kClasses);

std::string group_name(const Phase& phase, int group) {
    return std::string(phase.frames > 1 ? world::name(static_cast<world::ClipForm>(group))
                                        : world::class_name(group));
}

}  // namespace

void TrainingLog::add(const Batch& batch, const AuxScores& aux, const AnswerScores& answers) {
    aux_loss_ += aux.loss;
    answer_loss_ += answers.loss;
    relation_loss_ += answers.relation_loss;
    for (std::size_t i = 0; i < aux_hits_.size(); ++i) {
        aux_hits_[i] += aux.hits[i];
        aux_trials_[i] += aux.trials[i];
    }
    add_scores(answers.mentions, mentions_);
    add_scores(answers.early_mentions, early_mentions_);
    for (std::size_t i = 0; i < answers.is_exact.size(); ++i) {
        if (batch.text.question_class[i] == kProbeClass) {
            ++probe_trials_;
            probe_hits_ += answers.is_exact[i];
            continue;
        }
        const auto class_id = static_cast<std::size_t>(batch.text.question_class[i]);
        ++trials_[class_id];
        hits_[class_id] += answers.is_exact[i];
        class_loss_[class_id] += static_cast<double>(answers.question_loss[i]);
    }
}

void TrainingLog::write(const RunState& state, const Phase& phase, float rate, float norm) {
    std::FILE* file = std::fopen(path_.c_str(), "a");
    if (file == nullptr) return;  // the log is a convenience; training goes on
    const auto steps = static_cast<double>(state.step - last_step_);
    const double seconds = state.seconds - last_seconds_;
    const auto share = [](long hits, long trials) {
        return trials > 0 ? static_cast<double>(hits) / static_cast<double>(trials) : 0.0;
    };
    std::fprintf(file,
                 "{\"phase\":\"%s\",\"step\":%ld,\"phase_step\":%d,\"pictures\":%llu,\"rate\":%.3g,"
                 "\"norm\":%.3f,\"answer_loss\":%.4f,\"aux_loss\":%.4f,\"seconds\":%.1f",
                 phase.name.c_str(), state.step, state.phase_step,
                 static_cast<unsigned long long>(state.pictures), static_cast<double>(rate),
                 static_cast<double>(norm), answer_loss_ / steps, aux_loss_ / steps, state.seconds);
    std::fprintf(file, ",\"pictures_per_second\":%.2f,\"gflops\":%.1f",
                 static_cast<double>(state.pictures - last_pictures_) / seconds,
                 static_cast<double>(gemm_flops - last_flops_) / seconds * 1e-9);
    if (probe_trials_ > 0) std::fprintf(file, ",\"probes\":%.3f", share(probe_hits_, probe_trials_));
    if (phase.relation > 0) std::fprintf(file, ",\"relation_loss\":%.4f", relation_loss_ / steps);
    std::fprintf(file, ",\"aux\":{");
    for (std::size_t i = 0; i < aux_hits_.size(); ++i) {
        const std::string_view group = i < kAuxGroups.size()    ? kAuxGroups[i].name
                                       : i == kAuxGroups.size() ? "place"
                                                                : "sky";
        if (aux_trials_[i] == 0) continue;
        std::fprintf(file, "%s\"%s\":%.3f", i == 0 ? "" : ",", std::string(group).c_str(),
                     share(aux_hits_[i], aux_trials_[i]));
    }
    for (const auto& [name, scores] :
         {std::pair("mention", &mentions_), std::pair("early", &early_mentions_)}) {
        if (scores->trials[kCountGroup] == 0) continue;
        std::fprintf(file, "},\"%s\":{", name);
        for (std::size_t i = 0; i < kMentionGroups.size(); ++i)
            if (scores->trials[i] > 0)
                std::fprintf(file, "%s\"%s\":%.3f", i == 0 ? "" : ",",
                             std::string(kMentionGroups[i].name).c_str(),
                             share(scores->hits[i], scores->trials[i]));
    }
    std::fprintf(file, "},\"exact\":{");
    for (int c = 0; c < world::kClasses; ++c)
        std::fprintf(file, "%s\"%s\":%.3f", c == 0 ? "" : ",", group_name(phase, c).c_str(),
                     share(hits_[static_cast<std::size_t>(c)], trials_[static_cast<std::size_t>(c)]));
    std::fprintf(file, "},\"loss\":{");
    for (std::size_t c = 0; c < trials_.size(); ++c)
        std::fprintf(file, "%s\"%s\":%.3f", c == 0 ? "" : ",", group_name(phase, static_cast<int>(c)).c_str(),
                     class_loss_[c] / static_cast<double>(std::max(1L, trials_[c])));
    std::fprintf(file, "}}\n");
    std::fclose(file);
    aux_loss_ = answer_loss_ = relation_loss_ = 0;
    aux_hits_.fill(0);
    aux_trials_.fill(0);
    mentions_ = {};
    early_mentions_ = {};
    hits_.fill(0);
    trials_.fill(0);
    class_loss_.fill(0);
    probe_hits_ = probe_trials_ = 0;
    last_seconds_ = state.seconds;
    last_flops_ = gemm_flops;
    last_pictures_ = state.pictures;
    last_step_ = state.step;
}

}  // namespace clasp::training
