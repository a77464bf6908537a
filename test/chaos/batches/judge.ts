/** Compares each batch with its record: it is billed once, by the requests that succeeded, however it has ended. */
import { isDisturbed } from '../happened.ts';
import type { Happened } from '../happened.ts';
import type { LedgerRecord } from '../ledger-file.ts';
import { BATCH_MODELS, batchPrice } from './config.ts';
import type { BatchPlan } from './plan.ts';

/** What the client of a batch has seen. */
export interface BatchLog {
  readonly plan: BatchPlan;
  /** The request id of the creation; '' if no response arrived. */
  readonly callId: string;
  /** The status of the creation; 0 if no response arrived. */
  readonly status: number;
  /** Whether the client saw that it has ended. */
  readonly hasEnded: boolean;
  /** How many times the provider has created it. */
  readonly created: number;
}

export interface BatchEvidence {
  readonly batches: readonly BatchLog[];
  /** The records of this round's batches. */
  readonly records: readonly LedgerRecord[];
  readonly happened: Happened;
  /** Whether the store may lose records. */
  readonly isForgetful: boolean;
}

/** Describes what is wrong; empty if every nano-dollar is right. */
export function judgeBatches({ batches, records, happened, isForgetful }: BatchEvidence): string[] {
  if (isForgetful) return [];
  const byId = new Map(records.map((record) => [record.id, record]));
  const found = batches.flatMap((batch) => {
    const complaints = [judge(batch, byId.get(batch.callId)), unexplained(batch, happened)];
    return complaints.flatMap((each) =>
      each === undefined ? [] : [`${describe(batch, byId.get(batch.callId))}: ${each}`],
    );
  });
  const known = new Set(batches.filter(({ status }) => status === 200).map(({ callId }) => callId));
  const strays = records.filter((record) => !known.has(record.id) && !mayBeUnknown(record, happened));
  const unseen = batches.filter(({ status, created }) => status !== 200 && created > 0);
  return strays.length <= unseen.length
    ? found
    : [
        ...found,
        `${strays.length} batches that no client has are billed, and the provider has ${unseen.length} of them`,
      ];
}

/** A creation whose process was killed is billed in full, also if it did not reach the provider. */
function mayBeUnknown({ status, createdMs, costNanoUsd }: LedgerRecord, { kills }: Happened): boolean {
  return costNanoUsd === 0n || (status === 'Abandoned' && kills.some((ms) => ms >= createdMs));
}

function describe({ plan, status, created }: BatchLog, record: LedgerRecord | undefined): string {
  const books = record
    ? `${record.status} ${record.tokens.input}/${record.tokens.output} ${record.costNanoUsd}+${record.unbilledNanoUsd}`
    : 'nothing';
  return `batch ${plan.n} (${plan.protocol}, ${plan.end}, ${plan.ids.length} requests; client ${status}; created ${created} times; books: ${books})`;
}

function judge({ plan, status, hasEnded, created }: BatchLog, record: LedgerRecord | undefined): string | undefined {
  if (created > 1) return 'the provider has it more than once';
  if (status !== 200) return undefined;
  if (!hasEnded) return 'it does not end';
  if (!record) return 'it is lost';
  if (record.model !== BATCH_MODELS[plan.protocol]) return `it is in the books as ${record.model}`;
  const usages = [...plan.usages.values()];
  const input = usages.reduce((sum, usage) => sum + usage.input, 0);
  const output = usages.reduce((sum, usage) => sum + usage.output, 0);
  if (record.tokens.input !== input || record.tokens.output !== output)
    return `its requests have used ${input}/${output} tokens`;
  const price = batchPrice({ input, output });
  if (record.costNanoUsd !== price || record.unbilledNanoUsd !== 0n) return `its price is ${price}`;
  return undefined;
}

/** A creation that fails although nothing has happened to the gateways. */
function unexplained({ status }: BatchLog, happened: Happened): string | undefined {
  return status === 200 || isDisturbed(happened) ? undefined : `it was refused with ${status}`;
}
