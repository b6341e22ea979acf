// Measures the decoder's products beside ggml's over the same weights, in one process, taking turns, on one
// thread.
//   clasp_decoder_gemm [--types q4_0,q4_K,...,f16,bf16] [--shapes 4096x4096,...] [--rows 1,4,...]
//                      [--repeats N]
// A shape is outputs x inputs. A product includes the rounding of its inputs, as ggml's does. Times are
// processor time, the best of N; ggml runs in the modules for each set of kernels that lie beside it
// (haswell: AVX2 alone), in the layout that it likes best. Prints one JSON object; figures are 1e9 operations
// a second, a multiplication and an addition counted as two. Weights come from memory, not from caches. f16
// and bf16 are multiplied in the 16-bit integers of vision towers, which decoders do not use; "error" is then
// the root mean square difference from float64 over that of the values, ggml's first.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "fma_peak.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "int_peak.h"
#include "model/backend.h"
#include "model/ggml_libraries.h"
#include "model/packed_matrix.h"
#include "model/quant_matrix.h"

namespace {

using clasp::bench::processor_ns;
using clasp::model::KernelSet;
using clasp::model::PackedMatrix;
using clasp::model::QuantMatrix;
using clasp::model::QuantRows;

// Of random weights: time does not depend on values.
constexpr std::size_t kDifferentRows = 64;

struct Settings {
    std::string types = "q4_0,q4_K,q5_K,q6_K,q8_0";
    std::string shapes = "4096x4096,11008x4096,4096x11008,3584x18944";
    std::string rows = "1,4,16,64,240,640";
    int repeats = 5;
};

const char* name_of(KernelSet kernels) {
    switch (kernels) {
        case KernelSet::Avx512: return "avx512";
        case KernelSet::Vnni256: return "vnni256";
        case KernelSet::Avx2: return "avx2";
        case KernelSet::I8mm: return "i8mm";
        case KernelSet::Dotprod: return "dotprod";
        default: return "scalar";
    }
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::stringstream all(text);
    for (std::string part; std::getline(all, part, ',');) parts.push_back(part);
    return parts;
}

// Reads so much else that weights come from memory again, as they do in a model.
void forget_caches() {
    static const std::vector<std::uint64_t> others(std::size_t{8} << 20U, 1);
    clasp::bench::read_gbytes(others.data(), others.size() * sizeof(others[0]));
}

// One CPU module of ggml with a matrix in its own layout.
class Theirs {
   public:
    Theirs(std::string name, ggml_backend_dev_t device) : name_(std::move(name)), device_(device) {
        backend_.reset(ggml_backend_dev_init(device, nullptr));
        const auto set_threads =
            reinterpret_cast<ggml_backend_set_n_threads_t>(ggml_backend_reg_get_proc_address(
                ggml_backend_dev_backend_reg(device), "ggml_backend_set_n_threads"));
        if (backend_ != nullptr && set_threads != nullptr) set_threads(backend_.get(), 1);
    }

    [[nodiscard]] const std::string& name() const { return name_; }

