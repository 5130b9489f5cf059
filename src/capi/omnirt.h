/* OmniRT for C and for whatever calls C: libomnirt.so, `pkg-config --cflags --libs omnirt`.
 *
 * A session holds what is loaded; requests are the JSON of docs/requests.md; results are pixels in
 * memory and a report (docs/report.md). docs/embedding.md shows a program.
 *
 * Status: every function that can fail returns an omnirt_status, the exit code that the command
 * line would end with. omnirt_last_error() then says what was wrong. No C++ exception leaves the
 * library. Arguments that are NULL where they may not be are refused with OMNIRT_BAD_REQUEST.
 *
 * Ownership: what a function creates the caller destroys by the function that names it. Texts and
 * pixels of a result belong to it and live as long as it does. Texts are UTF-8 and end in NUL.
 *
 * Threads: several threads may validate and run on one session at once. A session is confined and
 * destroyed, and a result destroyed, while no other thread uses it. on_progress may destroy the
 * session of its own run: the run continues to its end. The number of threads that a run computes
 * on is OMP_NUM_THREADS, read at the first run. A process that is forked after a run cannot run:
 * OMNIRT_RUN_FAILED.
 *
 * The library cannot be unloaded, and installs no signal handlers: a model's file that is cut
 * short while it is in use raises SIGBUS. */
#ifndef OMNIRT_H
#define OMNIRT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with each addition; what is there stays as it is until the library's name changes. */
#define OMNIRT_API_VERSION 1

typedef int omnirt_status;
enum {
  OMNIRT_OK = 0,
  OMNIRT_BAD_REQUEST = 2, /* an argument, the request, the model or an input file */
  OMNIRT_RUN_FAILED = 3,  /* memory, the disk or the device, while the run was under way */
  OMNIRT_CANCELLED = 130  /* on_progress asked for it */
};

/* Flags of omnirt_validate and omnirt_run; others are refused. */
enum {
  OMNIRT_STRICT = 1 /* warnings are errors */
};

typedef struct omnirt_session omnirt_session;
typedef struct omnirt_result omnirt_result;

/* OMNIRT_API_VERSION of the library that is loaded. */
int omnirt_api_version(void);

/* What was wrong in this thread's last call that failed, one line per finding: field, value, limit
 * and fix. Valid until the thread's next call; "" after one that succeeded. */
const char* omnirt_last_error(void);

/* A session over all models of this build. */
omnirt_status omnirt_session_create(omnirt_session** session);
/* From now on no path of a request may be outside this folder ("": anywhere). */
omnirt_status omnirt_session_confine(omnirt_session* session, const char* folder);
/* Takes NULL. */
void omnirt_session_destroy(omnirt_session* session);

/* Checks a request (JSON, at most 4 MiB) without reading weights. *findings becomes
 * {"ok", ..., "errors", "warnings"} with every value as it was settled, whatever the status; free
 * it with omnirt_text_destroy. OMNIRT_OK: omnirt_run would run it. */
omnirt_status omnirt_validate(omnirt_session* session, const char* request, unsigned flags,
                              char** findings);
/* Takes NULL. */
void omnirt_text_destroy(char* text);

/* Where a run is; valid during the call. */
typedef struct omnirt_progress {
  const char* stage; /* prepare_conditions, prepare_latents, denoise_loop, decode, export */
  uint64_t step;     /* done, in denoise_loop; 0 elsewhere */
  uint64_t steps;
} omnirt_progress;

/* Called on the thread of omnirt_run, at the start of each block and after each step. Anything but
 * 0 cancels the run, which then ends within a step. Must not throw or jump out. */
typedef int (*omnirt_on_progress)(const omnirt_progress* progress, void* user);

/* Runs a request. `on_progress` may be NULL; `user` is passed to it. Files are written only where
 * the request's config names output or output_dir, or has output_type latent.
 * *result is set whenever the request could be read, after a failure too: its report says how far
 * the run came, and it holds no images. Otherwise it is NULL. */
omnirt_status omnirt_run(omnirt_session* session, const char* request, unsigned flags,
                         omnirt_on_progress on_progress, void* user, omnirt_result** result);

/* One image, or one frame of a video: 8-bit RGB, rows from the top, no padding. */
typedef struct omnirt_image {
  uint32_t width;
  uint32_t height;
  uint32_t channels;     /* 3 */
  const uint8_t* pixels; /* height * width * channels bytes, the result's own */
} omnirt_image;

/* The report as JSON; NULL for NULL. */
const char* omnirt_result_report(const omnirt_result* result);
/* How many images or videos the run made, in the order of the report's artifacts; 0 for NULL. */
size_t omnirt_result_count(const omnirt_result* result);
/* How many frames the one at `index` has: 1 of an image, 0 of latents or where there is none. */
size_t omnirt_result_frames(const omnirt_result* result, size_t index);
/* Frame `frame` of the one at `index`. */
omnirt_status omnirt_result_image(const omnirt_result* result, size_t index, size_t frame,
                                  omnirt_image* image);
/* Takes NULL. */
void omnirt_result_destroy(omnirt_result* result);

#ifdef __cplusplus
}
#endif
#endif
