"""API Gateway's place on this machine: HTTP in, the functions' events and answers behind it.

It asks for no key, so it serves this machine alone (`guard`), and never more than it can hold
(`protocol`). What a request means is the functions' affair.
"""