    bool load(ggml_type type, std::int64_t n_inputs, std::int64_t n_outputs,
              const std::vector<std::uint8_t>& stored) {
        context_.reset(ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true}));
        weight_ = ggml_new_tensor_2d(context_.get(), type, n_inputs, n_outputs);
        buffer_.reset(
            ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), layout_for(type, n_inputs, n_outputs)));
        if (buffer_ == nullptr) return false;
        ggml_backend_tensor_set(weight_, stored.data(), 0, stored.size());
        return true;
    }

    // Nanoseconds of one product.
    double run(const std::vector<float>& x, std::int64_t n_rows) {
        const Context context(ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true}));
        ggml_tensor* input = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, weight_->ne[0], n_rows);
        ggml_tensor* product = ggml_mul_mat(context.get(), weight_, input);
        ggml_cgraph* graph = ggml_new_graph(context.get());
        ggml_build_forward_expand(graph, product);
        const Buffer buffer(ggml_backend_alloc_ctx_tensors(context.get(), backend_.get()));
        if (buffer == nullptr) return 0.0;
        ggml_backend_tensor_set(input, x.data(), 0, ggml_nbytes(input));
        ggml_backend_graph_compute(backend_.get(), graph);  // its pages are touched for the first time
        forget_caches();
        const double begin = processor_ns();
        ggml_backend_graph_compute(backend_.get(), graph);
        const double elapsed = processor_ns() - begin;
        y_.resize(static_cast<std::size_t>(ggml_nelements(product)));
        ggml_backend_tensor_get(product, y_.data(), 0, ggml_nbytes(product));
        return elapsed;
    }
    // Of the last run.
    [[nodiscard]] const std::vector<float>& y() const { return y_; }

   private:
    struct Free {
        void operator()(ggml_context* context) const { ggml_free(context); }
        void operator()(ggml_backend_t backend) const { ggml_backend_free(backend); }
        void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
    };
    using Context = std::unique_ptr<ggml_context, Free>;
    using Buffer = std::unique_ptr<ggml_backend_buffer, Free>;

    ggml_backend_buffer_type_t layout_for(ggml_type type, std::int64_t n_inputs, std::int64_t n_outputs) {
        const auto extra =
            reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(ggml_backend_reg_get_proc_address(
                ggml_backend_dev_backend_reg(device_), "ggml_backend_dev_get_extra_bufts"));
        if (extra != nullptr) {
            for (ggml_backend_buffer_type_t* layout = extra(device_); layout != nullptr && *layout != nullptr;
                 ++layout) {
                if (clasp::model::takes_product(device_, *layout, type, n_inputs, n_outputs)) return *layout;
            }
        }
        return ggml_backend_dev_buffer_type(device_);
    }

    std::string name_;
    ggml_backend_dev_t device_;
    std::unique_ptr<ggml_backend, Free> backend_;
    Context context_;
    Buffer buffer_;
    ggml_tensor* weight_ = nullptr;
    std::vector<float> y_;
};

