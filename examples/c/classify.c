/* What a device does with a program file, in C: opens it, executes it, reads the answer.
 *   classify PROGRAM IMAGES.npy LABELS.npy */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "belay.h"

/* The elements of a .npy file of version 1, whose dtype and shape we know; NULL with a message. */
static void* ReadNpy(const char* path, size_t bytes) {
  unsigned char header[10];
  FILE* file = fopen(path, "rb");
  void* elements = malloc(bytes);
  if (file == NULL || elements == NULL || fread(header, 1, sizeof header, file) != sizeof header ||
      fseek(file, header[8] + 256 * header[9], SEEK_CUR) != 0 ||
      fread(elements, 1, bytes, file) != bytes) {
    fprintf(stderr, "%s: can't read %zu bytes of elements\n", path, bytes);
    free(elements);
    elements = NULL;
  }
  if (file != NULL) fclose(file);
  return elements;
}

int main(int argc, char** argv) {
  enum { kImages = 360 };
  if (argc != 4) {
    fprintf(stderr, "usage: classify PROGRAM IMAGES.npy LABELS.npy\n");
    return 2;
  }
  float* images = ReadNpy(argv[2], kImages * 64 * sizeof(float));
  int64_t* labels = ReadNpy(argv[3], kImages * sizeof(int64_t));
  if (images == NULL || labels == NULL) return 1;

  belay_program* program = NULL;
  belay_method* method = NULL;
  belay_error* error = NULL;
  const int64_t sizes[] = {kImages, 1, 8, 8};
  const belay_tensor input = belay_tensor_contiguous(BELAY_FLOAT32, 4, sizes, images);
  belay_tensor scores;
  int correct = 0;
  if (belay_program_open(argv[1], NULL, &program, &error) == BELAY_OK &&
      belay_method_load(program, "forward", NULL, &method, &error) == BELAY_OK &&
      belay_method_set_tensor(method, 0, &input, &error) == BELAY_OK &&
      belay_method_execute(method, NULL, &error) == BELAY_OK &&
      belay_method_get_tensor(method, 0, &scores, &error) == BELAY_OK) {
    for (int i = 0; i < kImages; ++i) {
      const float* row = (const float*)scores.data + 10 * i;
      int best = 0;
      for (int digit = 1; digit < 10; ++digit) best = row[digit] > row[best] ? digit : best;
      correct += best == labels[i];
    }
    printf("%d of %d images are classified as labeled\n", correct, (int)kImages);
  } else {
    fprintf(stderr, "%s\n", belay_error_message(error));
  }
  const int status = error != NULL;
  belay_error_free(error);
  belay_method_free(method);
  belay_program_free(program);
  free(images);
  free(labels);
  return status;
}
