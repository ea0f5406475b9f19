"""What Kafka's metadata say of lost brokers and of copies that are missing."""

from confluent_kafka.admin import BrokerMetadata, ClusterMetadata, PartitionMetadata, TopicMetadata

from infra.kafka.health import complaints, judge, lacking


def told(brokers: set[int], *insync: list[int], leader: int = 1) -> ClusterMetadata:
    """Say what a broker would of a topic with three copies of each partition."""
    found, topic = ClusterMetadata(), TopicMetadata()
    topic.topic = "orders.events"
    for number, isrs in enumerate(insync):
        partition = PartitionMetadata()
        partition.id, partition.leader, partition.replicas, partition.isrs = number, leader, [1, 2, 3], isrs
        topic.partitions[number] = partition
    found.brokers = {number: BrokerMetadata() for number in brokers}
    found.topics = {topic.topic: topic}
    return found


def test_a_whole_cluster_has_nothing_to_complain_of() -> None:
    found = judge(told({1, 2, 3}, [1, 2, 3], [2, 3, 1]))
    assert found.is_whole
    assert complaints(found) == []


def test_a_lost_broker_and_the_partitions_that_miss_it_are_named() -> None:
    """A broker that is away answers nothing: it is known by the copies that it should have."""
    lost, behind = complaints(judge(told({1, 3}, [1, 3], [3, 1])))
    assert lost.startswith("Broker 2 is away")
    assert "orders.events/0, orders.events/1" in behind


def test_a_broker_that_is_back_and_not_yet_in_step_is_told_apart() -> None:
    """Then no broker is lost, and yet another one must not go."""
    found = told({1, 2, 3}, [1, 3], [1, 2, 3])
    assert judge(found).lost == ()
    assert judge(found).under_replicated == ("orders.events/0",)
    assert lacking(found, 2) == "broker 2 is behind in orders.events/0"
    assert lacking(found, 1) is None


def test_many_partitions_are_counted_and_the_first_are_named() -> None:
    (_lost, behind) = complaints(judge(told({1, 3}, *([[1, 3]] * 12))))
    assert behind.startswith("12 partitions")
    assert behind.endswith("orders.events/2 and 9 more.")


def test_a_partition_without_a_leader_is_named() -> None:
    assert "no leader" in complaints(judge(told({1, 2, 3}, [2], leader=-1)))[-1]
