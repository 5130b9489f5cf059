#include "serve/run_trace.hpp"

namespace omnirt::serve {
namespace {

constexpr int64_t ns_per_ms = 1'000'000;

std::vector<std::pair<std::string, Json>> attributes_of(const Job& job, const RunPlace& place) {
  std::vector<std::pair<std::string, Json>> made{
      {"omnirt.job.id", job.id}, {"omnirt.model", job.model}, {"omnirt.job.attempt", job.attempts}};
  if (place.worker.empty()) return made;
  made.emplace_back("omnirt.worker.id", place.worker);
  made.emplace_back("omnirt.job.part", place.part);
  return made;
}

}  // namespace

// A later part of a run begins where it is taken up; the wait for it is in no span.
RunTrace::RunTrace(TraceExporter* exporter, const std::string& traceparent, const Job& job,
                   const RunPlace& place)
    : exporter_(exporter) {
  if (!exporter_) return;
  request_ = read_traceparent(traceparent).value_or(new_trace());
  job_ = {request_.trace_id, new_span_id(), request_.sampled};
  const int64_t now = unix_ns();
  whole_ = {.within = request_,
            .id = job_.span_id,
            .name = "job",
            .begun_ns = place.continues ? now : job.created_ms * ns_per_ms,
            .attributes = attributes_of(job, place)};
  resumed_ns_ = now;
  if (place.continues) return;
  add({.within = job_,
       .id = new_span_id(),
       .name = "queue",
       .begun_ns = job.created_ms * ns_per_ms,
       .ended_ns = std::max(job.started_ms * ns_per_ms, job.created_ms * ns_per_ms)});
}

void RunTrace::add(Span span) {
  exporter_->add(std::move(span));
}

void RunTrace::end_stage(int64_t now) {
  if (!stage_) return;
  stage_->ended_ns = now;
  add(std::move(*stage_));
  stage_.reset();
}

void RunTrace::at(const JobProgress& progress) {
  if (!exporter_) return;
  const int64_t now = unix_ns();
  if (stage_ && stage_->name != progress.stage) end_stage(now);
  if (!stage_) {
    stage_ = Span{.within = job_, .id = new_span_id(), .name = progress.stage, .begun_ns = now};
    steps_ = progress.step;
  }
  if (progress.step <= steps_) return;
  steps_ = progress.step;
  add({.within = {job_.trace_id, stage_->id, job_.sampled},
       .id = new_span_id(),
       .name = "step",
       .begun_ns = resumed_ns_,
       .ended_ns = now,
       .attributes = {{"omnirt.step", progress.step}, {"omnirt.steps", progress.steps}}});
}

void RunTrace::resumes() {
  if (exporter_) resumed_ns_ = unix_ns();
}

void RunTrace::end(const std::string& error) {
  if (!exporter_) return;
  const int64_t now = unix_ns();
  if (stage_) stage_->error = error;
  end_stage(now);
  whole_.ended_ns = now;
  whole_.error = error;
  add(std::move(whole_));
}

}  // namespace omnirt::serve
