// What the paper proves about fusion, each statement on random instances. Floats are allowed their
// rounding: every bound has a slack of a few units in the last place of what is summed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "clasp/fuse.h"
#include "clasp/policy.h"
#include "fuse/features.h"

namespace clasp {
namespace {

using Scores = std::vector<double>;

Scores random_scores(std::mt19937& random, std::size_t n, double spread) {
    std::normal_distribution<double> normal(0.0, spread);
    Scores scores(n);
    for (double& score : scores) score = normal(random);
    return scores;
}

double l1(const Scores& a, const Scores& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
    return sum;
}

std::vector<float> to_float(const Scores& weights) {
    return {weights.begin(), weights.end()};
}

// The fused tokens for scores w at temperature tau.
std::vector<float> fuse_scores(const std::vector<test::OwnedLayer>& layers, const Scores& w, double tau) {
    std::vector<float> out(layers.front().exact.size());
    EXPECT_TRUE(fuse_layers(test::views(layers), to_float(*softmax(w, tau)), out).ok());
    return out;
}

std::vector<test::OwnedLayer> random_layers(std::mt19937& random, std::size_t n, std::size_t n_tokens,
                                            std::size_t width) {
    std::vector<test::OwnedLayer> layers;
    for (std::size_t l = 0; l < n; ++l)
        layers.push_back(test::random_layer(random, FloatType::F32, n_tokens, width));
    return layers;
}

// The largest row norm of any layer (the paper's B).
double largest_norm(const std::vector<test::OwnedLayer>& layers) {
    double largest = 0.0;
    for (const test::OwnedLayer& layer : layers) {
        const std::size_t d = layer.view.width;
        for (std::size_t t = 0; t < layer.view.n_tokens; ++t) {
            const auto* row = layer.exact.data() + t * d;
            largest = std::max(largest, std::sqrt(std::inner_product(row, row + d, row, 0.0)));
        }
    }
    return largest;
}

double largest_drift(const std::vector<float>& a, const std::vector<float>& b, std::size_t width) {
    double largest = 0.0;
    for (std::size_t t = 0; t < a.size() / width; ++t) {
        double sum = 0.0;
        for (std::size_t i = t * width; i < (t + 1) * width; ++i) {
            sum += (static_cast<double>(a[i]) - static_cast<double>(b[i])) *
                   (static_cast<double>(a[i]) - static_cast<double>(b[i]));
        }
        largest = std::max(largest, std::sqrt(sum));
    }
    return largest;
}

// Solves the square system rows * x = right by elimination with pivoting.
Scores solve(std::vector<Scores> rows, Scores right) {
    const std::size_t n = right.size();
    for (std::size_t c = 0; c < n; ++c) {
        std::size_t best = c;
        for (std::size_t r = c; r < n; ++r) {
            if (std::abs(rows[r][c]) > std::abs(rows[best][c])) best = r;
        }
        std::swap(rows[c], rows[best]);
        std::swap(right[c], right[best]);
        for (std::size_t r = c + 1; r < n; ++r) {
            const double factor = rows[r][c] / rows[c][c];
            for (std::size_t k = c; k < n; ++k) rows[r][k] -= factor * rows[c][k];
            right[r] -= factor * right[c];
        }
    }
    for (std::size_t c = n; c-- > 0;) {
        for (std::size_t k = c + 1; k < n; ++k) right[c] -= rows[c][k] * right[k];
        right[c] /= rows[c][c];
    }
    return right;
}

TEST(Lemma1ConvexHull, EveryCoordinateLiesBetweenTheLayers) {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        const auto layers = random_layers(random, 5, 7, 33);
        const auto fused = fuse_scores(layers, random_scores(random, 5, 3.0), 1.0);
        for (std::size_t i = 0; i < fused.size(); ++i) {
            double low = layers[0].exact[i];
            double high = low;
            for (const auto& layer : layers) {
                low = std::min(low, layer.exact[i]);
                high = std::max(high, layer.exact[i]);
            }
            const double slack = 1e-6 * std::max(std::abs(low), std::abs(high));
            ASSERT_GE(static_cast<double>(fused[i]), low - slack);
            ASSERT_LE(static_cast<double>(fused[i]), high + slack);
        }
    }
}

// In general position L points of a space of at least L - 1 dimensions are affinely independent, so the
// barycentric coordinates of the fused token are unique. They are recovered from the fused values alone
// (least squares on the edges from the last layer): the point is in the hull exactly when all are at least
// 0, they sum to 1 and reproduce the point.
TEST(Lemma1ConvexHull, RecoveredBarycentricCoordinatesAreAMixAndReproduceThePoint) {
    std::mt19937 random(2);
    for (int round = 0; round < 50; ++round) {
        const std::size_t n = 4;
        const std::size_t d = 12;
        const auto layers = random_layers(random, n, 3, d);
        const Scores w = random_scores(random, n, 1.0);
        const auto fused = fuse_scores(layers, w, 1.0);
        const auto alpha = *softmax(w, 1.0);
        for (std::size_t t = 0; t < 3; ++t) {
            const auto at = [&](std::size_t l, std::size_t i) { return layers[l].exact[t * d + i]; };
            std::vector<Scores> normal(n - 1, Scores(n - 1, 0.0));
            Scores right(n - 1, 0.0);
            for (std::size_t i = 0; i < d; ++i) {
                for (std::size_t a = 0; a + 1 < n; ++a) {
                    const double edge = at(a, i) - at(n - 1, i);
                    right[a] += edge * (static_cast<double>(fused[t * d + i]) - at(n - 1, i));
                    for (std::size_t b = 0; b + 1 < n; ++b) normal[a][b] += edge * (at(b, i) - at(n - 1, i));
                }
            }
            Scores coordinates = solve(normal, right);
            coordinates.push_back(1.0 - std::accumulate(coordinates.begin(), coordinates.end(), 0.0));
            for (std::size_t l = 0; l < n; ++l) {
                ASSERT_GE(coordinates[l], -1e-5);
                ASSERT_NEAR(coordinates[l], alpha[l], 1e-4);
            }
            for (std::size_t i = 0; i < d; ++i) {
                double point = 0.0;
                for (std::size_t l = 0; l < n; ++l) point += coordinates[l] * at(l, i);
                ASSERT_NEAR(point, static_cast<double>(fused[t * d + i]), 1e-5) << "outside the affine span";
            }
        }
    }
}

TEST(Lemma2TemperatureLimits, SmallTauIsUniform) {
    std::mt19937 random(3);
    for (int round = 0; round < 100; ++round) {
        const Scores w = random_scores(random, 6, 2.0);
        const auto weights = *softmax(w, 1e-9);
        for (const double weight : weights) EXPECT_NEAR(weight, 1.0 / 6.0, 1e-8);
    }
}

TEST(Lemma2TemperatureLimits, LargeTauIsOneHotAtTheUniqueMaximum) {
    std::mt19937 random(4);
    for (int round = 0; round < 100; ++round) {
        const Scores w = random_scores(random, 6, 2.0);
        const auto best = static_cast<std::size_t>(std::max_element(w.begin(), w.end()) - w.begin());
        const auto weights = *softmax(w, 1e9);
        for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(weights[i], i == best ? 1.0 : 0.0);
    }
}

TEST(Lemma2TemperatureLimits, TheWeightOfTheMaximumRisesWithTau) {
    std::mt19937 random(5);
    const Scores w = random_scores(random, 6, 1.0);
    const auto best = static_cast<std::size_t>(std::max_element(w.begin(), w.end()) - w.begin());
    double before = 0.0;
    for (const double tau : {0.01, 0.1, 0.5, 1.0, 2.0, 5.0}) {
        const double weight = (*softmax(w, tau))[best];
        EXPECT_GT(weight, before);
        before = weight;
    }
}

TEST(Lemma3Lipschitz, SoftmaxMovesAtMostHalfTheL1Distance) {
    std::mt19937 random(6);
    for (int round = 0; round < 5000; ++round) {
        const std::size_t n = 2 + random() % 8;
        const double tau = std::exp(random_scores(random, 1, 1.0)[0]);
        const Scores w = random_scores(random, n, 2.0);
        Scores v = w;
        const Scores step = random_scores(random, n, round % 2 == 0 ? 0.01 : 3.0);
        for (std::size_t i = 0; i < n; ++i) v[i] += step[i];
        ASSERT_LE(l1(*softmax(w, tau), *softmax(v, tau)), 0.5 * tau * l1(w, v) + 1e-12);
    }
}

TEST(Lemma3Lipschitz, TheConstantIsReachedAtEvenOdds) {
    const double step = 1e-5;
    const Scores even = {0.0, 0.0};
    const Scores moved = {step, 0.0};
    EXPECT_NEAR(l1(*softmax(even, 1.0), *softmax(moved, 1.0)) / step, 0.5, 1e-5);
}

TEST(Proposition1Drift, FusedTokensMoveAtMostLinearlyInTau) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        const auto layers = random_layers(random, 4, 5, 24);
        const double tau = std::exp(random_scores(random, 1, 1.0)[0]);
        const Scores w = random_scores(random, 4, 1.0);
        Scores v = w;
        const Scores step = random_scores(random, 4, 0.3);
        for (std::size_t i = 0; i < 4; ++i) v[i] += step[i];
        const double bound = 0.5 * largest_norm(layers) * tau * l1(w, v);
        ASSERT_LE(largest_drift(fuse_scores(layers, w, tau), fuse_scores(layers, v, tau), 24), bound + 1e-4);
    }
}

