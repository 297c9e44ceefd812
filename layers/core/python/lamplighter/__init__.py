"""Lamplighter lights a job when its time has come."""
