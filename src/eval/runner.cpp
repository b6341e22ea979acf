#include "eval/runner.h"

#include <algorithm>
#include <map>

#include "base/stopwatch.h"
#include "base/text.h"
#include "clasp/classes.h"
#include "clasp/route.h"
#include "route/stress.h"

namespace clasp::eval {

namespace {

// Trouble that belongs to one picture, not to the run: it is not there, or it cannot be decoded. Once its
// bytes are read, something that is not found is a setting of the run.
bool is_picture_trouble(Code code, bool is_read) {
    return code == Code::Corrupt || code == Code::TooLarge || code == Code::Unsupported ||
           (code == Code::NotFound && !is_read);
}

// What asking under one variant takes, made once per run.
struct Lane {
    const Variant* variant = nullptr;
    std::string key;
    AskRequest request;
    std::vector<std::size_t> classes;  // per item of the data set
};

AnswerRecord make_record(const Lane& lane, const Item& item, std::size_t class_id, Answer answer) {
    AnswerRecord record;
    record.variant = lane.key;
    record.label = lane.variant->label;
    record.method = lane.variant->method.empty() ? answer.method : lane.variant->method;
    record.budget = lane.variant->budget;
    record.item = item.id;
    record.text = std::move(answer.text);
    record.class_id = class_id;
    record.average_tokens = answer.tokens.average;
    const AskTimings& times = answer.timings;
    record.encode_ms = times.image_ms + times.encode_ms;
    record.has_own_encoder = answer.has_own_encoder;
    record.decode_ms = times.decode_ms;
    record.prefill_ms = std::max(0.0, times.total_ms - record.encode_ms - record.decode_ms);
    record.generated = answer.generated;
    record.stopped_at_limit = answer.stopped == Stopped::MaxTokens;
    return record;
}

class Run {
   public:
    Run(const RunRequest& request, const Asker& asker, RecordTable known) : request_(request), asker_(asker) {
        report_.records = std::move(known);
    }

    Result<RunReport> go() {
        CLASP_RETURN_IF_ERROR(open_lanes());
        progress_.total = request_.items.size() * lanes_.size();
        for (const std::size_t place : in_picture_order()) {
            if (request_.cancel != nullptr && request_.cancel->load()) report_.was_cancelled = true;
            if (report_.was_cancelled) break;
            CLASP_RETURN_IF_ERROR(ask_all(place));
        }
        report_.seconds = watch_.elapsed_ms() / 1000.0;
        return std::move(report_);
    }

   private:
    Status open_lanes() {
        const std::size_t max_tokens =
            request_.max_tokens > 0 ? request_.max_tokens : request_.benchmark->max_new_tokens;
        std::map<ClassSource, std::vector<std::size_t>> routed;
        for (const Variant& variant : request_.variants) {
            CLASP_RETURN_IF_ERROR(check_variant(variant));
            Lane lane;
            lane.variant = &variant;
            lane.key = variant_key(variant, max_tokens);
            CLASP_ASSIGN_OR_RETURN(lane.request, variant_request(variant, max_tokens));
            if (!routed.contains(variant.classes)) {
                CLASP_ASSIGN_OR_RETURN(routed[variant.classes],
                                       route_items(*request_.dataset, variant.classes));
            }
            CLASP_ASSIGN_OR_RETURN(lane.classes, stress_classes(routed[variant.classes], variant));
            lane.request.cancel = request_.cancel;
            lanes_.push_back(std::move(lane));
        }
        return ok_status();
    }

    // The shard's places with questions on one picture beside each other, pictures in order of appearance.
    [[nodiscard]] std::vector<std::size_t> in_picture_order() const {
        std::map<std::string, std::size_t> first;
        std::vector<std::pair<std::size_t, std::size_t>> order;
        for (const std::size_t place : request_.items) {
            const Item& item = request_.dataset->items[place];
            const std::string picture = item.embedded.length > 0
                                            ? item.embedded.file + ":" + std::to_string(item.embedded.offset)
                                            : item.image;
            order.emplace_back(first.emplace(picture, place).first->second, place);
        }
        std::sort(order.begin(), order.end());
        std::vector<std::size_t> places;
        for (const auto& [picture, place] : order) places.push_back(place);
        return places;
    }

    Status ask_all(std::size_t place) {
        const Item& item = request_.dataset->items[place];
        std::vector<const Lane*> open;
        for (const Lane& lane : lanes_) {
            const auto known = report_.records.find(lane.key);
            const bool is_known = known != report_.records.end() && known->second.contains(item.id);
            if (is_known) {
                ++report_.reused;
                advance(1);
            } else {
                open.push_back(&lane);
            }
        }
        if (open.empty()) return ok_status();
        if (!item.has_image()) {
            report_.without_picture.push_back({item.id, "the question has no picture"});
            advance(open.size());
            return ok_status();
        }
        const auto picture = read_image(item);
        if (!picture && is_picture_trouble(picture.status().code(), false)) {
            return skip(item, picture.status(), open.size());
        }
        if (!picture) return picture.status().with_context("question " + base::in_quotes(item.id));
        for (std::size_t i = 0; i < open.size(); ++i) {
            if (request_.cancel != nullptr && request_.cancel->load()) return ok_status();
            AskRequest asking = open[i]->request;
            asking.images = {{{}, *picture}};
            asking.question = item.prompt;
            const std::size_t class_id = open[i]->classes[place];
            asking.class_choice = std::to_string(class_id);
            auto answer = asker_(asking);
            if (!answer && answer.status().code() == Code::Cancelled) return ok_status();
            if (!answer && i == 0 && is_picture_trouble(answer.status().code(), true)) {
                return skip(item, answer.status(), open.size());
            }
            if (!answer) return answer.status().with_context("question " + base::in_quotes(item.id));
            if (answer->stopped == Stopped::Cancelled) return ok_status();
            CLASP_RETURN_IF_ERROR(keep(make_record(*open[i], item, class_id, std::move(answer).value())));
        }
        return ok_status();
    }

