"""What `check` found, for people and for programs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from config.faults import ConfigFaults
from core.cli.tables import print_json, print_line
from core.errors import ConfigError
from core.ports import Finding
from core.probing.survey import config_findings, fault_findings

if TYPE_CHECKING:
    from config.load import Loaded
    from core.cli.options import Place

OK: Final = 0
FAILED: Final = 1
CONFIG: Final = 78
_WIDTH: Final = len("warning")


def report(place: Place, *, probe: bool, as_json: bool) -> int:
    """Look and print; the exit code: 0 without a fault, 78 if one is about the config or the machine, else 1.

    Raises `ConfigFaults` and `ConfigError` where the config can't be used, unless JSON is wanted.
    """
    try:
        unit = _unit(place.read())
        loaded = place.load().complete()
        _check_agents(loaded)
    except ConfigFaults as faults:
        if not as_json:
            raise
        return _print(fault_findings(faults.faults), as_json=True)
    except ConfigError as fault:
        if not as_json:
            raise
        return _print([Finding(what="agents", state="fault", detail=str(fault))], as_json=True)
    if not probe:
        return _print(config_findings(loaded.path, loaded.warnings), as_json=as_json)
    return _print(_masked(_survey(loaded, unit), loaded.settings.secrets), as_json=as_json)


def _check_agents(loaded: Loaded) -> None:
    from core.assembly import agents_of

    agents_of(loaded.settings).check()


def _unit(loaded: Loaded) -> list[Finding]:
    """Its secrets are root's."""
    from core.probing.unit import Unit, look_at_unit

    return look_at_unit(Unit(), loaded.settings, loaded.path)


def _survey(loaded: Loaded, unit: Sequence[Finding]) -> list[Finding]:
    from core.cli.platforms import open_probes
    from core.clock import SystemClock
    from core.probing.survey import Survey
    from core.service import logs

    logs.set_up(loaded.settings.secrets, level="CRITICAL")  # all that is to be said is a finding
    survey = Survey(
        settings=loaded.settings, config=loaded.path, state=loaded.state_dir, warnings=loaded.warnings,
        probes=open_probes(loaded.settings), clock=SystemClock(), unit=unit,
    )  # fmt: skip
    return asyncio.run(survey.findings())


def _masked(findings: Sequence[Finding], secrets: frozenset[str]) -> list[Finding]:
    """Other people's servers have their say in findings."""
    from core.service.logs import Mask

    mask = Mask(secrets)
    return [
        Finding(
            what=mask.text(one.what), state=one.state, detail=mask.text(one.detail), do=mask.text(one.do),
            blames=one.blames,
        )
        for one in findings
    ]  # fmt: skip


def _print(findings: Sequence[Finding], *, as_json: bool) -> int:
    if as_json:
        print_json([{"what": one.what, "state": one.state, "detail": one.detail, "do": one.do} for one in findings])
    else:
        for one in findings:
            print_line(_line(one))
    faults = [one for one in findings if one.state == "fault"]
    if not faults:
        return OK
    return CONFIG if any(one.blames == "config" for one in faults) else FAILED


def _line(finding: Finding) -> str:
    do = f" Do: {finding.do}" if finding.do else ""
    said = " ".join(f"{finding.what}: {finding.detail}".split())
    end = "" if not do or said.endswith((".", "!", "?")) else "."
    return f"{finding.state:<{_WIDTH}}  {said}{end}{do}"
