#include "dataplane/io/link_parameters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "dataplane/base/clock.h"
#include "dataplane/io/units.h"

namespace l3dml::io {
namespace {

template <typename T, typename U>
void replace(T& target, const std::optional<U>& value) {
  if (value) target = static_cast<T>(*value);
}

template <typename T, typename U>
absl::Status assign(std::optional<T>& target, const absl::StatusOr<U>& value) {
  if (!value.ok()) return value.status();
  target = static_cast<T>(*value);
  return absl::OkStatus();
}

absl::Status share(const char* name, double value) {
  if (value >= 0 && value <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " must lie between 0 and 1"));
}

}  // namespace

LossModel LossModel::bursts(double mean, double burst) {
  LossModel model;
  model.bad_to_good = 1 / std::max(burst, 1.0);
  model.good_to_bad = mean < 1 ? std::min(1.0, mean * model.bad_to_good / (1 - mean)) : 1;
  if (mean >= 1) model.bad_to_good = 0;
  return model;
}

double LossModel::mean() const {
  const double moves = good_to_bad + bad_to_good;
  const double bad = moves > 0 ? good_to_bad / moves : 0;
  return (1 - bad) * loss_good + bad * loss_bad;
}

uint64_t LinkParameters::queue_limit_bytes() const {
  if (queue_bytes != 0) return queue_bytes;
  const double product =
      static_cast<double>(rate_bps) / 8 * 2 * static_cast<double>(delay_ns) / base::kSecond;
  return std::max<uint64_t>(64 * 1024, static_cast<uint64_t>(product));
}

absl::Status LinkParameters::validate() const {
  const std::pair<const char*, double> shares[] = {{"duplicate", duplicate},
                                                   {"reorder", reorder},
                                                   {"corrupt", corrupt},
                                                   {"bit_error_rate", bit_error_rate},
                                                   {"good_to_bad", loss.good_to_bad},
                                                   {"bad_to_good", loss.bad_to_good},
                                                   {"loss_good", loss.loss_good},
                                                   {"loss_bad", loss.loss_bad}};
  for (const auto& [name, value] : shares)
    if (auto status = share(name, value); !status.ok()) return status;
  if (delay_ns < 0 || jitter_ns < 0 || reorder_delay_ns < 0)
    return absl::InvalidArgumentError("delay, jitter and reorder_delay must not be negative");
  if (overhead_bytes > 1000) return absl::InvalidArgumentError("overhead must be at most 1000 bytes");
  if (ecn_bytes != 0 && rate_bps == 0)
    return absl::InvalidArgumentError("ecn needs a rate: without one there is no queue to measure");
  if (ecn_bytes > queue_limit_bytes())
    return absl::InvalidArgumentError(
        absl::StrCat("ecn (", ecn_bytes, " bytes) must lie below queue (", queue_limit_bytes(), " bytes)"));
  return absl::OkStatus();
}

void LinkPatch::apply(LinkParameters& p) const {
  replace(p.rate_bps, rate_bps);
  replace(p.overhead_bytes, overhead_bytes);
  replace(p.delay_ns, delay_ns);
  replace(p.jitter_ns, jitter_ns);
  replace(p.reorder_delay_ns, reorder_delay_ns);
  replace(p.jitter_kind, jitter_kind);
  replace(p.loss, loss);
  replace(p.duplicate, duplicate);
  replace(p.reorder, reorder);
  replace(p.corrupt, corrupt);
  replace(p.bit_error_rate, bit_error_rate);
  replace(p.queue_bytes, queue_bytes);
  replace(p.ecn_bytes, ecn_bytes);
  replace(p.up, up);
}

absl::Status LinkPatch::set(const std::string& name, const std::string& value) {
  if (name == "rate") return assign(rate_bps, value == "unlimited" ? uint64_t{0} : parse_rate(value));
  if (name == "overhead") return assign(overhead_bytes, parse_size(value));
  if (name == "delay") return assign(delay_ns, parse_duration(value));
  if (name == "jitter") return assign(jitter_ns, parse_duration(value));
  if (name == "reorder_delay") return assign(reorder_delay_ns, parse_duration(value));
  if (name == "duplicate") return assign(duplicate, parse_ratio(value));
  if (name == "reorder") return assign(reorder, parse_ratio(value));
  if (name == "corrupt") return assign(corrupt, parse_ratio(value));
  if (name == "bit_error_rate") return assign(bit_error_rate, parse_ratio(value));
  if (name == "queue") return assign(queue_bytes, parse_size(value));
  if (name == "ecn") return assign(ecn_bytes, parse_size(value));
  if (name == "up") return assign(up, parse_bool(value));
  if (name == "jitter_kind") {
    if (value != "uniform" && value != "normal")
      return absl::InvalidArgumentError(absl::StrCat("\"", value, "\" is neither uniform nor normal"));
    jitter_kind = value == "normal" ? JitterKind::normal : JitterKind::uniform;
    return absl::OkStatus();
  }
  if (name == "loss") {
    const auto p = parse_ratio(value);
    if (p.ok()) loss = LossModel::bernoulli(*p);
    return p.status();
  }
  return absl::NotFoundError(absl::StrCat(
      "\"", name,
      "\" is no link parameter; there are rate, overhead, delay, jitter, jitter_kind, loss, duplicate, "
      "reorder, reorder_delay, corrupt, bit_error_rate, queue, ecn, up"));
}

absl::Status LinkPatch::set_loss(const std::vector<std::pair<std::string, std::string>>& fields) {
  LossModel model;
  double mean = -1, burst = 1;
  bool states = false;
  for (const auto& [name, value] : fields) {
    if (name == "burst") {  // packets, so not a share
      const auto packets = parse_rate(value);
      if (!packets.ok() || *packets < 1)
        return absl::InvalidArgumentError("burst must be a number of packets, at least 1");
      burst = static_cast<double>(*packets);
      continue;
    }
    const auto ratio = parse_ratio(value);
    if (!ratio.ok()) return ratio.status();
    if (name == "mean") {
      mean = *ratio;
      continue;
    }
    states = true;
    if (name == "good_to_bad")
      model.good_to_bad = *ratio;
    else if (name == "bad_to_good")
      model.bad_to_good = *ratio;
    else if (name == "loss_good")
      model.loss_good = *ratio;
    else if (name == "loss_bad")
      model.loss_bad = *ratio;
    else
      return absl::NotFoundError(absl::StrCat("\"", name,
                                              "\" is no loss parameter; there are mean, burst or "
                                              "good_to_bad, bad_to_good, loss_good, loss_bad"));
  }
  if (states == (mean >= 0))
    return absl::InvalidArgumentError("loss takes either mean and burst, or good_to_bad and bad_to_good");
  loss = states ? model : LossModel::bursts(mean, burst);
  return absl::OkStatus();
}

}  // namespace l3dml::io
