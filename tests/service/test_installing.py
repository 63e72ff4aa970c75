"""`make install-service` and `make uninstall-service`, as somebody meets them who types them."""

from __future__ import annotations

import re

from tests.service.desk import CONFIG, DROPINS, OFFLINE, SECRETS, STATE, Desk

CURRENT = "/opt/frontdesk/.venv"
COMMAND = "/usr/local/bin/frontdesk"
UNIT = "/etc/systemd/system/frontdesk.service"
BROKEN = "[desk]\nmax_turns = 0\n"


def venv(desk: Desk) -> str:
    return desk.machine.run("readlink", CURRENT).stdout.strip()


def venvs(desk: Desk) -> set[str]:
    return {f"venvs/{path.name}" for path in desk.machine.path("/opt/frontdesk/venvs").iterdir()}


def mode(desk: Desk, path: str) -> str:
    return desk.machine.run("stat", "--format=%U %a", path).stdout.strip()


def program_of(desk: Desk) -> str:
    """The venv that the running process came from."""
    return desk.machine.run("readlink", f"{desk.proc}/exe", f"{desk.proc}/cwd").stdout + desk.machine.path(
        f"{desk.proc}/cmdline"
    ).read_text(encoding="utf-8")


def test_a_machine_gets_a_service_that_starts_with_it_and_words_for_what_comes_next(newcomer: Desk) -> None:
    said = newcomer.make("install-service").stdout
    for words in ("sudo frontdesk init", "systemctl start frontdesk", "journalctl -u frontdesk -f", f"Wrote {CONFIG}"):
        assert words in said
    assert re.fullmatch(r"venvs/\d+\.\d+\.\d+-\d+", venv(newcomer))
    assert newcomer.systemctl("is-enabled", "frontdesk").stdout.strip() == "enabled"
    assert newcomer.systemctl("is-active", "frontdesk", check=False).stdout.strip() == "inactive"
    assert mode(newcomer, CONFIG) == "root 644"
    assert mode(newcomer, SECRETS) == "root 700"
    assert newcomer.call("check").stdout.startswith("ok")
    newcomer.start()
    assert newcomer.call("status").stdout.startswith("ready")


def test_the_program_is_whole_and_compiled_and_leaves_nothing_in_the_checkout(desk: Desk) -> None:
    site = f"{CURRENT}/lib/python3.11/site-packages"
    assert desk.machine.run("sh", "-c", f"ls {site}/core/__pycache__/main.*.pyc").returncode == 0
    assert not list(desk.machine.path("/opt/frontdesk").glob(".venv/lib/*/site-packages/*.egg-link"))
    in_use = desk.machine.run("find", "/srv/frontdesk", "-name", "build", "-o", "-name", "*.egg-info").stdout
    assert in_use == ""


def test_an_upgrade_restarts_the_running_service_and_keeps_the_version_before(desk: Desk) -> None:
    desk.configure(OFFLINE)
    desk.start()
    first, process = venv(desk), desk.pid
    said = desk.make("install-service").stdout
    second = venv(desk)
    assert "The service was restarted and is ready." in said
    assert f"Kept {CONFIG}" in said
    assert second != first
    assert desk.pid != process
    assert f"/opt/frontdesk/{second}/" in program_of(desk)
    assert venvs(desk) == {first, second}
    assert desk.machine.path(CONFIG).read_text(encoding="utf-8") == OFFLINE
    desk.stop()
    assert "The service was stopped and stays so." in desk.make("install-service").stdout
    assert desk.systemctl("is-active", "frontdesk", check=False).stdout.strip() == "inactive"
    assert venvs(desk) == {second, venv(desk)}


def test_a_config_that_the_new_version_refuses_leaves_the_old_one_running(desk: Desk) -> None:
    desk.configure(OFFLINE)
    desk.start()
    before, process, kept = venv(desk), desk.pid, venvs(desk)
    desk.configure(BROKEN)
    done = desk.make("install-service", check=False)
    assert done.returncode != 0
    assert "max_turns" in done.stderr
    assert f"Nothing was changed: {before} stays in use." in done.stderr
    assert (venv(desk), desk.pid, venvs(desk)) == (before, process, kept)
    assert desk.machine.run("ls", "/run/systemd/system").stdout == ""


