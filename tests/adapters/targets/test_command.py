"""Commands: what they are told, what is kept of them, and what their end means."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lamplighter.domain.run import Verdict
from lamplighter.stages.run import Runner
from tests.adapters.targets.running import KnownSecrets, a_runner, command, run_all, run_one


def test_what_it_prints_is_kept_and_logged(runner: Runner) -> None:
    outcome = run_one(runner, command("echo out; echo err >&2"))

    assert outcome.verdict is Verdict.SUCCESS
    assert (outcome.stdout, outcome.stderr) == ("out\n", "err\n")
    assert outcome.result == {"exit_code": 0}
    assert outcome.log_url is not None
    assert sorted(Path(urlsplit(outcome.log_url).path).read_text().split()) == ["err", "out"]


def test_one_that_prints_nothing_has_no_log(runner: Runner) -> None:
    outcome = run_one(runner, command(":"))

    assert (outcome.stdout, outcome.stderr, outcome.log_url) == (None, None, None)


def test_it_learns_of_its_run_from_its_environment(runner: Runner) -> None:
    run = command("env")

    told = dict(line.split("=", 1) for line in (run_one(runner, run).stdout or "").splitlines())

    assert told["LAMPLIGHTER_RUN_ID"] == str(run.run_id)
    assert told["LAMPLIGHTER_JOB_ID"] == str(run.job_id)
    assert told["LAMPLIGHTER_FENCE"] == "7"
    assert told["LAMPLIGHTER_ATTEMPT"] == "1"
    assert told["LAMPLIGHTER_FIRE_AT"] == "2026-11-16T06:30:00.000+00:00"


def test_nothing_else_of_the_worker_leaks(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "leaked")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/leaked")
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", "postgresql://leaked")

    outcome = run_one(runner, command("env; cat /proc/$PPID/environ", env={"MINE": "1"}))

    assert "leaked" not in (outcome.stdout or "")
    names = {line.split("=")[0] for line in (outcome.stdout or "").splitlines()}
    allowed = {"PATH", "HOME", "LANG", "TZ", "PWD", "OLDPWD", "SHLVL", "_", "MINE"}
    assert {name for name in names if not name.startswith("LAMPLIGHTER_")} <= allowed


def test_the_payload_is_on_its_standard_input_and_small_ones_in_a_variable(
    runner: Runner,
) -> None:
    small, large, none = run_all(
        runner,
        command('cat; echo; echo "$LAMPLIGHTER_PAYLOAD"', {"a": [1, "ü"]}),
        command('wc -c; echo "${LAMPLIGHTER_PAYLOAD-unset}"', "x" * 1_000_000),
        command('wc -c; echo "${LAMPLIGHTER_PAYLOAD-unset}"'),
    )

    assert small.stdout == '{"a":[1,"ü"]}\n{"a":[1,"ü"]}\n'
    assert (large.stdout or "").split() == ["1000002", "unset"]
    assert (none.stdout or "").split() == ["0", "unset"]


def test_its_folder_is_its_own_and_gone_afterwards(runner: Runner) -> None:
    first, second = run_all(runner, *[command("pwd; touch mine; ls -A") for _ in range(2)])

    folders = [(outcome.stdout or "").split()[0] for outcome in (first, second)]
    assert folders[0] != folders[1]
    assert not any(Path(folder).exists() for folder in folders)


def test_a_folder_that_it_names_is_used_and_one_that_is_missing_is_refused(
    runner: Runner, tmp_path: Path
) -> None:
    there, missing = run_all(
        runner, command("pwd", cwd=str(tmp_path)), command("pwd", cwd="/no/such/folder")
    )

    assert there.stdout == f"{tmp_path}\n"
    assert (missing.verdict, missing.retryable) == (Verdict.FAILED, False)
    assert missing.error == "cwd /no/such/folder is no folder on this worker"


@pytest.mark.parametrize(
    ("line", "error", "retryable"),
    [
        ("echo broken >&2; exit 3", "exit code 3: broken", True),
        ("exit 137", "exit code 137 (ended by SIGKILL, often for want of memory)", True),
        ("kill -9 $$", "exit code 137 (ended by SIGKILL, often for want of memory)", True),
        ("kill -SEGV $$", "exit code 139 (ended by SIGSEGV)", True),
        ("exit 255", "exit code 255", True),
        ("/etc/passwd", "exit code 126 (not executable)", False),
        ("no-such-program-here", "exit code 127 (not found)", False),
        ("if", "exit code 2", True),
    ],
)
def test_an_exit_code_is_reported_with_its_meaning(
    runner: Runner, line: str, error: str, retryable: bool
) -> None:
    outcome = run_one(runner, command(line))

    assert outcome.verdict is Verdict.FAILED
    assert (outcome.error or "").startswith(error)
    assert outcome.retryable is retryable


def test_a_broken_pipe_ends_a_program_as_a_shell_has_it(runner: Runner) -> None:
    outcome = run_one(runner, command("yes | head -n 2"))

    assert (outcome.stdout, outcome.stderr) == ("y\ny\n", None)


def test_a_secret_reaches_it_and_is_masked_in_all_that_is_kept(runner: Runner) -> None:
    line = "echo $TOKEN; echo $TOKEN >&2; printf s3cr3t; sleep 0.1; echo -value; exit 1"

    outcome = run_one(runner, command(line, env={"TOKEN": {"secret": "token"}}))

    assert outcome.stdout == "•••\n•••\n"
    assert outcome.stderr == "•••\n"
    assert outcome.error == "exit code 1: •••"
    assert outcome.log_url is not None
    assert "s3cr3t" not in Path(urlsplit(outcome.log_url).path).read_text()


def test_a_secret_that_does_not_exist_fails_for_good(runner: Runner) -> None:
    outcome = run_one(runner, command(":", env={"TOKEN": {"secret": "other"}}))

    assert (outcome.error, outcome.retryable) == ("no secret 'other'", False)


def test_a_secret_that_no_program_can_be_given_fails_for_good(tmp_path: Path) -> None:
    runner = a_runner(tmp_path, secrets=KnownSecrets(nul="a\0PATH=/evil", half="a\ud800"))
    runs = [command("env", env={"X": {"secret": name}}) for name in ("nul", "half")]

    nul, half = run_all(runner, *runs)

    assert (nul.error, nul.retryable) == ("a variable has a NUL character in it", False)
    assert (half.error, half.retryable) == ("a variable is no valid text", False)


def test_a_hundred_run_at_the_same_time(runner: Runner) -> None:
    outcomes = run_all(runner, *[command(f"sleep 0.2; echo {n}") for n in range(100)])

    assert [outcome.stdout for outcome in outcomes] == [f"{n}\n" for n in range(100)]
    descriptors = len(list(Path("/dev/fd").iterdir()))
    assert descriptors < 100, "a command leaves descriptors open"
