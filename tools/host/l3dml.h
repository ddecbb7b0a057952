/* The stable C interface of the L3DML host library. Thread-safe where not said otherwise. Functions that can
 * fail return 0 or a negative l3dml_error; l3dml_last_error() then has one line that says what to do.
 *
 *   l3dml_job* job = l3dml_open("rank0.json");
 *   l3dml_request r = L3DML_REQUEST_INIT;
 *   r.input = r.output = x; r.count = n;
 *   if (!job || l3dml_allreduce(job, &r) < 0) fprintf(stderr, "%s\n", l3dml_last_error());
 *   l3dml_close(job);
 */
#ifndef L3DML_H_
#define L3DML_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define L3DML_ABI 1 /* grows when something is added; l3dml_abi() tells the library's */

typedef struct l3dml_job l3dml_job;
typedef struct l3dml_work l3dml_work;

enum l3dml_error {
  L3DML_OK = 0,
  L3DML_INVALID = -1,    /* a wrong argument or configuration */
  L3DML_FAILED = -2,     /* the job has failed: time-out, a lost member; no further call can succeed */
  L3DML_NOT_FINITE = -3, /* some rank had a value that is not finite; the job goes on */
  L3DML_SYSTEM = -4      /* a system call failed */
};
enum l3dml_type {
  L3DML_FLOAT32 = 0,
  L3DML_FLOAT64 = 1,
  L3DML_FLOAT16 = 2,
  L3DML_BFLOAT16 = 3,
  L3DML_INT32 = 4
};
enum l3dml_format { L3DML_FIXED32 = 0, L3DML_FIXED16X2 = 1, L3DML_FIXED8X4 = 2 };
enum l3dml_op { L3DML_SUM = 0, L3DML_AVERAGE = 1 };

typedef struct l3dml_request {
  size_t size;       /* sizeof(l3dml_request): later versions append */
  const void* input; /* untouched by the caller until the call is done */
  void* output;      /* may be input */
  size_t count;      /* elements */
  int type;          /* l3dml_type */
  int format;        /* l3dml_format of the lanes */
  int op;            /* l3dml_op */
  uint64_t key;      /* names the recurring place in a training step; 0 is fine */
  float* residual;   /* error feedback, one float per element, kept by the caller; or null */
} l3dml_request;
#define L3DML_REQUEST_INIT \
  { sizeof(l3dml_request), 0, 0, 0, L3DML_FLOAT32, L3DML_FIXED32, L3DML_SUM, 0, 0 }

typedef struct l3dml_stats {
  size_t size;
  uint64_t sent_packets, retransmitted_packets, wire_bytes, nacks_sent, probes_sent, missing_packets, repeats,
      abstained;
  int64_t segment_rtt_ns, result_time_ns;
} l3dml_stats;

uint32_t l3dml_abi(void);
/* Of this thread's last failed call; never null. */
const char* l3dml_last_error(void);

/* Joins as the rank that the JSON file describes (tools/host/job_config.h). Null on error. */
l3dml_job* l3dml_open(const char* config_file);
l3dml_job* l3dml_open_json(const char* json);
/* A barrier of all ranks, then frees the job, whatever the result. */
int l3dml_close(l3dml_job* job);
/* Frees the job without waiting for anybody. */
void l3dml_abort(l3dml_job* job);

uint32_t l3dml_world(const l3dml_job* job);
uint32_t l3dml_rank(const l3dml_job* job);

int l3dml_allreduce(l3dml_job* job, const l3dml_request* request); /* waits */
/* Null on error. The work must be freed, done or not; the tensors must live until it is done. */
l3dml_work* l3dml_allreduce_start(l3dml_job* job, const l3dml_request* request);
int l3dml_wait(l3dml_work* work);
int l3dml_done(const l3dml_work* work); /* 1 or 0 */
void l3dml_work_free(l3dml_work* work);

/* Ends all calls, now and later, with this reason: a member is known to be gone. */
void l3dml_fail(l3dml_job* job, const char* reason);
int l3dml_get_stats(l3dml_job* job, l3dml_stats* stats); /* stats->size must be set */

#ifdef __cplusplus
}
#endif
#endif
