"""What is to be set up in Kafka: the topics."""
