-- The transaction's own time: everything that it reads was written by then.
SELECT now()
