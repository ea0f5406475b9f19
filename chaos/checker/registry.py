"""The table of invariants: what each says to a reader who has never seen this system, its check and its canary.

The order is the order of reports. W07 ("every canary was found") is the judge's own and stands in `verdict.py`.
"""

from __future__ import annotations

from chaos.checker.finding import Family, Invariant
from chaos.checker.invariants import effects, generations, liveness, log, money, orders, read_model, vacuity
from chaos.checker.plants import effects as spoil_effects
from chaos.checker.plants import liveness as spoil_liveness
from chaos.checker.plants import log as spoil_log
from chaos.checker.plants import money as spoil_money
from chaos.checker.plants import orders as spoil_orders
from chaos.checker.plants import vacuity as spoil_vacuity

S, L, W = Family.SAFETY, Family.LIVENESS, Family.VACUITY


def N_(sentence: str) -> str:
    """Mark a sentence for translation; it is translated where it is shown."""
    return sentence


INVARIANTS: tuple[Invariant, ...] = (
    Invariant("S00", N_("Every accepted order ends as its customer was told: invoiced, declined or cancelled."), S,
              orders.ends_as_intended, spoil_orders.end_taken_away),
    Invariant("S01", N_("No accepted order is lost."), S, orders.no_lost_order, spoil_orders.order_lost),
    Invariant("S02", N_("An order that was refused left nothing behind."), S,
              orders.refused_left_nothing, spoil_orders.refused_order_exists),
    Invariant("S03", N_("There is no order that nobody placed."), S,
              orders.no_phantom_order, spoil_orders.order_of_nobody),
    Invariant("S04", N_("An order and the events that tell of it exist together or not at all."), S,
              orders.outbox_atomic, spoil_orders.event_missing),
    Invariant("S05", N_("What the relay counts as published is in the log."), S,
              log.settled_is_in_log, spoil_log.settled_and_gone),
    Invariant("S06", N_("The log has nothing that was not committed first."), S,
              log.log_is_from_outbox, spoil_log.stranger_in_log),
    Invariant("S07", N_("All copies of an event are the same, byte for byte."), S,
              log.immutable, spoil_log.copy_altered),
    Invariant("S08", N_("All events of one order are in one partition."), S,
              log.one_partition, spoil_log.second_partition),
    Invariant("S09", N_("The events of one order stand in the log in the order in which they happened."), S,
              log.log_order, spoil_log.overtaken),
    Invariant("S10", N_("Each consumer applies the events of one order in the order in which they happened."), S,
              effects.effect_order, spoil_effects.version_skipped),
    Invariant("S11", N_("No order is invoiced twice."), S, money.one_invoice_per_order, spoil_money.invoiced_twice),
    Invariant("S12", N_("Every placed order was invoiced or declined."), S,
              effects.placed_has_outcome, spoil_effects.order_never_billed),
    Invariant("S13", N_("There is no invoice without its order, and no credit note without its invoice."), S,
              money.no_phantom_invoice, spoil_money.invoice_for_nobody),
    Invariant("S14", N_("Order, event, payment and invoice say the same amount."), S,
              money.amounts_agree, spoil_money.dearer),
    Invariant("S15", N_("No money appears or vanishes: what was ordered was billed, what was undone was credited."), S,
              money.conserved, spoil_money.dearer),
    Invariant("S16", N_("Invoice numbers have no gaps and no doubles."), S,
              money.numbers_gapless, spoil_money.number_jumps),
    Invariant("S17", N_("What a consumer has read, what its inbox says and what it did are the same."), S,
              effects.inbox_is_effect, spoil_effects.inbox_row_missing),
    Invariant("S18", N_("Every invoiced customer got exactly one invoice mail."), S,
              money.one_mail_per_invoice, spoil_money.mailed_under_second_key),
    Invariant("S19", N_("The revenue report is what one gets by counting everything once."), S,
              read_model.analytics_recomputed, spoil_money.counted_once_too_often),
    Invariant("S20", N_("What a consumer has ticked off, it has done."), S,
              effects.committed_is_done, spoil_effects.inbox_row_missing),
    Invariant("S21", N_("A consumer that lost its partition changes nothing there afterwards."), S,
              generations.no_older_generation, spoil_effects.older_generation, claim="fencing"),
    Invariant("S22", N_("What was set aside as unprocessable had no effect."), S,
              effects.parked_is_not_applied, spoil_effects.published_and_parked),
    Invariant("S23", N_("Every order comes to an end in which order, invoice and credit note fit together."), S,
              orders.saga_ends, spoil_orders.stuck),
    Invariant("S24", N_("The same request sent again is the same order."), S,
              orders.one_order_per_key, spoil_orders.key_with_two_orders),
    Invariant("S25", N_("Nothing was set aside that the scenario did not spoil on purpose."), S,
              effects.only_poison_is_parked, spoil_effects.innocent_parked),
    Invariant("L01", N_("Every event reached the log."), L, liveness.all_published, spoil_log.never_published),
    Invariant("L02", N_("Every consumer has caught up."), L, liveness.nothing_behind, spoil_liveness.lag_left),
    Invariant("L03", N_("Every consumer stands at a place that exists."), L,
              liveness.offsets_in_range, spoil_liveness.beyond_the_end),
    Invariant("L04", N_("Work went on while the faults did."), L,
              liveness.progress_under_faults, spoil_liveness.stood_still),
    Invariant("L05", N_("After the healing, what was owed came in time."), L,
              liveness.recovery_in_time, spoil_liveness.recovered_late),
    Invariant("W01", N_("Every fault really struck."), W, vacuity.faults_hit, spoil_vacuity.fault_without_hit),
    Invariant("W02", N_("The faults caused the duplicates that they were meant to cause."), W,
              vacuity.duplicates_appeared, spoil_vacuity.no_duplicates),
    Invariant("W03", N_("At least one duplicate was recognised and turned away."), W,
              vacuity.duplicate_suppressed, spoil_vacuity.none_suppressed),
    Invariant("W04", N_("Every kind of request succeeded at least once."), W,
              vacuity.every_operation_succeeded, spoil_vacuity.nothing_succeeded),
    Invariant("W05", N_("A fault struck while orders were on their way."), W,
              vacuity.fault_met_work, spoil_vacuity.struck_at_rest),
    Invariant("W06", N_("Partitions changed hands."), W, vacuity.owner_changed, spoil_vacuity.owners_stayed),
    Invariant("W08", N_("Enough orders had two events on their way at once, so that their sequence was at stake."), W,
              vacuity.enough_pending_pairs, spoil_vacuity.never_two_pending),
)  # fmt: skip

W07 = ("W07", N_("The checker found every violation that was planted to test it."))
