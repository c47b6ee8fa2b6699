"""Ranks that are killed and frozen in each state of a training: some forty cases by seed."""
import os
import signal
import unittest

import schedule

SEED, COUNT = 1, 45


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.trainings = schedule.Trainings(os.environ["HEADRACE_TOOL"], os.environ["HEADRACE_RANK_PROGRAM"])

    @classmethod
    def tearDownClass(cls):
        cls.trainings.close()

    def test_every_state(self):
        cases = schedule.draw(SEED, COUNT)
        self.assertEqual({case.state for case in cases}, set(schedule.STATES))
        for case in cases:
            with self.subTest(str(case)):
                self.trainings.run(case)

    def test_a_rank_that_comes_too_late(self):
        late = ["sh", "-c", "[ $HEADRACE_JOIN = 1 ] && sleep 4; exec \"$@\"", "sh"]
        words = self.trainings.words("forward", step=18, victim=1, sent=signal.SIGKILL)
        ends, said = self.trainings.launch(self.trainings.folder / "late",
                                           ["--elastic", "1:3", "--max-restarts", "1"], words,
                                           shell=late)
        self.assertEqual([end.size for end in ends], [2, 2], said)
        self.assertIn("restart 1 of 1 takes its place", said)


if __name__ == "__main__":
    unittest.main()
