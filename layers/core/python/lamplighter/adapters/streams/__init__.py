"""The bus on Valkey Streams: one stream per partition, offsets and leases as in Kafka."""
