#include "engine/arranged_image.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace clasp::engine {

namespace {

using model::ArrangedRun;

// The class token of the encoder takes the first token's position.
std::size_t place_of(const SeenImage& image, std::size_t token) {
    const TokenIndex place = image.places[token];
    return place == methods::kClassToken ? 0 : place;
}

// A decoder whose rotation has planes puts the tokens of a picture in its grid, and those of a clip in a grid
// with times. Text between tokens begins a new part, whose positions are counted from its own beginning.
class Planes {
   public:
    Planes() = default;
    explicit Planes(const model::VisionPlan& plan) : is_used_(true) {
        std::size_t first = 0;
        for (std::size_t i = 0; i < plan.layout.regions.size(); ++i) {
            const Grid& grid = plan.layout.regions[i].grid;
            regions_.push_back({first, static_cast<std::int32_t>(grid.height),
                                static_cast<std::int32_t>(grid.width),
                                plan.times.empty() ? 0 : plan.times[i]});
            first += grid.height * grid.width;
        }
    }

    [[nodiscard]] bool is_used() const { return is_used_; }
    [[nodiscard]] model::Position offset(std::size_t place) const {
        const Region& region = region_of(place);
        const auto cell = static_cast<std::int32_t>(place - region.first);
        model::Position position = model::grid_offsets(std::span(&cell, 1), region.columns).front();
        position.planes[0] = region.time;
        return position;
    }
    // Positions of the tokens [first, first + n), whether they are left or not.
    [[nodiscard]] std::int32_t extent(std::size_t first, std::size_t n) const {
        std::int32_t extent = 0;
        for (const Region& region : regions_) {
            if (region.first < first || region.first >= first + n) continue;
            extent = std::max({extent, model::grid_extent(region.rows, region.columns), region.time + 1});
        }
        return extent;
    }

   private:
    struct Region {
        std::size_t first = 0;  // token
        std::int32_t rows = 0;
        std::int32_t columns = 0;
        std::int32_t time = 0;
    };
    [[nodiscard]] const Region& region_of(std::size_t place) const {
        const auto after = std::upper_bound(regions_.begin(), regions_.end(), place,
                                            [](std::size_t at, const Region& r) { return at < r.first; });
        return *(after - 1);
    }

