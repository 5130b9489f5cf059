/* Makes an image with the embedded model and writes its pixels: pixels <image.ppm> */
#include <omnirt.h>
#include <stdio.h>

static int on_progress(const omnirt_progress* at, void* user) {
  if (at->steps > 0) fprintf(user, "step %d of %d\n", (int)at->step, (int)at->steps);
  return 0; /* anything else cancels the run */
}

static omnirt_status write_ppm(const char* path, const omnirt_image* image) {
  size_t bytes = (size_t)image->width * image->height * image->channels;
  FILE* file = fopen(path, "wb");
  if (!file) return OMNIRT_RUN_FAILED;
  fprintf(file, "P6 %u %u 255\n", (unsigned)image->width, (unsigned)image->height);
  fwrite(image->pixels, 1, bytes, file);
  return fclose(file) == 0 ? OMNIRT_OK : OMNIRT_RUN_FAILED;
}

int main(int argc, char** argv) {
  const char* request =
      "{\"model\": \"emoji\", \"inputs\": {\"prompt\": \"a red apple\"},"
      " \"config\": {\"seed\": 1, \"num_inference_steps\": 2}}";
  omnirt_session* session = NULL;
  omnirt_result* result = NULL;
  omnirt_image image;
  omnirt_status status = omnirt_session_create(&session);
  if (status == OMNIRT_OK)
    status = omnirt_run(session, request, OMNIRT_STRICT, on_progress, stderr, &result);
  if (status == OMNIRT_OK) status = omnirt_result_image(result, 0, 0, &image);
  if (status != OMNIRT_OK) fprintf(stderr, "%s\n", omnirt_last_error());
  if (status == OMNIRT_OK && argc > 1) status = write_ppm(argv[1], &image);
  omnirt_result_destroy(result); /* the pixels are the result's */
  omnirt_session_destroy(session);
  return status;
}
