"""The bus on Apache Kafka: Amazon MSK, a cluster of your own, or the embedded broker."""
