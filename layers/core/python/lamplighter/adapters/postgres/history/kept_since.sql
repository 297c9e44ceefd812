-- Retiring a day moves this on.
SELECT ready_from FROM ledger_bounds