def test_what_the_unit_s_own_drop_ins_set_counts_when_the_config_is_checked(desk: Desk) -> None:
    """A variable that only the service has, and a credential: neither is in the environment of who types."""
    bot = '[bots.telegram]\ntoken = "credential:telegram"\n'
    desk.configure(f'{bot}[agents.default]\nmodel = "openai:gpt"\napi_key = "env:ONLY_HERE"\n', {"telegram": "1:AA"})
    desk.add_dropin("variables", "[Service]\nEnvironment=ONLY_HERE=key-of-the-unit\n")
    assert "The config: ok" in desk.make("install-service").stdout


def test_a_version_that_does_not_start_names_the_way_back_and_it_works(desk: Desk) -> None:
    desk.configure(OFFLINE)
    desk.start()
    before = venv(desk)
    main = desk.machine.path("/srv/frontdesk/core/main.py")
    sound = main.read_text(encoding="utf-8")
    faulty = f"{sound}\nif 'run' in __import__('sys').argv:\n    raise RuntimeError('a fault of this version')\n"
    main.write_text(faulty, encoding="utf-8")
    try:
        done = desk.make("install-service", check=False)
    finally:
        main.write_text(sound, encoding="utf-8")
    assert done.returncode != 0
    [back] = re.findall(r"To go back: (.*)", done.stderr)
    desk.systemctl("stop", "frontdesk")
    desk.machine.run("sh", "-c", back)
    assert venv(desk) == before
    assert desk.call("status").stdout.startswith("ready")


def test_a_command_that_is_not_ours_is_left_alone(newcomer: Desk) -> None:
    newcomer.machine.write(COMMAND, "#!/bin/sh\necho mine\n", mode=0o755)
    done = newcomer.make("install-service", check=False)
    newcomer.make("uninstall-service")
    mine = newcomer.machine.run("frontdesk").stdout
    newcomer.machine.run("rm", COMMAND)
    assert done.returncode != 0
    assert f"{COMMAND} is there and is not ours" in done.stderr
    assert mine == "mine\n"
    assert not newcomer.machine.path("/opt/frontdesk").exists()


def test_uninstalling_leaves_config_secrets_and_conversations_and_may_be_repeated(desk: Desk) -> None:
    desk.configure(OFFLINE, {"telegram": "1:AA"})
    desk.start()
    said = desk.make("uninstall-service").stdout
    again = desk.make("uninstall-service").stdout
    assert "Stopped and disabled the service." in said
    assert "there was nothing to remove" in again
    for words in (said, again):
        assert f"sudo rm -rf /etc/frontdesk {DROPINS} {STATE}; sudo userdel frontdesk" in words
    for gone in ("/opt/frontdesk", UNIT, COMMAND):
        assert not desk.machine.path(gone).exists()
    for kept in (CONFIG, f"{SECRETS}/telegram", f"{STATE}/frontdesk.db"):
        assert desk.machine.path(kept).exists()
    assert desk.systemctl("is-active", "frontdesk", check=False).stdout == "inactive\n"


def test_the_command_speaks_of_the_service_unless_another_desk_is_named(desk: Desk) -> None:
    desk.configure(OFFLINE)
    assert desk.call("check").stdout.startswith("ok")
    named = desk.machine.run("frontdesk", "check", environ={"FRONTDESK_CONFIG": "/nowhere.toml"}, check=False)
    assert named.returncode == 78
    assert "/nowhere.toml" in named.stderr
    desk.start()
    own = desk.machine.run("frontdesk", "status", environ={"STATE_DIRECTORY": "/srv/empty"}, check=False)
    assert own.returncode != 0
    assert "/srv/empty" in own.stderr


def test_without_root_it_says_what_to_type(desk: Desk) -> None:
    for target in ("install-service", "uninstall-service"):
        done = desk.machine.run("su", "nobody", "-s", "/bin/sh", "-c", f"make -C /srv/frontdesk {target}", check=False)
        assert done.returncode != 0
        assert f"sudo make {target}" in done.stderr
    asked = desk.machine.run("su", "nobody", "-s", "/bin/sh", "-c", "frontdesk status", check=False)
    assert asked.returncode == 1
    assert "sudo frontdesk status" in asked.stderr
