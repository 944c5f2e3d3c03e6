"""Load runs: a scenario's conversations again and again, level after level, in one process or several."""
