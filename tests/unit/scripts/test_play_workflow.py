import subprocess

from play_workflow import script

STEPS = (
    {"name": "It is the user's", "run": "echo first; false | true; echo not reached"},
    {"uses": "actions/cache@0"},
    {"name": "Make it", "run": "echo never"},
    {"name": "Say it", "if": "always()", "run": "echo last"},
)


def test_steps_end_at_the_first_that_fails_but_for_those_that_always_run() -> None:
    done = subprocess.run(["bash", "-c", script(STEPS)], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "--- It is the user's",
        "first",
        "--- actions/cache@0 is left out",
        "--- Say it",
        "last",
    ]
    assert done.returncode == 1


def test_it_is_well_where_all_steps_are() -> None:
    done = subprocess.run(["bash", "-c", script(STEPS[2:])], capture_output=True, text=True, check=False)
    assert (done.returncode, "never" in done.stdout) == (0, True)
