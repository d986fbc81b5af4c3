/* test_duckdb_packs.c - tests the files that small sessions share: a crash at any byte, a process
 * that is killed, a full disk, no memory, deletion, damage. */
#include "damage.h"
#include "pack_folder.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "store/duckdb/pack/pack.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct packs *open_packs(void)
{
    struct packs *p;
    OK(packs_open(&p, pack_folder, e));
    return p;
}

static int put(struct packs *p, const char *workspace, const char *session, const char *text,
               bool whole, struct err *e)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_str(&b, text);
    int rc = packs_make(p, workspace, session, e);
    if (!rc && buf_error(&b))
        rc = err_nomem(e);
    if (rc == 0)
        rc = packs_put(p, workspace, session, &(struct packs_image){&b, b.len, whole}, e);
    buf_fini(&b);
    return rc;
}

static int add_text(void *arg, const char *image, size_t n, struct err *e)
{
    (void)e;
    strncat(arg, image, n);
    return 0;
}

static int take_nothing(void *arg, const char *image, size_t n, struct err *e)
{
    (void)arg;
    (void)image;
    (void)e;
    return n ? 0 : GPUFL_E_CORRUPT;
}

/* The records of a session, one after the other; "": there is no such session. */
static const char *text_of(struct packs *p, const char *workspace, const char *session)
{
    static char text[4096];
    struct packed_state now = {0};
    *text = '\0';
    int rc =
        packs_read(p, workspace, session, 0, &(struct packs_visitor){text, add_text}, &now, NULL);
    if (rc && rc != GPUFL_E_NOENT)
        fail_msg("%s: %s", session, err_name(rc));
    return text;
}

TEST(test_cut_at_any_byte)
{
    struct packs *p = open_packs();
    OK(put(p, "w", "one", "a", false, e));
    OK(put(p, "w", "two", "b", false, e));
    OK(put(p, "w", "one", "c", false, e));
    const char *path = pack_of(pack_folder, "w");
    int64_t before = file_size(path);
    OK(put(p, "w", "one", "never reported", false, e));
    int64_t after = file_size(path);
    packs_close(p);
    assert_true(after > before);
    for (int64_t cut = after - 1; cut > before; cut--) {
        assert_int_equal(truncate(path, cut), 0);
        assert_int_equal(truncate(path, after), 0); /* the rest may be there as zeros */
        p = open_packs();
        assert_string_equal(text_of(p, "w", "one"), "ac");
        assert_string_equal(text_of(p, "w", "two"), "b");
        assert_int_equal(file_size(path), before);
        packs_close(p);
        p = open_packs();
        OK(put(p, "w", "one", "never reported", false, e));
        packs_close(p);
        assert_int_equal(file_size(path), after);
        assert_int_equal(truncate(path, cut), 0);
        p = open_packs();
        assert_string_equal(text_of(p, "w", "one"), "ac");
        OK(put(p, "w", "one", "never reported", false, e));
        packs_close(p);
    }
}

TEST(test_damage_is_one_session_s)
{
    struct packed_state now;
    char text[256] = "";
    struct packs *p = open_packs();
    OK(put(p, "w", "sick", "a", false, e));
    OK(put(p, "w", "well", "b", false, e));
    packs_close(p);
    FILE *f = fopen(pack_of(pack_folder, "w"), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 16 + 96, SEEK_SET), 0); /* the first byte after the first head */
    fputc('?', f);
    fclose(f);
    p = open_packs();
    const struct packs_visitor v = {text, add_text};
    struct err e = {0};
    assert_int_equal(packs_read(p, "w", "sick", 0, &v, &now, &e), GPUFL_E_CORRUPT);
    assert_non_null(strstr(e.text, "session sick of workspace w cannot be read"));
    assert_string_equal(text_of(p, "w", "well"), "b");
    packs_close(p);
    f = fopen(pack_of(pack_folder, "w"), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 16, SEEK_SET), 0);
    fputc('?', f);
    fclose(f);
    p = open_packs();
    assert_false(packs_find(p, "w", "sick", &now));
    assert_string_equal(text_of(p, "w", "well"), "b");
    packs_close(p);
}

