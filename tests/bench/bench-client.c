/* SPDX-License-Identifier: MIT */
/*
 * What tests/bench/run measures, done by a program that costs next to nothing itself. Each verb
 * prints one duration a line, in seconds: of a pass, or of one operation.
 */
#include "conversation.h"
#include "tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFER	 ((size_t)1 << 20)
#define PUT_SIZE 4096

struct verb {
	const char *name, *usage;
	int args;
	void (*run)(char **args);
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void print_since(double start)
{
	printf("%.9f\n", now() - start);
}

static char *buffer(void)
{
	char *buf = malloc(BUFFER);

	if (!buf)
		die("malloc");
	memset(buf, 'x', BUFFER);
	return buf;
}

/* One pass before the first that counts brings the file into the cache. */
static void run_read(char **args)
{
	char *buf = buffer();
	int fd = open(args[0], O_RDONLY);

	if (fd < 0)
		die(args[0]);
	for (long pass = -1; pass < atol(args[1]); pass++) {
		double start = now();
		ssize_t n;

		for (off_t off = 0; (n = pread(fd, buf, BUFFER, off)) > 0; off += n)
			;
		if (n < 0)
			die("read");
		if (pass >= 0)
			print_since(start);
	}
	close(fd);
	free(buf);
}

static void write_large(const char *path, long mib, bool sync)
{
	char *buf = buffer();
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);

	if (fd < 0)
		die(path);
	for (long i = 0; i < mib; i++)
		if (write(fd, buf, BUFFER) != (ssize_t)BUFFER)
			die("write");
	if (sync && fsync(fd) < 0)
		die("fsync");
	close(fd);
	free(buf);
}

static void run_write_native(char **args)
{
	char temporary[PATH_MAX];
	double start = now();

	snprintf(temporary, sizeof(temporary), "%s.tmp", args[0]);
	write_large(temporary, atol(args[1]), true);
	if (rename(temporary, args[0]) < 0)
		die("rename");
	print_since(start);
}

static void run_write_fence(char **args)
{
	int ctl = conversation_open(args[0]);
	char path[PATH_MAX];
	double start = now();

	conversation_session(ctl, args[0], args[1], atol(args[3]), path);
	write_large(path, atol(args[2]), false);
	conversation_commit(ctl);
	print_since(start);
	close(ctl);
}

static void put_native(int dir, const char *data)
{
	int fd = openat(dir, "small.tmp", O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, data, PUT_SIZE) != PUT_SIZE || fsync(fd) < 0)
		die("write of a small file");
	close(fd);
	if (renameat(dir, "small.tmp", dir, "small") < 0 || fsync(dir) < 0)
		die("rename of a small file");
}

static void run_put_native(char **args)
{
	char *data = buffer();
	int dir = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		die(args[0]);
	for (long i = 0; i < atol(args[1]); i++) {
		double start = now();

		put_native(dir, data);
		print_since(start);
	}
	close(dir);
	free(data);
}

static void run_put_fence(char **args)
{
	int ctl = conversation_open(args[0]);
	char request[PATH_MAX + PUT_SIZE], reply[PIPE_BUF];
	int len = snprintf(request, PATH_MAX, "put path=%s token=%s size=%d\n", args[1], args[3],
			   PUT_SIZE);

	memset(request + len, 'x', PUT_SIZE);
	for (long i = 0; i < atol(args[2]); i++) {
		double start = now();

		conversation_request(ctl, request, (size_t)len + PUT_SIZE, reply);
		print_since(start);
	}
	close(ctl);
}

static void open_read_close(const char *path)
{
	char buf[PUT_SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, buf, sizeof(buf)) != PUT_SIZE)
		die(path);
	close(fd);
}

static void stat_it(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		die(path);
}

/*
 * Each file of a tree in turn, over and over: names and content are cached after the first round.
 */
static void each_file(char **args, void (*act)(const char *path))
{
	long files = atol(args[1]);
	char path[PATH_MAX];

	for (long round = -1; round < atol(args[2]); round++) {
		double start = now();

		for (long i = 0; i < files; i++) {
			snprintf(path, sizeof(path), "%s/%03ld/%03ld", args[0], i / TREE_FAN,
				 i % TREE_FAN);
			act(path);
		}
		if (round >= 0)
			printf("%.9f\n", (now() - start) / (double)files);
	}
}

static void run_open(char **args)
{
	each_file(args, open_read_close);
}

static void run_stat(char **args)
{
	each_file(args, stat_it);
}

static void run_tree_native(char **args)
{
	bool each = strcmp(args[3], "fsync") == 0;
	double start = now();
	int fd;

	if (mkdir(args[0], 0755) < 0)
		die(args[0]);
	tree_write(args[0], atol(args[1]), (size_t)atol(args[2]), each);
	fd = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || (!each && syncfs(fd) < 0))
		die("syncfs");
	close(fd);
	print_since(start);
}

/* Two lines: the writing, the commit. */
static void run_tree_fence(char **args)
{
	int ctl = conversation_open(args[0]);
	char dir[PATH_MAX], claimed[PATH_MAX];
	double start = now();

	snprintf(claimed, sizeof(claimed), "%s/", args[1]);
	conversation_session(ctl, args[0], claimed, atol(args[4]), dir);
	tree_write(dir, atol(args[2]), (size_t)atol(args[3]), false);
	print_since(start);
	start = now();
	conversation_commit(ctl);
	print_since(start);
	close(ctl);
}

static const struct verb verbs[] = {
	{ "read", "FILE PASSES", 2, run_read },
	{ "write-native", "FILE MIB", 2, run_write_native },
	{ "write-fence", "MOUNT PATH MIB TOKEN", 4, run_write_fence },
	{ "put-native", "DIR COUNT", 2, run_put_native },
	{ "put-fence", "MOUNT PATH COUNT TOKEN", 4, run_put_fence },
	{ "open", "TREE FILES ROUNDS", 3, run_open },
	{ "stat", "TREE FILES ROUNDS", 3, run_stat },
	{ "tree-native", "DIR FILES SIZE fsync|syncfs", 4, run_tree_native },
	{ "tree-fence", "MOUNT PATH FILES SIZE TOKEN", 5, run_tree_fence },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (argc == verbs[i].args + 2 && strcmp(argv[1], verbs[i].name) == 0) {
			verbs[i].run(argv + 2);
			return 0;
		}
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(stderr, "usage: bench-client %s %s\n", verbs[i].name, verbs[i].usage);
	return 2;
}
