#include "tools/host/l3dml.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include "tools/host/job.h"
#include "tools/host/l3dml_job.h"
#include "tools/host/udp_transport.h"

struct l3dml_work {
  l3dml::host::Job::Handle handle;
};

namespace {

using namespace l3dml::host;
using l3dml::kernels::ElementType;
using l3dml::kernels::LaneFormat;

thread_local std::string last_error;

int report(const absl::Status& status) {
  if (status.ok()) return L3DML_OK;
  last_error = std::string(status.message());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      return L3DML_INVALID;
    case absl::StatusCode::kOutOfRange:
      return L3DML_NOT_FINITE;
    case absl::StatusCode::kUnavailable:
      return L3DML_SYSTEM;
    default:
      return L3DML_FAILED;
  }
}

l3dml_job* open(const absl::StatusOr<JobConfig>& config) {
  if (!config.ok()) return report(config.status()), nullptr;
  auto job = Job::create(*config, std::make_unique<UdpTransport>());
  if (!job.ok()) return report(job.status()), nullptr;
  return new l3dml_job{*std::move(job), nullptr};
}

absl::StatusOr<Request> translate(const l3dml_job* job, const l3dml_request* request) {
  if (!job || !request) return absl::InvalidArgumentError("job and request must not be null");
  l3dml_request r = L3DML_REQUEST_INIT;
  if (request->size < offsetof(l3dml_request, residual))
    return absl::InvalidArgumentError("request->size is too small; start from L3DML_REQUEST_INIT");
  std::memcpy(&r, request, std::min(request->size, sizeof r));
  if (r.type < L3DML_FLOAT32 || r.type > L3DML_INT32)
    return absl::InvalidArgumentError("request->type is unknown");
  if (r.format < L3DML_FIXED32 || r.format > L3DML_FIXED8X4)
    return absl::InvalidArgumentError("request->format is unknown");
  if (r.op < L3DML_SUM || r.op > L3DML_AVERAGE) return absl::InvalidArgumentError("request->op is unknown");
  Request result;
  result.input = r.input;
  result.output = r.output;
  result.count = r.count;
  result.type = static_cast<ElementType>(r.type);
  result.format = static_cast<LaneFormat>(r.format);
  result.op = r.op == L3DML_AVERAGE ? ReduceOp::average : ReduceOp::sum;
  result.key = r.key;
  result.residual = r.residual;
  return result;
}

// Nothing thrown (memory, threads) may cross into C.
template <typename Function, typename Result>
Result guarded(Result on_error, Function function) {
  try {
    return function();
  } catch (const std::exception& error) {
    last_error = error.what();
    return on_error;
  }
}

}  // namespace

namespace l3dml::host {
void set_last_error(const std::string& text) { last_error = text; }
}  // namespace l3dml::host

extern "C" {

uint32_t l3dml_abi(void) { return L3DML_ABI; }
const char* l3dml_last_error(void) { return last_error.c_str(); }

l3dml_job* l3dml_open(const char* config_file) {
  return guarded<>(static_cast<l3dml_job*>(nullptr),
                   [&] { return open(load_job_config(config_file ? config_file : "")); });
}

l3dml_job* l3dml_open_json(const char* json) {
  return guarded<>(static_cast<l3dml_job*>(nullptr),
                   [&] { return open(parse_job_config(json ? json : "")); });
}

int l3dml_close(l3dml_job* job) {
  if (!job) return L3DML_OK;
  const int result = guarded<>(static_cast<int>(L3DML_SYSTEM), [&] {
    const int closed = report(job->job->close());
    if (job->agent) job->agent->leave();
    return closed;
  });
  delete job;
  return result;
}

void l3dml_abort(l3dml_job* job) { delete job; }

uint32_t l3dml_world(const l3dml_job* job) { return job->job->config().world; }
uint32_t l3dml_rank(const l3dml_job* job) { return job->job->config().rank; }

int l3dml_allreduce(l3dml_job* job, const l3dml_request* request) {
  return guarded<>(static_cast<int>(L3DML_SYSTEM), [&] {
    const auto translated = translate(job, request);
    return report(translated.ok() ? job->job->allreduce(*translated).wait() : translated.status());
  });
}

l3dml_work* l3dml_allreduce_start(l3dml_job* job, const l3dml_request* request) {
  return guarded<>(static_cast<l3dml_work*>(nullptr), [&]() -> l3dml_work* {
    const auto translated = translate(job, request);
    if (!translated.ok()) return report(translated.status()), nullptr;
    return new l3dml_work{job->job->allreduce(*translated)};
  });
}

int l3dml_wait(l3dml_work* work) { return report(work->handle.wait()); }
int l3dml_done(const l3dml_work* work) { return work->handle.done(); }
void l3dml_work_free(l3dml_work* work) { delete work; }

void l3dml_fail(l3dml_job* job, const char* reason) { job->job->fail(reason ? reason : "failed"); }

int l3dml_get_stats(l3dml_job* job, l3dml_stats* stats) {
  if (!job || !stats || stats->size < sizeof(size_t)) {
    last_error = "stats->size must be sizeof(l3dml_stats)";
    return L3DML_INVALID;
  }
  const WorkerStats total = job->job->stats().total;
  const l3dml_stats all{std::min(stats->size, sizeof all),
                        total.ups,
                        total.retransmitted,
                        total.wire_bytes,
                        total.nacks_sent,
                        total.probes_sent,
                        total.downs_missing + total.nacked,
                        total.repeats,
                        total.abstained,
                        total.segment_rtt_ns,
                        total.result_time_ns};
  std::memcpy(stats, &all, all.size);
  return L3DML_OK;
}

}  // extern "C"