/* ---- packs that cannot be read --------------------------------------------------------------- */

struct flaws {
    int count;
    char last[512];
};

static int take_flaw(void *arg, const char *flaw)
{
    struct flaws *f = arg;
    f->count++;
    snprintf(f->last, sizeof f->last, "%s", flaw);
    return 0;
}

static struct flaws flaws_of(struct packs *p)
{
    struct flaws f = {0};
    assert_int_equal(packs_flaws(p, take_flaw, &f), 0);
    return f;
}

/* A session's last record is lost in mid-pack: the session has no hole, but the store has a
 * flaw. */
TEST(test_lost_last_record)
{
    struct packs *p = open_packs();
    OK(put(p, "w", "sick", "a", false, e));
    int64_t at = file_size(pack_of(pack_folder, "w"));
    OK(put(p, "w", "sick", "b", false, e));
    OK(put(p, "w", "well", "c", false, e));
    packs_close(p);
    p = open_packs();
    assert_int_equal(flaws_of(p).count, 0);
    packs_close(p);
    FILE *f = fopen(pack_of(pack_folder, "w"), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    fputc('?', f);
    fclose(f);
    p = open_packs();
    assert_int_equal(flaws_of(p).count, 1);
    assert_non_null(strstr(flaws_of(p).last, "may lack rows"));
    assert_string_equal(text_of(p, "w", "well"), "c");
    packs_close(p);
}

/* Checks that sessions of other packs are there, and that the file stays as it is until it can be
 * read. */
static void check_left_out(const char *why)
{
    struct packed_state now;
    struct packs *p = open_packs();
    struct flaws f = flaws_of(p);
    assert_int_equal(f.count, 1);
    assert_non_null(strstr(f.last, why));
    assert_false(packs_find(p, "bad", "b", &now));
    assert_string_equal(text_of(p, "w", "one"), "a");
    OK(put(p, "w", "two", "c", false, e));
    OK(packs_drop(p, "w", "two", e));
    packs_close(p);
}

TEST(test_unreadable_packs)
{
    char path[PATH_MAX], kept[PATH_MAX + 8];
    struct packs *p = open_packs();
    OK(put(p, "w", "one", "a", false, e));
    OK(put(p, "bad", "b", "b", false, e));
    packs_close(p);
    snprintf(path, sizeof path, "%s", pack_of(pack_folder, "bad"));
    snprintf(kept, sizeof kept, "%s.kept", path);
    assert_int_equal(rename(path, kept), 0);
    assert_int_equal(symlink(path, path), 0); /* a file that cannot be opened */
    check_left_out("is left out");
    assert_int_equal(unlinkat(AT_FDCWD, path, 0), 0);
    assert_int_equal(mkdir(path, 0700), 0); /* a file that can be opened, and not read */
    check_left_out("directory");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rename(kept, path), 0);
    p = open_packs();
    assert_int_equal(flaws_of(p).count, 0);
    assert_string_equal(text_of(p, "bad", "b"), "b");
    packs_close(p);
}

/* A session that lacks a record is not read as if it were complete. */
TEST(test_lost_record)
{
    struct packed_state now = {0};
    char text[256] = "";
    struct packs *p = open_packs();
    OK(put(p, "w", "sick", "a", false, e));
    OK(put(p, "w", "sick", "b", false, e));
    packs_close(p);
    FILE *f = fopen(pack_of(pack_folder, "w"), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 16, SEEK_SET), 0);
    fputc('?', f);
    fclose(f);
    p = open_packs();
    const struct packs_visitor v = {text, add_text};
    assert_int_equal(packs_read(p, "w", "sick", 0, &v, &now, NULL), GPUFL_E_CORRUPT);
    assert_string_equal(text, "");
    OK(packs_drop(p, "w", "sick", e));
    OK(put(p, "w", "sick", "c", false, e));
    assert_string_equal(text_of(p, "w", "sick"), "c");
    packs_close(p);
}

