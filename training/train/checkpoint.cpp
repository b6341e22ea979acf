#include "train/checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <span>
#include <utility>

namespace clasp::training {
namespace {

constexpr std::uint32_t kMagic = 0x434c5433;  // "CLT3"
constexpr std::uint64_t kLongest = std::uint64_t{1} << 32;

class Writer {
   public:
    explicit Writer(std::ostream& out) : out_(out) {}
    template <typename T>
    void number(const T& value) {
        out_.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void text(const std::string& value) {
        number<std::uint64_t>(value.size());
        out_.write(value.data(), static_cast<std::streamsize>(value.size()));
    }
    void list(const std::vector<std::string>& values) {
        number<std::uint64_t>(values.size());
        for (const std::string& value : values) text(value);
    }
    void floats(std::span<const float> values) {
        number<std::uint64_t>(values.size());
        out_.write(reinterpret_cast<const char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(float)));
    }

   private:
    std::ostream& out_;
};

class Reader {
   public:
    explicit Reader(std::istream& in) : in_(in) {}
    template <typename T>
    T number() {
        T value{};
        in_.read(reinterpret_cast<char*>(&value), sizeof value);
        return value;
    }
    std::string text() {
        const auto size = number<std::uint64_t>();
        if (!in_ || size > kLongest) return fail<std::string>();
        std::string value(size, '\0');
        in_.read(value.data(), static_cast<std::streamsize>(size));
        return value;
    }
    std::vector<std::string> list() {
        const auto size = number<std::uint64_t>();
        if (!in_ || size > kLongest) return fail<std::vector<std::string>>();
        std::vector<std::string> values;
        for (std::uint64_t i = 0; i < size && in_; ++i) values.push_back(text());
        return values;
    }
    std::vector<float> floats() {
        const auto size = number<std::uint64_t>();
        if (!in_ || size > kLongest) return fail<std::vector<float>>();
        std::vector<float> values(size);
        in_.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(size * sizeof(float)));
        return values;
    }

   private:
    template <typename T>
    T fail() {
        in_.setstate(std::ios::failbit);
        return {};
    }
    std::istream& in_;
};

}  // namespace

Status save_checkpoint(const std::string& path, const RunState& state, const Vocabulary& vocabulary,
                       const Model& model) {
    const std::string part = path + ".part";
    {
        std::ofstream file(part, std::ios::binary);
        Writer out(file);
        out.number(kMagic);
        out.text(state.phase);
        out.number(state.phase_step);
        out.number(state.step);
        out.number(state.pictures);
        out.number(state.seconds);
        out.list(vocabulary.tokens());
        out.list(vocabulary.merges());
        out.number(model.shape());
        const ParamStore& store = model.store();
        out.number<std::uint64_t>(store.params().size());
        for (const Param& param : store.params()) {
            out.text(param.name);
            for (const auto* values : {&store.values(), &store.first_moments(), &store.second_moments()})
                out.floats(std::span(*values).subspan(param.offset, param.size()));
        }
        file.flush();
        if (!file) return {Code::Unavailable, "cannot write " + part};
    }
    if (std::rename(part.c_str(), path.c_str()) != 0) return {Code::Unavailable, "cannot rename " + part};
    return {};
}

Result<Checkpoint> load_checkpoint(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Status(Code::NotFound, "cannot read the checkpoint " + path);
    Reader in(file);
    if (in.number<std::uint32_t>() != kMagic) return Status(Code::Corrupt, path + " is not a checkpoint");
    Checkpoint checkpoint;
    checkpoint.state.phase = in.text();
    checkpoint.state.phase_step = in.number<int>();
    checkpoint.state.step = in.number<long>();
    checkpoint.state.pictures = in.number<std::uint64_t>();
    checkpoint.state.seconds = in.number<double>();
    std::vector<std::string> tokens = in.list();
    std::vector<std::string> merges = in.list();
    const auto shape = in.number<ModelShape>();
    if (!file || shape.width <= 0 || shape.vocabulary != static_cast<int>(tokens.size()))
        return Status(Code::Corrupt, "the checkpoint " + path + " is damaged");
    checkpoint.vocabulary = Vocabulary::load(std::move(tokens), std::move(merges));
    checkpoint.model = std::make_unique<Model>(shape);
    ParamStore& store = checkpoint.model->store();
    const auto count = in.number<std::uint64_t>();
    std::size_t known = 0;
    for (std::uint64_t i = 0; i < count && file; ++i) {
        const ParamId id = store.find(in.text());
        for (auto* values : {&store.values(), &store.first_moments(), &store.second_moments()}) {
            const std::vector<float> stored = in.floats();
            if (id == store.params().size()) continue;
            const Param& param = store.info(id);
            // An auxiliary head may have got or lost classes since; the others keep their places.
            if (stored.size() != param.size() && !is_auxiliary(param))
                return Status(Code::Corrupt,
                              "the checkpoint " + path + " has a wrong size for " + param.name);
            std::copy_n(stored.begin(), std::min(stored.size(), param.size()),
                        values->begin() + static_cast<std::ptrdiff_t>(param.offset));
        }
        if (id != store.params().size() && !is_auxiliary(store.info(id))) ++known;
    }
    const auto wanted =
        std::ranges::count_if(store.params(), [](const Param& param) { return !is_auxiliary(param); });
    if (!file || std::cmp_not_equal(known, wanted))
        return Status(Code::Corrupt, "the checkpoint " + path + " is damaged");
    return checkpoint;
}

}  // namespace clasp::training