    bool is_used_ = false;
    std::vector<Region> regions_;  // rising
};

Result<Planes> planes_of(const model::VisionPlan& plan, const model::TextModel& text) {
    if (!text.config().family->has_planes()) return Planes{};
    const ImageLayout& layout = plan.layout;
    const bool has_places = layout.regions.size() == 1 || plan.times.size() == layout.regions.size();
    if (!has_places || layout.n_fixed > 0) {
        return Status(Code::Unsupported,
                      "the decoder places the tokens of a picture in one grid, but this vision tower makes " +
                          std::to_string(layout.regions.size()) + " grids with " +
                          std::to_string(layout.n_fixed) + " rows between their tokens");
    }
    return Planes(plan);
}

// The image's tokens and nothing else: as they are, in their order.
ArrangedImage plain_image(const SeenImage& image, bool has_lost, const Planes& planes) {
    ArrangedImage arranged;
    ArrangedImage::Rows& rows = arranged.own.emplace_back();
    for (std::size_t token = 0; token < image.n_tokens(); ++token) {
        if (has_lost) rows.places.push_back(static_cast<std::int32_t>(place_of(image, token)));
        if (planes.is_used()) rows.offsets.push_back(planes.offset(place_of(image, token)));
    }
    arranged.n_rows = image.n_tokens();
    arranged.parts = {{.embeddings = image.values,
                       .places = rows.places,
                       .n_unpruned = static_cast<std::int32_t>(image.plan.layout.n_tokens()),
                       .masses = image.masses,
                       .additions = image.additions}};
    if (planes.is_used()) {
        arranged.parts.front().offsets = rows.offsets;
        arranged.parts.front().n_positions = planes.extent(0, image.plan.layout.n_tokens());
    }
    return arranged;
}

// Walks an arrangement and puts the tokens that are left in their places.
class Arranger {
   public:
    Arranger(const SeenImage& image, const model::VisionModel& vision, const model::TextModel& text,
             const Planes& planes, std::int32_t& next_line)
        : image_(image), vision_(vision), text_(text), planes_(planes), order_(image.n_tokens()) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
            return place_of(image, a) < place_of(image, b);
        });
        line_of_.assign(image.plan.layout.n_tokens(), kNoLine);
        for (const ArrangedRun& run : image.plan.arrangement) {
            if (run.kind != ArrangedRun::Kind::Fixed || run.is_token) continue;
            lines_.push_back(run.n_tokens == 0 ? kNoLine : next_line++);
            std::fill_n(line_of_.begin() + static_cast<std::ptrdiff_t>(run.first_token), run.n_tokens,
                        lines_.back());
        }
    }

    Result<ArrangedImage> run() {
        for (const ArrangedRun& run : image_.plan.arrangement) {
            switch (run.kind) {
                case ArrangedRun::Kind::Tokens: add_tokens(run.count); break;
                case ArrangedRun::Kind::Fixed:
                    if (run.is_token) {
                        add_tokens(1);
                    } else {
                        CLASP_RETURN_IF_ERROR(add_fixed(run));
                    }
                    break;
                case ArrangedRun::Kind::Text: CLASP_RETURN_IF_ERROR(add_text(run.text)); break;
            }
        }
        for (const ArrangedImage::Rows& rows : result_.own) add_part(rows);
        return std::move(result_);
    }

   private:
    // The visual part under way.
    ArrangedImage::Rows& rows() {
        if (result_.own.empty() || !result_.own.back().tokens.empty()) {
            result_.own.emplace_back().first_token = seen_;
        }
        return result_.own.back();
    }

    void add_row(std::span<const float> values, std::size_t place, float mass, std::int32_t line,
                 bool is_carried) {
        ArrangedImage::Rows& to = rows();
        to.values.insert(to.values.end(), values.begin(), values.end());
        to.places.push_back(static_cast<std::int32_t>(place));
        to.masses.push_back(mass);
        to.lines.push_back(line);
        to.is_carried.push_back(is_carried ? 1 : 0);
    }

    // Floats of a token's additions.
    [[nodiscard]] std::size_t n_more() const {
        return image_.additions.empty() ? 0 : image_.additions.size() / image_.n_tokens();
    }

    void add_tokens(std::size_t count) {
        const std::size_t width = vision_.info().output_width;
        const auto begin = static_cast<std::size_t>(rows().n_unpruned);
        for (; next_ < order_.size() && place_of(image_, order_[next_]) < seen_ + count; ++next_) {
            const std::size_t token = order_[next_];
            const std::size_t place = place_of(image_, token);
            add_row(std::span(image_.values).subspan(token * width, width), begin + place - seen_,
                    image_.masses.empty() ? 1.0F : image_.masses[token], line_of_[place], false);
            if (planes_.is_used()) rows().offsets.push_back(planes_.offset(place));
            const auto more = std::span(image_.additions).subspan(token * n_more(), n_more());
            rows().additions.insert(rows().additions.end(), more.begin(), more.end());
        }
        rows().n_unpruned += static_cast<std::int32_t>(count);
        seen_ += count;
    }

    Status add_fixed(const ArrangedRun& run) {
        const std::int32_t line = lines_[n_fixed_++];
        const bool lives =
            line == kNoLine || std::any_of(order_.begin(), order_.end(), [&](std::size_t token) {
                return line_of_[place_of(image_, token)] == line;
            });
        if (lives) {
            CLASP_ASSIGN_OR_RETURN(const std::vector<float> values, vision_.fixed_row(run.fixed));
            add_row(values, static_cast<std::size_t>(rows().n_unpruned), 1.0F, line, true);
            rows().additions.resize(rows().additions.size() + n_more());  // nothing is added to it
        }
        ++rows().n_unpruned;
        return ok_status();
    }

    Status add_text(const std::string& text) {
        CLASP_ASSIGN_OR_RETURN(std::vector<std::int32_t> tokens, text_.tokenize(text, false, true));
        if (!tokens.empty()) result_.own.emplace_back().tokens = std::move(tokens);
        return ok_status();
    }

    // Where positions have planes there are no fixed rows, so that all rows are tokens.
    [[nodiscard]] std::int32_t extent_of(const ArrangedImage::Rows& rows) const {
        return planes_.extent(rows.first_token, static_cast<std::size_t>(rows.n_unpruned));
    }

    void add_part(const ArrangedImage::Rows& rows) {
        if (rows.tokens.empty() && rows.places.empty()) {
            result_.n_lost_behind += planes_.is_used() ? extent_of(rows) : rows.n_unpruned;
            return;
        }
        PromptPart part;
        part.n_lost_before = std::exchange(result_.n_lost_behind, 0);
        if (!rows.tokens.empty()) {
            part.tokens = rows.tokens;
            part.is_text_of_image = true;
            result_.n_rows += rows.tokens.size();
        } else {
            part.embeddings = rows.values;
            part.places = rows.places;
            part.n_unpruned = rows.n_unpruned;
            part.masses = rows.masses;
            part.lines = rows.lines;
            part.is_carried = rows.is_carried;
            part.additions = rows.additions;
            if (planes_.is_used()) {
                part.offsets = rows.offsets;
                part.n_positions = extent_of(rows);
            }
            result_.n_rows += rows.places.size();
        }
        result_.parts.push_back(part);
    }

    const SeenImage& image_;
    const model::VisionModel& vision_;
    const model::TextModel& text_;
    Planes planes_;
    std::vector<std::size_t> order_;     // the tokens that are left, by their places
    std::vector<std::int32_t> line_of_;  // per token of the plan
    std::vector<std::int32_t> lines_;    // per fixed row of the plan
    std::size_t next_ = 0;               // of order_
    std::size_t seen_ = 0;               // tokens of the plan
    std::size_t n_fixed_ = 0;
    ArrangedImage result_;
};

}  // namespace

Result<ArrangedImage> arrange_image(const SeenImage& image, bool has_lost, const model::VisionModel& vision,
                                    const model::TextModel& text, std::int32_t& next_line) {
    const auto is_tokens = [](const ArrangedRun& run) { return run.kind == ArrangedRun::Kind::Tokens; };
    const auto& runs = image.plan.arrangement;
    CLASP_ASSIGN_OR_RETURN(const Planes planes, planes_of(image.plan, text));
    if (std::all_of(runs.begin(), runs.end(), is_tokens)) return plain_image(image, has_lost, planes);
    return Arranger(image, vision, text, planes, next_line).run();
}

Result<std::size_t> count_image_text(const model::VisionPlan& plan, const model::TextModel& text) {
    std::size_t n = 0;
    for (const ArrangedRun& run : plan.arrangement) {
        if (run.kind != ArrangedRun::Kind::Text) continue;
        CLASP_ASSIGN_OR_RETURN(const auto tokens, text.tokenize(run.text, false, true));
        n += tokens.size();
    }
    return n;
}

}  // namespace clasp::engine
