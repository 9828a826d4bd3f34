"""Weights & Biases: a run followed live, uploaded later from its folder, compared on dashboards.

This room speaks of sizes and rungs; what a size counts is the caller's business.
"""
