/* one_thread.c - limits a test to one thread: replaces pthread_create in its program and
 * in the libraries that the program loads. ThreadSanitizer's build leaves these tests out
 * (threaded.cmake). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    (void)thread, (void)attr, (void)fn, (void)arg;
    fputs("this test starts a thread: write its name into tests/unit/threaded.cmake, so that "
          "ThreadSanitizer sees it\n",
          stderr);
    abort();
}
