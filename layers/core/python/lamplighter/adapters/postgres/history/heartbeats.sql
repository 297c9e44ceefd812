SELECT worker_id, heartbeat_at FROM workers