// A taxonomy of full score rows, so that every distance is finite. The published rows have minus infinity
// outside their support, for which the corollary's bound is infinite and says nothing.
TEST(Corollary1Misrouting, DriftIsBoundedByTheDistanceOfTheScoreRows) {
    std::mt19937 random(8);
    const auto layers = random_layers(random, 6, 5, 24);
    Policy policy;
    policy.name = "random";
    policy.tau = 1.7;
    std::vector<Scores> rows;
    for (std::size_t c = 0; c < 5; ++c) {
        rows.push_back(random_scores(random, 6, 0.5));
        PolicyClass entry;
        entry.name = "class " + std::to_string(c);
        for (std::size_t l = 0; l < 6; ++l) entry.scores.push_back({l, rows.back()[l]});
        policy.classes.push_back(entry);
    }
    ASSERT_TRUE(validate(policy).ok());
    const auto fuse_class = [&](std::size_t c) {
        const Mix mix = *mix_for(policy, c);
        std::vector<LayerView> used;
        std::vector<float> weights;
        for (const auto& [layer, weight] : mix) {
            used.push_back(layers[layer].view);
            weights.push_back(static_cast<float>(weight));
        }
        std::vector<float> out(layers.front().exact.size());
        EXPECT_TRUE(fuse_layers(used, weights, out).ok());
        return out;
    };
    for (std::size_t a = 0; a < 5; ++a) {
        for (std::size_t b = 0; b < 5; ++b) {
            const double bound = 0.5 * largest_norm(layers) * policy.tau * l1(rows[a], rows[b]);
            EXPECT_LE(largest_drift(fuse_class(a), fuse_class(b), 24), bound + 1e-4);
        }
    }
}

}  // namespace
}  // namespace clasp
