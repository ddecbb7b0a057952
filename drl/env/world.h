// A WAN that lives: background flows with a daily pattern (by longitude) and bursts, links that degrade and
// fail for a while, several jobs at once, workers that compute at different speeds. Flow-level: everything
// that sends shares links max-min. Deterministic from its seed; one thread per world.
//
// problem_for() is what a job sees: per link its capacity now, less what others use, but never less than its
// max-min share against them; that is the most it can be sure of, and Space/RateSolver plan within it.
#pragma once

#include <vector>

#include "drl/env/max_min.h"
#include "drl/env/space.h"
#include "drl/env/topology.h"

namespace l3dml::drl {

struct WorldOptions {
  double background_load = 0.3;  // mean share of an average link, at the average hour
  double burst_factor = 4;       // a bursting flow sends that much more
  double burst_mean_s = 20;      // and calm lasts five times as long
  double degrade_per_hour = 2;   // links losing 50 to 95 % of their rate
  double fail_per_hour = 0.2;    // links down, both directions
  double trouble_mean_s = 300;   // how long either lasts
};

class World {
 public:
  World(Topology topology, uint64_t seed, WorldOptions options = {});

  void advance(double seconds);
  double now_s() const { return now_s_; }

  // Direct control, for experiments: both directions of the cable that `link` belongs to.
  void degrade(int link, double factor, double seconds);

  int add_job(const Space& space, const std::vector<Column>& columns, const std::vector<double>& rates_bps);
  void remove_job(int id);

  // The network as the job would see it now. `own` is the id of its running plan (excluded from others), or
  // -1.
  Problem problem_for(std::vector<Child> children, Job job, int own = -1) const;

  // Time of one iteration if the columns' stripes (with shares) now send under their rates as ceilings,
  // against all others' demand: what the plan really gets, by global max-min.
  double realised_time_s(const Space& space, const std::vector<Column>& columns,
                         const std::vector<double>& rates_bps, const std::vector<double>& shares) const;

 private:
  struct Background {
    Flow flow;  // ceiling = demand now
    double mean_bps;
    double longitude;
    bool bursting;
  };
  struct Trouble {
    int link;
    double factor;
    double until_s;
  };
  struct RunningJob {
    int id;
    std::vector<Flow> stripes;
  };
  std::vector<double> capacity_now() const;
  std::vector<Flow> flows(int except) const;
  void set_demand(Background& b) const;

  Topology topology_;
  WorldOptions options_;
  Random random_;
  double now_s_ = 0;
  std::vector<Background> background_;
  std::vector<Trouble> troubles_;
  std::vector<RunningJob> jobs_;
  std::vector<int> reverse_;
  int next_job_ = 1;
};

}  // namespace l3dml::drl
