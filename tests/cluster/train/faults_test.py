"""Ranks that are killed and frozen in each state of a training: some forty cases by seed."""
import os
import unittest

import schedule

SEED, COUNT = 1, 42


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


if __name__ == "__main__":
    unittest.main()
