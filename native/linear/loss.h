// The logistic loss of margins, its residuals and curvatures.
//
//   two classes, margin z, label y in {0, 1}:   p = 1 / (1 + exp(-z)),  loss = log(1 + exp(z)) - y z
//   K classes, margins z_1 ... z_K, label y:    p_c = exp(z_c) / sum exp(z),  loss = log sum exp(z) - z_y
//
//   residual   r = weight ([y = c] - p_c)          minus the slope by the margin
//   curvature  d = weight p_c (1 - p_c)            at least 1e-12, so that it can be divided by; of a row that is far on the
//                                                  wrong side at least a quarter of the secant to z = 0, (|r| - 1/2) / |z|:
//                                                  there p (1 - p) is next to 0 and a Newton step would be of any length
//
// Sums are those of blocks of 2048 rows, added in order. Cost: one exponential a margin, one logarithm a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace textmill::linear {

inline constexpr double kLeastRowCurvature = 1e-12;

// Two classes. margin, label, weight [n]; residual and curvature [n], or empty. Returns sum of weight loss.
double binary_loss(std::span<const double> margin, std::span<const std::int32_t> label, std::span<const double> weight,
                   std::span<double> residual, std::span<double> curvature, std::size_t threads);

// Two classes. sum_i s_i H(t_i) with t_i = factor |r_i| / s_i, over the rows with s_i > 0; 0 <= factor <= 1.
double binary_entropy(std::span<const double> residual, std::span<const double> weight, double factor,
                      std::size_t threads);

// Smoothed decisions of two classes: miss [n] = 1 / (1 + exp(gamma |z|)) where the margin is on the right side, else one
// minus that. Returns the sums of weight (1 - miss) and weight miss over the rows of label 1, then those of weight miss
// and weight (1 - miss) over the others: hits, misses, false alarms, rejections. One thread: for a block of rows.
std::array<double, 4> smoothed_counts(std::span<const double> margin, std::span<const std::int32_t> label,
                                      std::span<const double> weight, double gamma, std::span<double> miss);

// Slopes of a function of those counts by gamma z, in the place of miss: weight gain miss (1 - miss), where the gain is
// that of the row's label. Returns their sum.
double smoothed_slopes(std::span<double> miss, std::span<const std::int32_t> label, std::span<const double> weight,
                       double gain_negative, double gain_positive, std::size_t threads);

// K >= 2 classes. margin [K][n]; residual [K][n], or empty.
double softmax_loss(std::span<const double> margin, std::size_t classes, std::span<const std::int32_t> label,
                    std::span<const double> weight, std::span<double> residual, std::size_t threads);

}  // namespace textmill::linear
