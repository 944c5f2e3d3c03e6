"""The study file; a study begun, gone through, evaluated and exported."""