    Status keep(AnswerRecord record) {
        if (request_.writer != nullptr) CLASP_RETURN_IF_ERROR(request_.writer->append(record));
        ++report_.asked;
        std::string item = record.item;
        report_.records[record.variant].emplace(std::move(item), std::move(record));
        advance(1);
        return ok_status();
    }

    Status skip(const Item& item, const Status& reason, std::size_t n_answers) {
        report_.missing_images.push_back({item.id, reason.message()});
        ++progress_.unreadable;
        advance(n_answers);
        return ok_status();
    }

    void advance(std::size_t n_answers) {
        progress_.done += n_answers;
        progress_.reused = report_.reused;
        progress_.seconds = watch_.elapsed_ms() / 1000.0;
        if (request_.on_progress) request_.on_progress(progress_);
    }

    const RunRequest& request_;
    const Asker& asker_;
    const base::Stopwatch watch_;
    std::vector<Lane> lanes_;
    Progress progress_;
    RunReport report_;
};

}  // namespace

Result<Shard> parse_shard(std::string_view text) {
    const std::vector<std::string_view> parts = base::split(text, '/');
    const auto index = parts.size() == 2 ? base::parse_size(parts[0]) : std::nullopt;
    const auto count = parts.size() == 2 ? base::parse_size(parts[1]) : std::nullopt;
    if (!index || !count || *index < 1 || *index > *count) {
        return Status(Code::InvalidArgument,
                      "a shard is i/n with i from 1 to n, such as 2/8, not " + base::in_quotes(text));
    }
    return Shard{*index - 1, *count};
}

std::string cluster_name(const Item& item) {
    if (!item.group.empty()) return item.group;
    if (item.embedded.length > 0) return item.embedded.file + ":" + std::to_string(item.embedded.offset);
    return item.image;
}

void cut_dataset(Dataset& dataset, std::size_t limit, bool whole_groups) {
    std::vector<Item>& items = dataset.items;
    if (limit == 0 || limit >= items.size()) return;
    if (!whole_groups) {
        items.resize(limit);
        return;
    }
    std::map<std::string, std::size_t> sizes;
    for (const Item& item : items) ++sizes[cluster_name(item)];
    std::map<std::string, bool> is_kept;
    std::size_t kept = 0;
    for (const Item& item : items) {
        const std::string name = cluster_name(item);
        if (is_kept.contains(name)) continue;
        is_kept[name] = kept < limit;
        if (kept < limit) kept += sizes[name];
    }
    std::erase_if(items, [&](const Item& item) { return !is_kept[cluster_name(item)]; });
}

std::vector<std::size_t> shard_items(const Dataset& dataset, const Shard& shard) {
    std::map<std::string, std::size_t> numbers;
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < dataset.items.size(); ++place) {
        std::string name = cluster_name(dataset.items[place]);
        if (name.empty()) name = "\n" + dataset.items[place].id;  // no picture: on its own
        const std::size_t number = numbers.emplace(std::move(name), numbers.size()).first->second;
        if (number % shard.count == shard.index) places.push_back(place);
    }
    return places;
}

double Progress::rate() const {
    return seconds > 0.0 && done > reused ? static_cast<double>(done - reused) / seconds : 0.0;
}

double Progress::seconds_left() const {
    return rate() > 0.0 ? static_cast<double>(total - done) / rate() : -1.0;
}

Result<std::vector<std::size_t>> route_items(const Dataset& dataset, ClassSource source) {
    RouterOptions options;
    if (source == ClassSource::Rules) options.kind = RouterKind::Rules;
    CLASP_ASSIGN_OR_RETURN(const Router router, Router::create(options));
    std::vector<std::size_t> classes;
    classes.reserve(dataset.items.size());
    for (const Item& item : dataset.items) {
        const bool is_known = source == ClassSource::Truth && item.class_id.has_value();
        classes.push_back(
            static_cast<std::size_t>(is_known ? *item.class_id : router.route(item.question).class_id));
    }
    return classes;
}

Result<std::vector<std::size_t>> stress_classes(std::vector<std::size_t> classes, const Variant& variant) {
    const RouterStress& stress = variant.stress;
    const std::size_t n_classes = variant.policy ? variant.policy->classes.size() : kClassNames.size();
    const std::size_t default_class = variant.policy ? variant.policy->default_class : kDefaultClass;
    if (stress.default_ratio > 0.0) {
        return route::force_default(classes, default_class, stress.default_ratio, stress.seed);
    }
    if (stress.error_ratio > 0.0) {
        return route::force_errors(classes, n_classes, default_class, stress.error_ratio, stress.seed);
    }
    return classes;
}

Result<RunReport> run(const RunRequest& request, const Asker& asker, RecordTable known) {
    return Run(request, asker, std::move(known)).go();
}

}  // namespace clasp::eval