TEST(test_dropped_and_whole)
{
    struct packed_state now;
    struct packs *p = open_packs();
    OK(put(p, "w", "one", "a", false, e));
    OK(put(p, "w", "two", "b", false, e));
    OK(put(p, "w", "one", "all", true, e));
    OK(packs_drop(p, "w", "two", e));
    assert_int_equal(packs_drop(p, "w", "two", NULL), GPUFL_E_NOENT);
    assert_int_equal(put(p, "w", "two", "again", false, NULL), 0);
    packs_close(p);
    p = open_packs();
    assert_string_equal(text_of(p, "w", "one"), "all");
    assert_string_equal(text_of(p, "w", "two"), "again");
    OK(packs_drop(p, "w", "one", e));
    OK(packs_make(p, "w", "three", e)); /* this session is not on the disk */
    OK(packs_drop(p, "w", "two", e));
    assert_null(pack_of(pack_folder, "w"));
    assert_true(packs_find(p, "w", "three", &now));
    packs_close(p);
    p = open_packs();
    assert_false(packs_find(p, "w", "three", &now));
    packs_close(p);
}

/* Fills in bytes that cannot be compressed. */
static void fill(char *text, size_t n, unsigned seed)
{
    for (size_t i = 0; i + 1 < n; i++) {
        seed = seed * 1103515245u + 12345u;
        text[i] = (char)('!' + (seed >> 16) % 90);
    }
    text[n - 1] = '\0';
}

/* The records that a second pack has of a session are left out, and stay in the file. */
TEST(test_in_two_packs)
{
    enum { BYTES = 600 << 10 };
    static char text[BYTES], kept[PATH_MAX], path[PATH_MAX];
    struct packed_state now;
    struct packs *p = open_packs();
    OK(put(p, "w", "one", "a", false, e));
    packs_close(p);
    snprintf(path, sizeof path, "%s", pack_of(pack_folder, "w"));
    snprintf(kept, sizeof kept, "%s/kept", pack_folder);
    assert_int_equal(rename(path, kept), 0);
    fill(text, sizeof text, 3);
    p = open_packs();
    OK(put(p, "w", "one", text, false, e));
    OK(put(p, "w", "two", "b", false, e));
    packs_close(p);
    int64_t size = file_size(path);
    char later[PATH_MAX];
    snprintf(later, sizeof later, "%s/w/99991231-000001.pack", pack_folder);
    assert_int_equal(rename(path, later), 0);
    assert_int_equal(rename(kept, path), 0);
    p = open_packs();
    assert_string_equal(text_of(p, "w", "one"), "a");
    assert_string_equal(text_of(p, "w", "two"), "b");
    assert_int_equal(flaws_of(p).count, 1);
    assert_int_equal(file_size(later), size);
    assert_true(packs_find(p, "w", "one", &now));
    packs_close(p);
}

/* A pack frees the room of deleted sessions, and the other sessions do not notice; the temporary
 * file of a pack that is written again is removed. */
TEST(test_room_comes_back)
{
    enum { SESSIONS = 64, BYTES = 16 << 10 };
    static char text[BYTES];
    struct packed_state now;
    char id[16], made[PATH_MAX + 8];
    struct packs *p = open_packs();
    for (unsigned i = 0; i < SESSIONS; i++) {
        snprintf(id, sizeof id, "s%u", i);
        fill(text, sizeof text, i);
        OK(put(p, "w", id, text, false, e));
        OK(put(p, "w", id, id, false, e));
    }
    int64_t full = file_size(pack_of(pack_folder, "w"));
    for (unsigned i = 0; i < SESSIONS; i++) {
        snprintf(id, sizeof id, "s%u", i);
        if (i % 8)
            OK(packs_drop(p, "w", id, e));
    }
    assert_true(file_size(pack_of(pack_folder, "w")) < full / 2);
    snprintf(made, sizeof made, "%s.new", pack_of(pack_folder, "w"));
    FILE *f = fopen(made, "wb"); /* as if the process had been killed */
    assert_non_null(f);
    fclose(f);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < SESSIONS; i += 8) {
            snprintf(id, sizeof id, "s%u", i);
            assert_true(packs_find(p, "w", id, &now));
            assert_int_equal(now.records, 2 + round);
            OK(put(p, "w", id, "more", false, e));
        }
        packs_close(p);
        p = open_packs();
    }
    assert_false(file_exists(made));
    packs_close(p);
}

