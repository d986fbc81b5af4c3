/* files.c - a "CUDA program" whose files are removed before it ends, have odd names, or are gone
 * already.
 *
 * files wait                    waits in a function of its own
 * files library LIBRARY         waits in the library
 * files bundle LIBRARY          copies itself and the library to a new folder, runs the copy and
 *                               removes both, as one-file bundles do
 * files bytes LIBRARY           the same in a folder whose name is no UTF-8, which stays
 * files deleted LIBRARY         a copy of the library that is removed as soon as it is loaded
 * files memory LIBRARY          the library in memory, without a file (memfd)
 * files rooted LIBRARY          a copy of the library, in a root of the program's own (chroot)
 * files self                    a copy of itself that removes itself before it touches the GPU */
#include "hooks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuStreamCreate(cuda_stream *s, unsigned flags);
int cuStreamSynchronize(void *s);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, cuda_stream s, void **args, void **extra);

enum { WAITS = 20, FAILED = 9, SKIPPED_EXIT = 77 };

typedef int wait_fn(int (*sync)(void *), void *stream);

static void must(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(FAILED);
}

static cuda_stream stream(void)
{
    cuda_stream s;
    must(cuInit(0) == 0 && cuStreamCreate(&s, 0) == 0, "cuda");
    return s;
}

static void waits_on(cuda_stream s, wait_fn *wait)
{
    for (int i = 0; i < WAITS; i++) {
        cuLaunchKernel("_Z6kernelPf", 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
        must(wait(cuStreamSynchronize, s) == 0, "wait");
    }
}

static void waits(wait_fn *wait)
{
    waits_on(stream(), wait);
}

__attribute__((noinline)) static int wait_here(int (*sync)(void *), void *s)
{
    int rc = sync(s); /* FILES_LINE */
    __asm__ volatile("" ::: "memory");
    return rc;
}

static wait_fn *load(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fprintf(stderr, "%s\n", dlerror());
    wait_fn *wait = handle ? (wait_fn *)dlsym(handle, "plug_wait") : NULL;
    must(wait != NULL, "plug_wait");
    return wait;
}

static void copy_to(int to, const char *from)
{
    char bytes[1 << 16];
    ssize_t n;
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    must(fd >= 0 && to >= 0, from);
    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        must(write(to, bytes, (size_t)n) == n, "write");
    close(fd);
}

static void copy(const char *from, const char *to)
{
    int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    copy_to(fd, from);
    close(fd);
}

static int run(char *const argv[])
{
    int status;
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        execv(argv[0], argv);
        _exit(FAILED);
    }
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

static int in_folder(const char *dir, const char *library, int stays)
{
    char program[PATH_MAX], plug[PATH_MAX];
    snprintf(program, sizeof program, "%s/bundled", dir);
    snprintf(plug, sizeof plug, "%s/libplug.so", dir);
    copy("/proc/self/exe", program);
    copy(library, plug);
    int rc = run((char *const[]){program, "library", plug, NULL});
    if (!stays) {
        unlink(program);
        unlink(plug);
        rmdir(dir);
    }
    return rc;
}

/* The root changes when the session has begun. */
static int in_root(const char *library)
{
    if (geteuid() != 0)
        return SKIPPED_EXIT;
    must(mkdir("jail", 0755) == 0 && mkdir("jail/plugs", 0755) == 0, "mkdir");
    copy(library, "jail/plugs/libplug.so");
    cuda_stream s = stream();
    must(chroot("jail") == 0 && chdir("/") == 0, "chroot");
    waits_on(s, load("/plugs/libplug.so"));
    return 0;
}

static int alone(const char *mode)
{
    char self[PATH_MAX] = "";
    if (!strcmp(mode, "wait")) {
        waits(wait_here);
        return 0;
    }
    if (!strcmp(mode, "self")) {
        snprintf(self, sizeof self, "%s/files-XXXXXX",
                 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
        int fd = mkstemp(self);
        copy_to(fd, "/proc/self/exe");
        must(fchmod(fd, 0755) == 0, "chmod");
        close(fd);
        return run((char *const[]){self, "gone", NULL});
    }
    must(readlink("/proc/self/exe", self, sizeof self - 1) > 0 && unlink(self) == 0, "unlink");
    waits(wait_here);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "wait", *library = argc > 2 ? argv[2] : NULL;
    char dir[] = "/tmp/files-XXXXXX", plug[PATH_MAX];
    if (!library)
        return alone(mode);
    if (!strcmp(mode, "bundle"))
        return in_folder(mkdtemp(dir), library, 0);
    if (!strcmp(mode, "rooted"))
        return in_root(library);
    if (!strcmp(mode, "bytes")) {
        must(mkdir("b\xff\xfe\\x41", 0755) == 0, "mkdir");
        return in_folder("./b\xff\xfe\\x41", library, 1);
    }
    snprintf(plug, sizeof plug, "%s", library);
    if (!strcmp(mode, "memory")) {
        int fd = memfd_create("plug", 0);
        copy_to(fd, library);
        snprintf(plug, sizeof plug, "/proc/self/fd/%d", fd);
    } else if (!strcmp(mode, "deleted")) {
        snprintf(plug, sizeof plug, "%s/libplug.so", mkdtemp(dir));
        copy(library, plug);
    }
    wait_fn *wait = load(plug);
    if (!strcmp(mode, "deleted"))
        must(unlink(plug) == 0 && rmdir(dir) == 0, "unlink");
    waits(wait);
    return 0;
}
