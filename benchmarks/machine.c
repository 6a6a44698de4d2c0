/* What the machine can do: machine THREADS prints the most multiply-adds in
 * float32, in 1e9 operations a second (two for each), then the bytes read and
 * copied from memory, in 1e9 a second. Each is the best of several rounds.
 *
 * Built by suites/models.py: cc -O3 -march=native -fopenmp machine.c
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __AVX512F__
enum { Lanes = 16 };
#else
enum { Lanes = 8 };
#endif
typedef float Vector __attribute__((vector_size(Lanes * sizeof(float))));

enum { Accumulators = 10, Rounds = 7 };
static const size_t numFloats = (size_t)64 << 20;

static double multiplyAdds(long count) {
  double seconds = 0;
#pragma omp parallel reduction(max : seconds)
  {
    Vector factor, term;
    for (int i = 0; i < Lanes; ++i)
      factor[i] = 0.999f, term[i] = 1e-3f;
    /* Variables, as an array would stay in memory. */
    Vector a = factor, b = factor, c = factor, d = factor, e = factor;
    Vector f = factor, g = factor, h = factor, i = factor, j = factor;
#define STEP(sum)                                                              \
  sum = sum * factor + term;                                                   \
  __asm__ volatile("" : "+v"(sum))
#pragma omp barrier
    double start = omp_get_wtime();
    for (long n = 0; n < count; ++n) {
      STEP(a);
      STEP(b);
      STEP(c);
      STEP(d);
      STEP(e);
      STEP(f);
      STEP(g);
      STEP(h);
      STEP(i);
      STEP(j);
    }
    seconds = omp_get_wtime() - start;
  }
  double flops = 2.0 * Lanes * Accumulators * (double)count;
  return flops * omp_get_max_threads() / seconds / 1e9;
}

static double readBytes(const float *from) {
  double start = omp_get_wtime();
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum) schedule(static)
  for (size_t i = 0; i < numFloats; ++i)
    sum += from[i];
  double seconds = omp_get_wtime() - start;
  __asm__ volatile("" : : "r"(&sum) : "memory");
  return (double)numFloats * sizeof(float) / seconds / 1e9;
}

static double copyBytes(const float *from, float *to) {
  double start = omp_get_wtime();
#pragma omp parallel
  {
    size_t part = numFloats / (size_t)omp_get_num_threads();
    size_t begin = part * (size_t)omp_get_thread_num();
    memcpy(to + begin, from + begin, part * sizeof(float));
  }
  double seconds = omp_get_wtime() - start;
  return 2.0 * (double)numFloats * sizeof(float) / seconds / 1e9;
}

int main(int argc, char **argv) {
  if (argc != 2 || atoi(argv[1]) < 1)
    return fprintf(stderr, "expected the number of threads\n"), 2;
  omp_set_num_threads(atoi(argv[1]));
  float *from = malloc(numFloats * sizeof(float));
  float *to = malloc(numFloats * sizeof(float));
  if (!from || !to)
    return fprintf(stderr, "out of memory\n"), 1;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < numFloats; ++i)
    from[i] = to[i] = 1;
  double best[3] = {0, 0, 0};
  for (int round = 0; round < Rounds; ++round) {
    double found[3] = {multiplyAdds(20000000), readBytes(from),
                       copyBytes(from, to)};
    for (int i = 0; i < 3; ++i)
      if (found[i] > best[i])
        best[i] = found[i];
  }
  printf("%.2f %.2f %.2f\n", best[0], best[1], best[2]);
  return 0;
}