/* Whichever allocation fails, the call fails, and its session has the whole record or nothing. */
TEST(test_no_memory)
{
    struct packs *p = open_packs();
    OK(put(p, "w", "one", "a", false, e));
    for (int64_t n = 0;; n++) {
        mem_fail_at(n);
        int rc = put(p, "w", "two", "b", n % 2, NULL);
        mem_fail_at(-1);
        if (rc == 0)
            break;
        assert_int_equal(rc, GPUFL_E_NOMEM);
        assert_string_equal(text_of(p, "w", "two"), "");
    }
    assert_string_equal(text_of(p, "w", "two"), "b");
    packs_close(p);
    for (int64_t n = 0;; n++) {
        mem_fail_at(n);
        int rc = packs_open(&p, pack_folder, NULL);
        mem_fail_at(-1);
        if (rc == 0)
            break;
        assert_int_equal(rc, GPUFL_E_NOMEM);
        assert_null(p);
    }
    assert_string_equal(text_of(p, "w", "one"), "a");
    assert_string_equal(text_of(p, "w", "two"), "b");
    packs_close(p);
}

TEST(test_full_disk)
{
    static char text[40 << 10];
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY}, some = {20 << 10, RLIM_INFINITY};
    struct packs *p = open_packs();
    fill(text, sizeof text, 7);
    OK(put(p, "w", "one", "a", false, e));
    int64_t size = file_size(pack_of(pack_folder, "w"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &some), 0);
    assert_int_not_equal(put(p, "w", "one", text, false, NULL), 0);
    assert_int_not_equal(put(p, "w", "two", text, false, NULL), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(file_size(pack_of(pack_folder, "w")), size);
    OK(put(p, "w", "two", "b", false, e));
    packs_close(p);
    p = open_packs();
    assert_string_equal(text_of(p, "w", "one"), "a");
    assert_string_equal(text_of(p, "w", "two"), "b");
    packs_close(p);
}

/* ---- copied while a pack is removed ---------------------------------------------------------- */

static struct packs *copied; /* NULL: no backup is made when a file is removed */
static int copied_rc = 1;

/* Replaces the C library's function: makes a backup as soon as a file is removed. */
int unlink(const char *path)
{
    struct packs *p = copied;
    char folder[PATH_MAX];
    int rc = unlinkat(AT_FDCWD, path, 0);
    copied = NULL;
    snprintf(folder, sizeof folder, "%s/w/backup", pack_folder);
    if (p)
        copied_rc = packs_backup(p, folder, NULL);
    return rc;
}

/* A pack that is removed while a backup is being written does not break the backup off. */
TEST(test_backup_during_removal)
{
    struct packs *p = open_packs();
    OK(put(p, "w", "short", "a", false, e));
    copied = p;
    OK(packs_drop(p, "w", "short", e));
    assert_null(copied);
    assert_int_equal(copied_rc, 0);
    packs_close(p);
}

/* ---- a process that is killed ---------------------------------------------------------------- */

enum { KILLED_SESSIONS = 8, PIECE = 6000 };

/* A report: session `number` has so many records now. */
struct reported {
    int number, count;
};

static void write_for_ever(int report)
{
    static char text[PIECE];
    struct packs *p;
    int count[KILLED_SESSIONS] = {0};
    if (packs_open(&p, pack_folder, NULL))
        _exit(1);
    for (unsigned i = 0;; i++) {
        char id[16];
        struct reported t = {(int)(i * 5 % KILLED_SESSIONS), 0};
        int *n = &count[t.number];
        bool drop = *n == 9, whole = t.number % 2 && *n == 5;
        snprintf(id, sizeof id, "k%d", t.number);
        fill(text, sizeof text, i);
        if (drop ? packs_drop(p, "w", id, NULL) : put(p, "w", id, text, whole, NULL))
            _exit(2);
        *n = drop ? 0 : whole ? 1 : *n + 1;
        t.count = *n;
        if (write(report, &t, sizeof t) != sizeof t)
            _exit(3);
    }
}

/* Checks what a killed process left of each session: as much as it reported or, for one session, a
 * step more. */
