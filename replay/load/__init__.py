"""How load reaches a system: today the politeness limit; arrivals, ramps and think time belong here too."""
