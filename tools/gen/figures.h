// What the generator tells: rows of the common report, lines for people, charts for the page.
#pragma once

#include <string>
#include <vector>

#include "tools/gen/open_loop.h"
#include "tools/gen/replay.h"
#include "tools/gen/search.h"
#include "tools/gen/windowed.h"
#include "tools/report/chart.h"
#include "tools/report/report.h"

namespace l3dml::gen {

using Group = std::map<std::string, std::string>;

// Bits per second on the wire of so many frames per second: preamble, check sequence and gap counted.
double wire_bps(double frames_per_s, double frame_bytes);

void add_trial(const TrialResult& result, double frame_bytes, const Group& group, report::Report* report);
void add_search(const SearchResult& result, double frame_bytes, const Group& group, report::Report* report);
void add_windowed(const WindowedResult& result, double frame_bytes, const Group& group,
                  report::Report* report);
void add_replay(const ReplayResult& result, report::Report* report);

std::string describe(const TrialResult& result, double frame_bytes);
std::string describe(const SearchResult& result, double frame_bytes);
std::string describe(const WindowedResult& result, double frame_bytes);
std::string describe(const ReplayResult& result);

// Latency over the percentiles, an axis that gives every further nine the same room.
std::string latency_chart(const std::string& title,
                          const std::vector<std::pair<std::string, const Histogram*>>& of);
// Loss of every trial of the searches over its rate.
std::string loss_chart(const std::vector<std::pair<std::string, const SearchResult*>>& of);

}  // namespace l3dml::gen
