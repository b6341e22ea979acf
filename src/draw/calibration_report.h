// A calibration's search as one HTML page: per class and phase, what was tried, how far it came and what won.
#pragma once

#include <string>

#include "calibrate/calibrate.h"

namespace clasp::draw {

std::string calibration_html(const calibrate::CalibrateReport& report, const std::string& title);

}  // namespace clasp::draw