std::vector<Theirs> load_modules() {
    namespace fs = std::filesystem;
    std::vector<Theirs> modules;
    const fs::path current = clasp::model::cpu_backend_file();
    modules.emplace_back("ggml " + current.stem().string(),
                         ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    const fs::path plain = current.parent_path() / "libggml-cpu-haswell.so";
    if (plain != current && fs::exists(plain)) {
        ggml_backend_reg_t loaded = ggml_backend_load(plain.c_str());
        if (loaded != nullptr) {
            modules.emplace_back("ggml " + plain.stem().string(), ggml_backend_reg_dev_get(loaded, 0));
        }
    }
    return modules;
}

struct Ours {
    std::unique_ptr<QuantMatrix> matrix;
    std::unique_ptr<PackedMatrix> wide;  // of types that are not quantised, instead
    std::vector<std::uint8_t> memory = {};
    std::vector<float> y = {};

    double run(const std::vector<float>& x, std::size_t n_rows, KernelSet kernels) {
        if (wide != nullptr) return run_wide(x, n_rows, kernels);
        QuantRows rows = {matrix->n_inputs(), n_rows, matrix->format().rows, nullptr};
        memory.resize(rows.bytes() + 64);
        rows.memory = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
        y.resize(n_rows * matrix->n_outputs());
        forget_caches();
        const double begin = processor_ns();
        rows.round(x.data(), matrix->n_inputs(), 0, 1, kernels);
        matrix->multiply(rows, nullptr, 0, 1, y.data(), kernels);
        return processor_ns() - begin;
    }

    double run_wide(const std::vector<float>& x, std::size_t n_rows, KernelSet kernels) {
        memory.resize(PackedMatrix::packed_rows_bytes(wide->n_inputs(), n_rows));
        y.resize(n_rows * wide->n_outputs());
        forget_caches();
        const double begin = processor_ns();
        PackedMatrix::pack_rows(x.data(), wide->n_inputs(), n_rows, 0, 1, memory.data());
        wide->multiply(memory.data(), n_rows, nullptr, clasp::model::Epilogue::None, 0, 1, y.data(), kernels);
        return processor_ns() - begin;
    }
};

// Null where the type is in neither form.
Ours pack(ggml_type type, std::size_t n_inputs, std::size_t n_outputs,
          const std::vector<std::uint8_t>& stored) {
    Ours ours = {};
    const clasp::model::QuantFormat* format = clasp::model::find_quant_format(type);
    if (format != nullptr) {
        ours.matrix = QuantMatrix::create(*format, n_inputs, n_outputs);
        if (ours.matrix != nullptr) ours.matrix->pack(stored.data(), 0, ours.matrix->n_panels());
    } else if ((type == GGML_TYPE_F16 || type == GGML_TYPE_BF16) && PackedMatrix::fits(n_inputs, n_outputs)) {
        ours.wide = PackedMatrix::create(n_inputs, n_outputs);
        std::vector<float> row(n_inputs);
        for (std::size_t i = 0; ours.wide != nullptr && i < n_outputs; ++i) {
            ggml_get_type_traits(type)->to_float(stored.data() + i * n_inputs * 2, row.data(),
                                                 static_cast<std::int64_t>(n_inputs));
            ours.wide->set_row(i, row.data());
        }
    }
    return ours;
}

// Of the first row's products, relative, against float64.
double error_of(const std::vector<float>& y, ggml_type type, const std::vector<std::uint8_t>& stored,
                const std::vector<float>& x, std::size_t n_inputs) {
    const std::size_t row_bytes = ggml_row_size(type, static_cast<std::int64_t>(n_inputs));
    std::vector<float> row(n_inputs);
    double difference = 0.0;
    double total = 0.0;
    for (std::size_t output = 0; output < kDifferentRows; ++output) {
        ggml_get_type_traits(type)->to_float(stored.data() + output * row_bytes, row.data(),
                                             static_cast<std::int64_t>(n_inputs));
        double wanted = 0.0;
        for (std::size_t i = 0; i < n_inputs; ++i)
            wanted += static_cast<double>(row[i]) * static_cast<double>(x[i]);
        difference += std::pow(static_cast<double>(y[output]) - wanted, 2);
        total += wanted * wanted;
    }
    return std::sqrt(difference / total);
}

bool parse(int argc, char** argv, Settings& settings) {
    if (argc % 2 == 0) return false;
    for (int i = 1; i < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--types")
            settings.types = argv[i + 1];
        else if (option == "--shapes")
            settings.shapes = argv[i + 1];
        else if (option == "--rows")
            settings.rows = argv[i + 1];
        else if (option == "--repeats")
            settings.repeats = std::atoi(argv[i + 1]);
        else
            return false;
    }
    return settings.repeats > 0;
}

ggml_type type_named(const std::string& name) {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = static_cast<ggml_type>(i);
        if (ggml_type_name(type) != nullptr && name == ggml_type_name(type)) return type;
    }
    return GGML_TYPE_COUNT;
}

std::vector<std::uint8_t> random_weights(ggml_type type, std::size_t n_inputs, std::size_t n_outputs) {
    constexpr std::size_t kRows = kDifferentRows;
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(kRows * n_inputs);
    for (float& value : values) value = normal(random);
    const std::size_t row_bytes = ggml_row_size(type, static_cast<std::int64_t>(n_inputs));
    std::vector<std::uint8_t> stored(row_bytes * n_outputs);
    ggml_quantize_chunk(type, values.data(), stored.data(), 0, kRows, static_cast<std::int64_t>(n_inputs),
                        nullptr);
    for (std::size_t row = kRows; row < n_outputs; ++row) {
        std::copy_n(stored.begin() + static_cast<std::ptrdiff_t>(row % kRows * row_bytes), row_bytes,
                    stored.begin() + static_cast<std::ptrdiff_t>(row * row_bytes));
    }
    return stored;
}

