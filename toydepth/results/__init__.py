"""Records of runs, read and checked, and what runs say together: regimes, verdicts, exponents."""
