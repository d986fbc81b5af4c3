/* Copies of memory that may not be mapped: pages that end, descriptors that are closed, forks. */
#include "base/err.h"
#include "stack/other/snapshot.h"
#include "tests/test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, AT = 100 };

static struct snapshot s;

/* Maps a page that can be read, followed by one that cannot. */
static char *half_open(void)
{
    char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    memset(p, 'x', PAGE);
    assert_int_equal(munmap(p + PAGE, PAGE), 0);
    return p;
}

static void copies(const char *name)
{
    char *p = half_open();
    struct iovec pieces[] = {{p, 8}, {p + 50, 30}, {p + PAGE - 96, 200}, {p, 8}};
    assert_string_equal(snapshot_name(&s), name);
    memset(p + 50, 'y', 30);
    assert_int_equal(snapshot_copy(&s, AT, pieces, 2), 38);
    assert_memory_equal(s.data + AT, "xxxxxxxxyyyy", 12);
    size_t got = snapshot_copy(&s, 0, pieces, 4);
    assert_true(got <= 8 + 30 + 96); /* a pipe and process_vm_readv may end earlier */
    assert_int_equal(snapshot_copy(&s, 0, &pieces[3], 1), 8);
    assert_int_equal(munmap(p, PAGE), 0);
    assert_int_equal(snapshot_copy(&s, 0, pieces, 2), 0);
    struct iovec nowhere = {(void *)~(uintptr_t)0xfff, 8}, none = {NULL, 8};
    assert_int_equal(snapshot_copy(&s, 0, &nowhere, 1), 0);
    assert_int_equal(snapshot_copy(&s, 0, &none, 1), 0);
    assert_string_equal(snapshot_name(&s), name); /* after a fault the way of copying is the same */
}

TEST(memfd_copies)
{
    assert_int_equal(snapshot_open(&s), 0);
    copies("memfd");
    snapshot_close(&s);
    snapshot_close(&s);
}

TEST(a_copy_fits_or_is_refused)
{
    static char much[SNAPSHOT_BYTES + 1];
    struct iovec piece = {much, sizeof(much) - 1};
    assert_int_equal(snapshot_open(&s), 0);
    much[SNAPSHOT_BYTES - 1] = 'z';
    assert_int_equal(snapshot_copy(&s, 0, &piece, 1), SNAPSHOT_BYTES);
    assert_int_equal(s.data[SNAPSHOT_BYTES - 1], 'z');
    assert_int_equal(snapshot_copy(&s, 1, &piece, 1), 0);
    piece.iov_len++;
    assert_int_equal(snapshot_copy(&s, 0, &piece, 1), 0);
    snapshot_close(&s);
}

/* Runs `work` in a child, since its limits stay for the rest of the process's life. */
static void in_child(void (*work)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        work();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void with_no_files(void)
{
    struct rlimit none = {0, 0};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(snapshot_open(&s), 0); /* SIGXFSZ would end this child */
    copies("pipe");
    snapshot_close(&s);
}

TEST(a_pipe_where_files_may_not_grow)
{
    in_child(with_no_files);
}

/* The limit comes between two copies of one look. */
static void with_no_more_files(void)
{
    static const char text[] = "before", more[] = "after";
    struct iovec first = {(void *)text, sizeof text}, second = {(void *)more, sizeof more};
    struct rlimit none = {0, 0};
    sigset_t every;
    sigfillset(&every); /* as the owner of a snapshot does */
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &every, NULL), 0);
    assert_int_equal(snapshot_open(&s), 0);
    assert_string_equal(snapshot_name(&s), "memfd");
    for (size_t at = 0; at < SNAPSHOT_BYTES; at += SNAPSHOT_BYTES - sizeof text)
        assert_int_equal(snapshot_copy(&s, at, &first, 1), sizeof text);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(snapshot_copy(&s, AT, &second, 1), sizeof more);
    assert_string_equal(snapshot_name(&s), "pipe");
    assert_string_equal(s.data + AT, more);
    assert_string_equal(s.data, text); /* what was copied before is there */
    assert_string_equal(s.data + SNAPSHOT_BYTES - sizeof text, text);
    snapshot_close(&s);
}

TEST(copies_stay_when_a_way_ends)
{
    in_child(with_no_more_files);
}

/* The program closes every descriptor and opens a file of its own, which is not written to. */
static void with_closed_descriptors(void)
{
    char *p = half_open();
    struct iovec piece = {p, 64};
    struct stat is;
    assert_int_equal(snapshot_open(&s), 0);
    for (int fd = 3; fd < 2000; fd++)
        close(fd);
    int own = memfd_create("own", MFD_CLOEXEC);
    assert_true(own >= 0);
    assert_int_equal(snapshot_copy(&s, 0, &piece, 1), 64);
    assert_memory_equal(s.data, p, 64);
    assert_string_not_equal(snapshot_name(&s), "memfd");
    assert_int_equal(fstat(own, &is), 0);
    assert_int_equal(is.st_size, 0);
    snapshot_close(&s);
    assert_int_equal(fstat(own, &is), 0);
}

TEST(closed_descriptors_end_a_way)
{
    in_child(with_closed_descriptors);
}

static void of_the_child(void)
{
    struct iovec piece = {(void *)"child...", 8};
    assert_false(snapshot_is_here(&s));
    assert_int_equal(snapshot_here(&s), 0);
    assert_true(snapshot_is_here(&s));
    assert_int_equal(snapshot_copy(&s, 0, &piece, 1), 8);
    assert_memory_equal(s.data, "child...", 8);
}

TEST(a_child_has_its_own)
{
    struct iovec piece = {(void *)"parent..", 8};
    assert_int_equal(snapshot_open(&s), 0);
    assert_int_equal(snapshot_copy(&s, 0, &piece, 1), 8);
    in_child(of_the_child);
    assert_memory_equal(s.data, "parent..", 8);
    assert_true(snapshot_is_here(&s));
    assert_int_equal(snapshot_here(&s), 0);
    snapshot_close(&s);
}

TEST(errno_is_kept)
{
    struct iovec none = {NULL, 8};
    errno = 77;
    assert_int_equal(snapshot_open(&s), 0);
    assert_int_equal(snapshot_copy(&s, 0, &none, 1), 0);
    snapshot_close(&s);
    assert_int_equal(errno, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memfd_copies),
        cmocka_unit_test(a_copy_fits_or_is_refused),
        cmocka_unit_test(a_pipe_where_files_may_not_grow),
        cmocka_unit_test(copies_stay_when_a_way_ends),
        cmocka_unit_test(closed_descriptors_end_a_way),
        cmocka_unit_test(a_child_has_its_own),
        cmocka_unit_test(errno_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
