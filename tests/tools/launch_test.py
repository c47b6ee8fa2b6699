"""headrace launch."""
import fcntl
import os
import pathlib
import pty
import re
import signal
import socket
import subprocess
import sys
import termios
import time

import support

PYTHON = sys.executable


class Launch(support.ToolTest):
    WAIT_FOR_RANK_0 = ("ready=${HEADRACE_STORE#file:}/ready; [ $RANK = 0 ] && touch $ready; "
                       "while [ ! -e $ready ]; do sleep 0.02; done")

    def launch(self, ranks, program, *options, **more):
        return self.run_tool("launch", "-n", ranks, *options, "--", "sh", "-c", program, **more)

    def started(self, ranks, program, *options):
        """A running launcher, once all ranks have said READY."""
        process = subprocess.Popen(
            [support.TOOL, "launch", "-n", str(ranks), *options, "--", "sh", "-c", program],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        pids = {}
        while len(pids) < ranks:
            rank, word, pid = process.stdout.readline().split()
            self.assertEqual(word, "READY")
            pids[int(rank.strip("[]"))] = int(pid)
        return process, pids

    def assert_gone(self, pids):
        deadline = time.monotonic() + 5
        while any(self.is_alive(pid) for pid in pids):
            self.assertLess(time.monotonic(), deadline, "a process was left behind")
            time.sleep(0.02)

    @staticmethod
    def is_alive(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def test_variables(self):
        done = self.launch(2, "env; echo folder $HEADRACE_STORE", "--standalone", "--transport",
                           "tcp", env={**os.environ, "RANK": "7", "OWN": "kept"})
        self.assertEqual(done.returncode, 0)
        for rank in range(2):
            lines = {line[4:] for line in done.stdout.splitlines() if line.startswith(f"[{rank}] ")}
            self.assertLessEqual({f"RANK={rank}", "WORLD_SIZE=2", f"LOCAL_RANK={rank}",
                                  "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "OWN=kept",
                                  "TORCHELASTIC_RESTART_COUNT=0", "HEADRACE_TRANSPORT=tcp"}, lines)
            self.assertEqual(sum(line.startswith("RANK=") for line in lines), 1)
            store = next(line for line in lines if line.startswith("HEADRACE_STORE=file:"))
            self.assertFalse(pathlib.Path(store.split("file:")[1]).exists(), "it was left behind")
            self.assertIn("TORCHELASTIC_MAX_RESTARTS=0", lines)
        self.assertIn("2 ranks of sh on this machine", done.stderr)
        self.assertEqual(self.launch(1, "true", "--quiet").stderr, "")

    def test_output_is_prefixed(self):
        done = self.launch(11, "[ $RANK = 10 ] && printf 'a\\nb' && echo c >&2; true", "--quiet")
        self.assertEqual((done.stdout, done.stderr), ("[10] a\n[10] b\n", "[10] c\n"))
        done = self.launch(2, "head -c 300000 /dev/zero | tr '\\0' x; echo", "--quiet")
        self.assertEqual(done.stdout.replace("\n", "").count("x"), 600000)
        self.assertTrue(all(line[:4] in ("[0] ", "[1] ") for line in done.stdout.splitlines()))

    def test_output_as_it_is(self):
        done = self.launch(2, "[ $RANK = 1 ] && printf 'a\\nb' && echo c >&2; true", "--quiet",
                           "--no-prefix")
        self.assertEqual((done.stdout, done.stderr), ("a\nb", "c\n"))
        done = self.launch(1, "head -c 300000 /dev/zero | tr '\\0' x", "--quiet", "--no-prefix")
        self.assertEqual(done.stdout, 300000 * "x")
        rows = self.json_of("launch", "-n", 2, "--no-prefix", "--", "headrace", "comm", "bench",
                            "--max", "8", "--seconds", 0.005, "--json", "-")
        self.assertEqual([row["ranks"] for row in rows], [2])

    def test_exit_status_and_cause(self):
        for program, status, cause in [
                ("exit 0", 0, ""), ("[ $RANK != 1 ]", 1, "rank 1 failed with exit status 1"),
                ("[ $RANK = 2 ] && exit 41; sleep 60", 41, "rank 2 failed with exit status 41"),
                ("[ $RANK = 0 ] && kill -KILL $$; sleep 60", 137, "rank 0 was ended by signal 9"),
                ("[ $RANK = 0 ] && kill -SEGV $$; sleep 60", 139, "rank 0 was ended by signal 11")]:
            done = self.launch(3, program, "--quiet", "--patience", 0.1)
            self.assertEqual(done.returncode, status, program)
            self.assertIn(cause, done.stderr)
            self.assertEqual(done.stderr.count("headrace launch:"), 1 if cause else 0, done.stderr)

    def test_the_rest_is_ended_even_if_it_does_not_want_to(self):
        begin = time.monotonic()
        process, pids = self.started(
            3, "trap '' TERM; echo READY $$; while [ $RANK != 1 ]; do sleep 0.1; done; sleep 0.2; "
            "exit 5", "--quiet", "--patience", "0.3")
        self.assertEqual(process.wait(), 5)
        self.assertLess(time.monotonic() - begin, 10)
        self.assert_gone(pids.values())

    def test_the_rest_may_end_by_itself(self):
        done = self.launch(2, "[ $RANK = 0 ] && exit 3; sleep 0.5; echo I have seen it", "--quiet")
        self.assertEqual((done.returncode, done.stdout), (3, "[1] I have seen it\n"))

    def test_signals_are_passed_on(self):
        for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]:
            process, pids = self.started(2, "echo READY $$; exec sleep 60", "--quiet")
            process.send_signal(number)
            self.assertEqual(process.wait(), 128 + number)
            self.assert_gone(pids.values())
        process, _ = self.started(
            2, "trap 'echo got it; exit 0' USR1; echo READY $$; while true; do sleep 0.05; done")
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.wait(), 0)
        self.assertEqual(process.stdout.read().count("got it"), 2)

    def test_signals_are_heard_while_ranks_write_without_pause(self):
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            process = subprocess.Popen([support.TOOL, "launch", "-n", "2", "--quiet", "--", "yes"],
                                       stdout=nowhere, stderr=nowhere, cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(10), 128 + signal.SIGINT)

    def test_a_terminal_is_not_read(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        done = subprocess.run(
            [support.TOOL, "launch", "-n", "2", "--quiet", "--", "sh", "-c", "read x; echo got $x"],
            stdin=theirs, capture_output=True, text=True, timeout=20, check=False,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY), start_new_session=True)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] got", "[1] got"])

    def test_output_that_nobody_reads(self):
        process = subprocess.Popen(
            [support.TOOL, "launch", "-n", "2", "--", "sh", "-c", "while echo a line; do true; done"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        process.stdout.close()
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=20)[1]
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        folder = said.split("meeting at file:")[1].split()[0]
        self.assertFalse(pathlib.Path(folder).exists(), "it was left behind")

    def test_what_an_outer_launcher_says_is_not_of_the_ranks(self):
        outer = {"PMI_RANK": "0", "PMI_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0",
                 "OMPI_COMM_WORLD_SIZE": "1", "HEADRACE_RANK": "3", "HEADRACE_SIZE": "5",
                 "HEADRACE_EPOCH": "9"}
        done = self.run_tool("launch", "-n", 2, "--", "headrace", "comm", "bench", "--max", "8",
                             "--seconds", 0.005, env={**os.environ, **outer})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_third_wish_to_end_is_an_order(self):
        process, pids = self.started(
            2, "trap '' INT; echo READY $$; while true; do sleep 0.05; done", "--quiet")
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        self.assertEqual(process.wait(), 137)
        self.assert_gone(pids.values())

    def test_ranks_do_not_outlive_a_killed_launcher(self):
        process, pids = self.started(2, "echo READY $$; exec sleep 60", "--quiet")
        process.kill()
        process.wait()
        self.assert_gone(pids.values())

    def test_a_killed_rank_of_a_group_is_the_cause_on_all(self):
        script = ("if [ $RANK = 1 ]; then (sleep 0.5; kill -9 $$) & fi; "
                  f"exec {support.TOOL} comm bench --min 64K --max 64K --seconds 60")
        done = self.launch(3, script)
        self.assertEqual(done.returncode, 137, done.stderr)
        self.assertIn("headrace launch: rank 1 was ended by signal 9", done.stderr)
        for rank in (0, 2):
            self.assertRegex(done.stderr, rf"\[{rank}\] .*ended because of rank 1")

    def test_restarts_meet_at_another_place(self):
        begin = time.monotonic()
        done = self.launch(
            3, "echo $RANK $TORCHELASTIC_RESTART_COUNT $TORCHELASTIC_MAX_RESTARTS $MASTER_PORT "
            "$HEADRACE_STORE; touch ${HEADRACE_STORE#file:}/$RANK; ls ${HEADRACE_STORE#file:} | wc -l; "
            "[ $TORCHELASTIC_RESTART_COUNT = 2 ] && exit 0; [ $RANK = 1 ] && exit 7; sleep 60",
            "--max-restarts", 5, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.splitlines(), [
            "headrace launch: rank 1 failed with exit status 7; restart 1 of 5",
            "headrace launch: rank 1 failed with exit status 7; restart 2 of 5"])
        self.assertLess(time.monotonic() - begin, 5, "the others were not asked to end at once")
        said = [line[4:].split() for line in done.stdout.splitlines() if "file:" in line]
        self.assertTrue(all(words[2] == "5" for words in said))
        last = [words for words in said if words[1] == "2"]
        self.assertEqual(sorted(words[0] for words in last), ["0", "1", "2"])
        meetings = {(words[1], words[3], words[4]) for words in said}
        self.assertEqual(len(meetings), 3, "the ranks of one start meet at one place")
        for part in (1, 2):  # ports and stores
            self.assertEqual(len({meeting[part] for meeting in meetings}), 3, meetings)
        counts = [int(line[4:]) for line in done.stdout.splitlines() if "file:" not in line]
        self.assertLessEqual(max(counts), 3, "a store of before")
        for _, _, store in meetings:
            self.assertFalse(pathlib.Path(store.split("file:")[1]).exists(), "it was left behind")

    def test_restarts_are_used_up(self):
        for program, status, cause in [
                ("[ $RANK = 1 ] && exit $((40 + $TORCHELASTIC_RESTART_COUNT)); sleep 60", 42,
                 "rank 1 failed with exit status 42, after 2 restarts"),
                ("[ $RANK = 0 ] && kill -KILL $$; sleep 60", 137,
                 "rank 0 was ended by signal 9 (Killed), after 2 restarts; each of 3 starts ended so "
                 "within 0.1 s: restarts do not help against this error")]:
            done = self.launch(2, program, "--max-restarts", 2, "--quiet", "--patience", 0.1)
            self.assertEqual(done.returncode, status, done.stderr)
            lines = done.stderr.splitlines()
            self.assertEqual(len(lines), 3, done.stderr)
            self.assertTrue(lines[1].endswith("; restart 2 of 2"), lines)
            self.assertEqual(re.sub("within .* s:", "within 0.1 s:", lines[2]),
                             f"headrace launch: {cause}")
        # Only those of the last start may end by themselves.
        done = self.launch(2, "[ $RANK = 0 ] && exit 3; sleep 0.5; echo I have seen it",
                           "--max-restarts", 1, "--quiet")
        self.assertEqual((done.returncode, done.stdout), (3, "[1] I have seen it\n"))
        done = self.launch(2, "true", "--max-restarts", 2, "--quiet")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.fails(127, "cannot start 'nosuch'", "launch", "-n", 2, "--max-restarts", 2, "--", "nosuch")

    def test_nothing_of_the_start_before_runs_beside_a_restart(self):
        # Rank 0 does not want to end; rank 1 leaves a process behind that holds its output open.
        done = self.launch(
            2, "[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exec true; trap '' TERM; sleep 61 & "
            f"echo READY $$ $!; {self.WAIT_FOR_RANK_0}; [ $RANK = 1 ] && exit 3; "
            "while true; do sleep 0.05; done",
            "--max-restarts", 1, "--patience", 0.3, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        pids = [int(pid) for line in done.stdout.splitlines() for pid in line.split()[2:]]
        self.assertEqual(len(pids), 4)
        self.assert_gone(pids)

    def test_an_error_of_each_new_rank_is_no_loss_that_restarts_mend(self):
        done = self.run_tool("launch", "--elastic", "1:2", "--max-restarts", 2, "--quiet", "--", "sh", "-c",
                             "[ $RANK = 1 ] && exit 5; sleep 0.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1],
                         "rank 1 failed with exit status 5; 1 rank goes on; each of 3 starts ended so "
                         "within 0.[0-9] s: restarts do not help against this error")

    def test_ctrl_c_is_no_reason_to_begin_anew(self):
        process, pids = self.started(2, "echo READY $$; exec sleep 60", "--max-restarts", "9",
                                     "--quiet")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 128 + signal.SIGINT)
        self.assert_gone(pids.values())
        self.assertNotIn("restart", process.stderr.read())
        # And while those that are to begin anew are still being ended.
        process, pids = self.started(
            2, f"trap '' TERM; echo READY $$; {self.WAIT_FOR_RANK_0}; [ $RANK = 1 ] && exit 5; "
            "while true; do sleep 0.05; done", "--max-restarts", "9", "--patience", "30", "--quiet")
        self.assert_gone([pids[1]])
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(10), 5)
        self.assert_gone(pids.values())
        self.assertEqual(process.stderr.read(),
                         "headrace launch: rank 1 failed with exit status 5\n")

    def test_a_group_forms_again_after_a_rank_was_killed(self):
        bench = f"exec {support.TOOL} comm bench --min 64K --max 64K"
        done = self.launch(
            3, f"[ $TORCHELASTIC_RESTART_COUNT = 1 ] && {bench} --seconds 0.01; "
            f"if [ $RANK = 1 ]; then (sleep 0.5; kill -9 $$) & fi; {bench} --seconds 60",
            "--max-restarts", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("headrace launch: rank 1 was ended by signal 9 (Killed); restart 1 of 1",
                      done.stderr)
        self.assertRegex(done.stdout, r"(?m)^\[0\] +65536 ")

    # Ranks 0 and 1 go on until the rank that was lost is there again.
    LOSE_RANK_2 = ("[ $RANK = 2 ] && [ $HEADRACE_JOIN = 0 ] && kill -KILL $$; "
                   "there=${HEADRACE_STORE#file:}/there; [ $HEADRACE_JOIN = 1 ] && touch $there; "
                   "while [ ! -e $there ]; do sleep 0.02; done; echo $HEADRACE_ELASTIC; exit 0")

    def test_an_elastic_job_goes_on_without_a_rank(self):
        done = self.launch(3, "[ $RANK = 1 ] && exit 5; sleep 0.3; echo well", "--elastic", "2:3",
                           "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] well", "[2] well"])
        self.assertEqual(done.stderr, "headrace launch: rank 1 failed with exit status 5; 2 ranks go on\n")
        # Not with fewer than it needs.
        begin = time.monotonic()
        done = self.launch(3, "[ $RANK = 1 ] && exit 5; [ $RANK = 2 ] && sleep 0.2 && exit 6; sleep 60",
                           "--elastic", "2:3", "--quiet", "--patience", 0.1)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(done.stderr.splitlines()[-1],
                         "headrace launch: rank 2 failed with exit status 6; 1 rank left, --elastic "
                         "needs 2")

    def test_an_elastic_job_gets_new_ranks(self):
        done = self.run_tool("launch", "--elastic", "1:3", "--max-restarts", 1, "--quiet", "--", "sh",
                             "-c", self.LOSE_RANK_2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] 1:3", "[1] 1:3", "[2] 1:3"])
        self.assertEqual(done.stderr,
                         "headrace launch: rank 2 was ended by signal 9 (Killed); 2 ranks go on, "
                         "restart 1 of 1 takes its place\n")

    def elastic_bench(self, before, *options, ranks=3):
        """An elastic job of `headrace comm bench`, whose ranks run `before` first."""
        bench = f"exec {support.TOOL} comm bench --min 8 --max 8 --seconds 0.01"
        begin = time.monotonic()
        done = self.run_tool("launch", "--elastic", f"1:{ranks}", *options, "--quiet", "--", "sh", "-c",
                             f"{before}; {bench}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(time.monotonic() - begin, 20, "somebody was waited for")
        return done

    def test_ranks_that_die_before_they_meet_are_replaced(self):
        for which in ("$RANK = 2", "$RANK = 0", "$RANK != 1"):
            done = self.elastic_bench(f"[ {which} ] && [ $HEADRACE_JOIN = 0 ] && exit 3",
                                      "--max-restarts", 2)
            self.assertIn("[0] # 3 ranks,", done.stdout, which)
        done = self.elastic_bench("[ $HEADRACE_JOIN = 0 ] && exit 3", "--max-restarts", 3)
        self.assertIn("[0] # 3 ranks,", done.stdout)
        # A successor may die, too.
        done = self.elastic_bench("[ $RANK = 1 ] && [ $(wc -l < $HEADRACE_LOSSES) -lt 2 ] && exit 3",
                                  "--max-restarts", 2)
        self.assertIn("[0] # 3 ranks,", done.stdout)

    def test_ranks_that_die_while_they_meet_are_replaced(self):
        # The one that comes late keeps the others waiting; the victim has published its address.
        for late, victim in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]:
            done = self.elastic_bench(
                f"[ $RANK = {late} ] && sleep 0.6; "
                f"[ $RANK$HEADRACE_JOIN = {victim}0 ] && (sleep 0.3; kill -KILL $$) & true",
                "--max-restarts", 1)
            self.assertIn(f"rank {victim} was ended by signal 9", done.stderr)
            self.assertIn("[0] # 3 ranks,", done.stdout, (late, victim))

    def test_ranks_that_have_not_met_go_on_without_one(self):
        done = self.elastic_bench("[ $RANK = 0 ] && exit 3")
        self.assertIn("[1] # 2 ranks,", done.stdout)
        done = self.elastic_bench("[ $RANK != 1 ] && exit 3", ranks=4)
        self.assertIn("[1] # 1 rank,", done.stdout)
        done = self.elastic_bench("[ $RANK = 3 ] && sleep 0.6; "
                                  "[ $RANK = 1 ] && (sleep 0.3; kill -KILL $$) & true", ranks=4)
        self.assertIn("[0] # 3 ranks,", done.stdout)
        # One is replaced, the next one is not any more.
        done = self.elastic_bench("[ $HEADRACE_JOIN = 1 ] && sleep 0.2 && exit 3; [ $RANK = 0 ] && exit 4",
                                  "--max-restarts", 1)
        self.assertIn("[1] # 2 ranks,", done.stdout)

    def test_a_group_that_has_died_begins_anew(self):
        # All ranks of the first group fail when it ends; those that come later wait for none of it.
        ready = "${HEADRACE_STORE#file:}/ready"
        bench = f"{support.TOOL} comm bench --min 8 --max 8 --seconds"
        begin = time.monotonic()
        done = self.run_tool(
            "launch", "--elastic", "1:3", "--max-restarts", 3, "--quiet", "--", "sh", "-c",
            f"[ $HEADRACE_JOIN = 1 ] && exec {bench} 0.01; "
            f"[ $RANK = 1 ] && (sleep 0.5; kill -KILL $$) & exec {bench} 60")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(time.monotonic() - begin, 20, "somebody was waited for")
        self.assertIn("[0] # 3 ranks,", done.stdout)
        self.assertIn("restart 3 of 3 takes its place", done.stderr)

    def test_an_elastic_job_is_over_when_the_rest_is(self):
        # A rank that was frozen when the others ended well has no part in it any more.
        done = self.launch(2, "[ $RANK = 1 ] && kill -STOP $$; sleep 0.3; exit 0", "--elastic", "1:2",
                           "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        # One that had come too late fails, and nobody cares.
        done = self.launch(
            2, "[ $HEADRACE_JOIN = 1 ] && sleep 0.5 && exit 1; [ $RANK = 1 ] && exit 3; sleep 0.2; exit 0",
            "--elastic", "1:2", "--max-restarts", 1, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        # A rank that fails when another has ended well was needed.
        done = self.launch(2, "[ $RANK = 1 ] && sleep 0.5 && exit 3; exit 0", "--elastic", "1:2",
                           "--quiet")
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_frozen_ranks_that_are_all_that_is_left_are_named(self):
        process, pids = self.started(3, "echo READY $$; [ $RANK = 1 ] && kill -STOP $$; exit 0",
                                     "--quiet")
        stopped = f"rank 1 (process {pids[1]}) is stopped; kill -CONT {pids[1]} lets it go on\n"
        self.assertEqual({process.stderr.readline(), process.stderr.readline()},
                         {f"headrace launch: {stopped}",
                          f"headrace launch: the others have ended, but {stopped}"})
        os.kill(pids[1], signal.SIGCONT)
        self.assertEqual(process.wait(10), 0)
        self.assertEqual(process.stderr.read(), "")

    def test_a_stopped_rank_that_others_wait_for_is_named(self):
        process, pids = self.started(
            2, "echo READY $$; [ $RANK = 1 ] && kill -STOP $$; "
            f"exec {support.TOOL} comm bench --min 8 --max 8 --seconds 0.01", "--quiet")
        self.assertEqual(process.stderr.readline(),
                         f"headrace launch: rank 1 (process {pids[1]}) is stopped; "
                         f"kill -CONT {pids[1]} lets it go on\n")
        os.kill(pids[1], signal.SIGCONT)
        self.assertEqual(process.wait(20), 0)
        self.assertEqual(process.stderr.read(), "")

    def test_a_port_that_somebody_has_is_not_used(self):
        kept = []

        def take():  # in the launcher to be, the port that it tries first
            kept.append(socket.socket())
            kept[0].bind(("127.0.0.1", 12000 + os.getpid() % 20000))
            kept[0].set_inheritable(True)

        done = self.launch(1, "echo $PPID $MASTER_PORT", "--quiet", close_fds=False, preexec_fn=take)
        launcher, port = map(int, done.stdout.split()[1:])
        self.assertNotEqual(port, 12000 + launcher % 20000)
        self.assertTrue(12000 <= port < 32000, "outside of the system's own ports")

    def test_wrong_use(self):
        self.fails(2, "--max-restarts: expected a whole number from 0, got -1", "launch", "-n", 1,
                   "--max-restarts", -1, "--", "true")
        self.fails(2, "--ranks is required", "launch", "--", "true")
        self.fails(2, "--ranks: expected at most 4096 processes of this machine, got 100000000",
                   "launch", "-n", "100000000", "--", "true")
        for given in ("-1", "soon", "inf"):
            self.fails(2, f"--patience: expected seconds from 0 to 1000000, got {given}", "launch", "-n", 1,
                       "--patience", given, "--", "true")
        self.fails(2, "--ranks: expected a whole number from 1, got 0", "launch", "-n", 0, "--", "true")
        self.fails(2, "there is no PROGRAM", "launch", "-n", 2)
        for given in ("2", "3:2", "0:2", "a:b", "1:2x"):
            self.fails(2, "--elastic: expected MIN:MAX with 1 <= MIN <= MAX, got " + given, "launch",
                       "--elastic", given, "--", "true")
        self.fails(2, "--ranks: expected 2 to 3 (--elastic), got 4", "launch", "-n", 4, "--elastic",
                   "2:3", "--", "true")
        self.fails(2, "there is no option --colour", "launch", "-n", 2, "--colour", "true")
        for words in (["true"], ["./train", "--epochs", 3, "-n", 2]):
            self.fails(2, f"put -- before the program: headrace launch OPTIONS -- {words[0]}", "launch",
                       "-n", 2, *words)
        for given in ("bogus", "shm,bogus", "shm,", "auto,shm"):
            wrong = next(word for word in given.split(",") if word != "shm")
            self.fails(2, f"there is no transport '{wrong}'; there are: inproc, shm, ", "launch", "-n", 2,
                       "--transport", given, "--", "true")

    def test_arguments_stay_as_they_are(self):
        done = self.run_tool("launch", "-n", 1, "--quiet", "--", "printf", "<%s>", "[1,2]", "--", "-n",
                             "", "a b", "--json")
        self.assertEqual(done.stdout, "[0] <[1,2]><--><-n><><a b><--json>\n")
        self.fails(127, "cannot start 'nosuch': No such file", "launch", "-n", 2, "--", "nosuch")


if __name__ == "__main__":
    support.main()
