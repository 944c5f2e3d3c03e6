"""The way out that the message names, ``SSL_CERT_FILE``, in a process that begins with it."""

from __future__ import annotations

import asyncio
import os
import sys

from replay.results.run import Run, newest_run
from tests.faults.dialects import DIALECTS
from tests.faults.fault_server import playing_faults, reply
from tests.faults.table import ANSWER, FAULTS
from tests.reliability.programs import write_scenario
from tests.waiting import PATIENCE_S

(FAULT,) = [fault for fault in FAULTS if fault.where == "wrong name"]


async def test_a_trusted_certificate_counts_for_its_own_host_and_for_no_other(certificate, tmp_path):
    dialect = DIALECTS[0]
    async with playing_faults([reply(dialect.answer(ANSWER))], tls=certificate.server) as server:
        port = server.address.rpartition(":")[2]
        systems = [
            {
                "name": host,
                "adapter": "openai",
                "settings": {"base_url": f"https://{host}:{port}/v1", "model": "m"},
            }
            for host in ("localhost", "127.0.0.1")
        ]
        write_scenario(tmp_path, talks=1, turns=1, systems=systems)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "replay", "run", "scenario.yaml",
            cwd=tmp_path, env={**os.environ, "SSL_CERT_FILE": str(certificate.path)},
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            async with asyncio.timeout(PATIENCE_S):
                _, said = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, said
        assert server.requests == 1

    records = {record.system: record for record in Run(newest_run(tmp_path / "runs")).records()}
    assert records["localhost"].answer == ANSWER
    failed = records["127.0.0.1"]
    assert (failed.outcome, failed.attempts) == (FAULT.outcome, 1)
    assert failed.error.startswith("127.0.0.1: ")
    assert FAULT.says_to(dialect) in failed.error
