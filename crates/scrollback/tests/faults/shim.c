/* A disk that fails on command, for the process it is preloaded into (see ../faults.rs).
 *
 * The name of the folder a store lies in says what shall go wrong there: in `eio-17/` the 17th call that writes,
 * truncates or syncs a file of the store fails, once. In `trace-0/` nothing fails and every call is told, with its data,
 * to the file `story` in that folder, between the lines the test itself writes there.
 *
 *   enospc  a write or truncation: the disk is full
 *   short   a write stops half way, and the next write to that file finds the disk full
 *   eio     any call: the disk is broken
 *   fsync   a sync: what was written may or may not be on the disk
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE, TRUNCATE, SYNC };
static const char *const kinds[] = {"write", "truncate", "sync"};

/* A call on a file of a store: which folder, which file in it ("." for the folder itself). */
struct place { char folder[PATH_MAX]; char name[NAME_MAX + 1]; };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char folder[PATH_MAX]; /* the folder of the last call; a new one starts everything over */
    char mode[16];
    long at, calls;
    int spent;
    char full[NAME_MAX + 1]; /* after a short write: the file whose next write fails */
} plan;

/* Reads "mode-number" off the end of a path. */
static int read_plan(const char *path, char *mode, long *at) {
    const char *last = strrchr(path, '/');
    return last && sscanf(last + 1, "%15[a-z]-%ld", mode, at) == 2;
}

static int find_path(const char *path, struct place *place) {
    char mode[16];
    long at;
    snprintf(place->folder, sizeof place->folder, "%s", path);
    if (read_plan(place->folder, mode, &at)) {
        strcpy(place->name, ".");
        return 1;
    }
    char *last = strrchr(place->folder, '/');
    if (!last || strncmp(last + 1, "log.db", 6) != 0) return 0;
    snprintf(place->name, sizeof place->name, "%s", last + 1);
    *last = 0;
    return read_plan(place->folder, mode, &at);
}

static int find(int fd, struct place *place) {
    char link[64], path[PATH_MAX];
    if (fd < 3) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return find_path(path, place);
}

/* Appends a line, and data after it, to the story of a folder. One writev, so that lines never mix. */
static void tell(const struct place *place, const char *line, const void *data, size_t length) {
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s/story", place->folder);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    struct iovec parts[] = {{(void *)line, strlen(line)}, {(void *)data, length}};
    if (fd < 0 || writev(fd, parts, data ? 2 : 1) < 0) abort();
    syscall(SYS_close, fd);
}

static int applies(enum kind kind) {
    if (!strcmp(plan.mode, "enospc")) return kind != SYNC;
    if (!strcmp(plan.mode, "short")) return kind == WRITE;
    if (!strcmp(plan.mode, "fsync")) return kind == SYNC;
    return !strcmp(plan.mode, "eio");
}

static int tracing(void) { return !strcmp(plan.mode, "trace"); }

/* Counts a call. Returns the error it shall fail with, 0 for none, or -1 for a short write. */
static int fate(enum kind kind, const struct place *place) {
    if (strcmp(plan.folder, place->folder)) {
        memset(&plan, 0, sizeof plan);
        strcpy(plan.folder, place->folder);
        read_plan(plan.folder, plan.mode, &plan.at);
    }
    plan.calls++;
    if (kind == WRITE && plan.full[0] && !strcmp(plan.full, place->name)) {
        plan.full[0] = 0;
        return ENOSPC;
    }
    if (plan.spent || plan.calls < plan.at || !applies(kind)) return 0;
    char line[PATH_MAX];
    plan.spent = 1;
    snprintf(line, sizeof line, "fault %ld %s %s\n", plan.calls, kinds[kind], place->name);
    tell(place, line, 0, 0);
    if (strcmp(plan.mode, "short")) return strcmp(plan.mode, "enospc") ? EIO : ENOSPC;
    strcpy(plan.full, place->name);
    return -1;
}

static ssize_t do_write(int fd, const void *data, size_t length, off_t at, int positioned) {
    struct place place;
    if (!find(fd, &place))
        return positioned ? syscall(SYS_pwrite64, fd, data, length, at) : syscall(SYS_write, fd, data, length);
    pthread_mutex_lock(&mutex);
    int error = fate(WRITE, &place);
    ssize_t done = -1;
    if (error > 0) {
        errno = error;
    } else {
        if (error < 0) length = length / 2;
        off_t offset = positioned ? at : lseek(fd, 0, SEEK_CUR);
        done = positioned ? syscall(SYS_pwrite64, fd, data, length, at) : syscall(SYS_write, fd, data, length);
        if (done > 0 && tracing()) {
            char line[PATH_MAX];
            snprintf(line, sizeof line, "write %s %lld %zd\n", place.name, (long long)offset, done);
            tell(&place, line, data, (size_t)done);
        }
    }
    pthread_mutex_unlock(&mutex);
    return done;
}

static int do_simple(int fd, enum kind kind, long call, off_t length) {
    struct place place;
    if (!find(fd, &place)) return (int)syscall(call, fd, length);
    pthread_mutex_lock(&mutex);
    int error = fate(kind, &place), done = -1;
    if (error) {
        errno = error;
    } else {
        done = (int)syscall(call, fd, length);
        if (done == 0 && tracing()) {
            char line[PATH_MAX];
            snprintf(line, sizeof line, "%s %s %lld\n", kinds[kind], place.name, (long long)length);
            tell(&place, line, 0, 0);
        }
    }
    pthread_mutex_unlock(&mutex);
    return done;
}

ssize_t write(int fd, const void *data, size_t length) { return do_write(fd, data, length, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return do_write(fd, data, length, at, 1); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) { return do_write(fd, data, length, at, 1); }
int ftruncate(int fd, off_t length) { return do_simple(fd, TRUNCATE, SYS_ftruncate, length); }
int ftruncate64(int fd, off64_t length) { return do_simple(fd, TRUNCATE, SYS_ftruncate, length); }
int fsync(int fd) { return do_simple(fd, SYNC, SYS_fsync, 0); }
int fdatasync(int fd) { return do_simple(fd, SYNC, SYS_fdatasync, 0); }

int unlink(const char *path) {
    struct place place;
    pthread_mutex_lock(&mutex);
    int done = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (done == 0 && find_path(path, &place) && tracing()) {
        char line[PATH_MAX];
        snprintf(line, sizeof line, "unlink %s 0\n", place.name);
        tell(&place, line, 0, 0);
    }
    pthread_mutex_unlock(&mutex);
    return done;
}