static void check_killed(const int *last)
{
    struct packs *p = open_packs();
    struct packed_state now;
    int others = 0;
    for (int i = 0; i < KILLED_SESSIONS; i++) {
        char id[16];
        snprintf(id, sizeof id, "k%d", i);
        int n = packs_find(p, "w", id, &now) ? (int)now.records : 0;
        if (n == last[i])
            continue;
        others++;
        assert_int_equal(n, last[i] == 9 ? 0 : i % 2 && last[i] == 5 ? 1 : last[i] + 1);
    }
    assert_true(others <= 1);
    packs_close(p);
}

TEST(test_killed)
{
    for (int round = 0; round < 12; round++) {
        int ends[2], status, last[KILLED_SESSIONS] = {0};
        struct reported t;
        assert_int_equal(pack_folder_open(NULL), 0);
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (!child) {
            close(ends[0]);
            write_for_ever(ends[1]);
        }
        close(ends[1]);
        for (int i = 0; i < 20 + 37 * round; i++)
            if (read(ends[0], &t, sizeof t) == sizeof t)
                last[t.number] = t.count;
        kill(child, SIGKILL);
        while (read(ends[0], &t, sizeof t) == sizeof t)
            last[t.number] = t.count;
        close(ends[0]);
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        check_killed(last);
        assert_int_equal(pack_folder_close(NULL), 0);
    }
}

/* ---- killed while a pack is written again ---------------------------------------------------- */

static int killed_at; /* 1: before a file gets its name, 2: after; 0: never */

/* Replaces the C library's function in this program. */
int rename(const char *from, const char *to)
{
    if (killed_at == 1)
        raise(SIGKILL);
    int rc = renameat(AT_FDCWD, from, AT_FDCWD, to);
    if (killed_at == 2)
        raise(SIGKILL);
    return rc;
}

enum { REWRITE_SESSIONS = 64, REWRITE_BYTES = 16 << 10 };

/* Deletes seven of eight sessions, and reports each one first. */
static void delete_most(int report)
{
    static char text[REWRITE_BYTES];
    struct packs *p;
    char id[16];
    if (packs_open(&p, pack_folder, NULL))
        _exit(1);
    for (int i = 0; i < REWRITE_SESSIONS; i++) {
        snprintf(id, sizeof id, "s%d", i);
        fill(text, sizeof text, (unsigned)i);
        if (put(p, "w", id, text, false, NULL))
            _exit(2);
    }
    for (int i = 0; i < REWRITE_SESSIONS; i++) {
        snprintf(id, sizeof id, "s%d", i);
        if (i % 8 && (write(report, &i, sizeof i) != sizeof i || packs_drop(p, "w", id, NULL)))
            _exit(3);
    }
    _exit(0);
}

TEST(test_killed_while_written_again)
{
    for (int at = 1; at <= 2; at++) {
        int ends[2], status, last = 0;
        struct packed_state now;
        char id[16];
        assert_int_equal(pack_folder_open(NULL), 0);
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (!child) {
            killed_at = at;
            delete_most(ends[1]);
        }
        close(ends[1]);
        while (read(ends[0], &last, sizeof last) == sizeof last)
            continue;
        close(ends[0]);
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        struct packs *p = open_packs();
        for (int i = 0; i < REWRITE_SESSIONS; i++) {
            snprintf(id, sizeof id, "s%d", i);
            bool there = packs_find(p, "w", id, &now);
            assert_int_equal(there, i % 8 == 0 || i > last);
            if (there)
                OK(packs_read(p, "w", id, 0, &(struct packs_visitor){NULL, take_nothing}, &now, e));
        }
        packs_close(p);
        assert_int_equal(pack_folder_close(NULL), 0);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, pack_folder_open, pack_folder_close)
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_killed_while_written_again),
        CASE(test_cut_at_any_byte),
        CASE(test_damage_is_one_session_s),
        CASE(test_dropped_and_whole),
        CASE(test_room_comes_back),
        CASE(test_no_memory),
        CASE(test_full_disk),
        CASE(test_lost_record),
        CASE(test_lost_last_record),
        CASE(test_unreadable_packs),
        CASE(test_in_two_packs),
        CASE(test_backup_during_removal),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