double best_of(int n, double (*measure)()) {
    double best = 0.0;
    for (int i = 0; i < n; ++i) best = std::max(best, measure());
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    Settings settings;
    if (!parse(argc, argv, settings)) {
        std::fprintf(stderr, "usage: see the head of bench/decoder_gemm.cpp\n");
        return 2;
    }
    if (!clasp::model::prepare_ggml().ok()) return 1;
    std::vector<Theirs> modules = load_modules();
    std::vector<KernelSet> sets = clasp::model::kernel_sets();
    sets.erase(sets.begin());  // the scalar one is a specification
    {
        const std::vector<std::uint64_t> memory(std::size_t{32} << 20U, 1);
        double gbytes = 0.0;
        for (int i = 0; i < 3; ++i)
            gbytes = std::max(gbytes, clasp::bench::read_gbytes(memory.data(), memory.size() * 8));
        std::printf(
            "{\"peaks\": {\"fma\": %.1f, \"vpmaddubsw\": %.1f, \"vpdpbusd\": %.1f, \"read_gbytes\": %.1f},\n",
            best_of(20, clasp::bench::fma_gflops), best_of(5, clasp::bench::byte_pair_gops),
            best_of(5, clasp::bench::byte_dot_gops), gbytes);
    }
    std::printf(" \"rows\": [");
    const char* comma = "";
    for (const std::string& type_name : split(settings.types)) {
        const ggml_type type = type_named(type_name);
        if (type == GGML_TYPE_COUNT) {
            std::fprintf(stderr, "no type %s\n", type_name.c_str());
            return 2;
        }
        for (const std::string& shape : split(settings.shapes)) {
            const auto n_outputs = static_cast<std::size_t>(std::atoll(shape.c_str()));
            const auto n_inputs =
                static_cast<std::size_t>(std::atoll(shape.substr(shape.find('x') + 1).c_str()));
            const std::vector<std::uint8_t> stored = random_weights(type, n_inputs, n_outputs);
            Ours ours = pack(type, n_inputs, n_outputs, stored);
            if (ours.matrix == nullptr && ours.wide == nullptr) {
                std::fprintf(stderr, "no products for %s\n", type_name.c_str());
                return 2;
            }
            for (Theirs& theirs : modules) {
                if (!theirs.load(type, static_cast<std::int64_t>(n_inputs),
                                 static_cast<std::int64_t>(n_outputs), stored)) {
                    return 1;
                }
            }
            for (const std::string& count : split(settings.rows)) {
                const auto n_rows = static_cast<std::size_t>(std::atoll(count.c_str()));
                std::vector<float> x(n_rows * n_inputs);
                std::mt19937 random(2);
                std::normal_distribution<float> normal;
                for (float& value : x) value = normal(random);
                std::vector<double> best(modules.size() + sets.size(), 1e30);
                for (int repeat = 0; repeat < settings.repeats; ++repeat) {
                    for (std::size_t i = 0; i < modules.size(); ++i) {
                        best[i] = std::min(best[i], modules[i].run(x, static_cast<std::int64_t>(n_rows)));
                    }
                    for (std::size_t i = 0; i < sets.size(); ++i) {
                        double& one = best[modules.size() + i];
                        one = std::min(one, ours.run(x, n_rows, sets[i]));
                    }
                }
                const double operations = 2.0 * static_cast<double>(n_rows) * static_cast<double>(n_inputs) *
                                          static_cast<double>(n_outputs);
                std::printf("%s\n  {\"type\": \"%s\", \"shape\": \"%s\", \"rows\": %zu", comma,
                            type_name.c_str(), shape.c_str(), n_rows);
                for (std::size_t i = 0; i < best.size(); ++i) {
                    const std::string name =
                        i < modules.size() ? modules[i].name() : name_of(sets[i - modules.size()]);
                    std::printf(", \"%s\": %.1f", name.c_str(), operations / best[i]);
                }
                if (ours.wide != nullptr) {
                    std::printf(", \"error\": [%.2g, %.2g]",
                                error_of(modules.front().y(), type, stored, x, n_inputs),
                                error_of(ours.y, type, stored, x, n_inputs));
                }
                std::printf("}");
                std::fflush(stdout);
                comma = ",";
            }
        }
    }
    std::printf("\n]}\n");
    return 0;
}
