/** Decides how a batch ended, and computes its bill from the results at its provider. */
import { runBatchPart } from '../body-worker/batch-tasks.ts';
import { GatewayError } from '../errors.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { JobRecord } from '../ledger/ledger.ts';
import { BatchBill } from '../pipeline/batches/batch-bill.ts';
import { decodeBatchTerms } from '../pipeline/billing-terms.ts';
import type { BillingTerms } from '../pipeline/consumption.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { readingError } from '../pipeline/free-request.ts';
import { LineChunks } from '../protocol/batches/line-chunks.ts';
import type { BatchState } from '../protocol/batches/objects.ts';
import type { CallStatus } from '#usage/record.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import type { EndedJob } from './job-outcome.ts';

export interface EndingBatch {
  readonly job: JobRecord;
  readonly state: BatchState;
  /** Asks the provider for the results. */
  readonly fetchResults: (path: string) => Promise<UpstreamResponse>;
  /** Sets how many bytes of the results are held; throws GatewayError. */
  readonly hold: (bytes: number) => void;
}

type ReadingDeps = Pick<PipelineDeps, 'bodyWorker'>;

/** The largest result of one request. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/**
 * Undefined while the batch runs, or its results are not there yet. What ended counts, also in a batch that was
 * cancelled or has expired. Rejects with GatewayError if the results cannot be read, and with LedgerUnavailable for
 * terms of another version.
 */
export async function batchOutcome(deps: ReadingDeps, ending: EndingBatch): Promise<EndedJob | undefined> {
  const { job, state } = ending;
  const { end, results, succeeded = 0 } = state;
  if (end === undefined || (results === undefined && mayHaveResults(state))) return undefined;
  const terms = decodeBatchTerms(job.terms ?? '');
  if (!terms) throw new LedgerUnavailable('another version of the gateway has to bill this batch');
  const bill = new BatchBill(terms);
  const count =
    results === undefined ? 0 : await readAll(deps, ending, { path: results, endpoint: endpointIn(terms), bill });
  if (count < succeeded) throw incomplete();
  return {
    end: end === 'Expired' ? 'Failed' : end,
    bill: { status: statusAfter(end, bill.count), progress: bill.progress },
  };
}

/** All requests of a batch are for one. */
function endpointIn([first]: readonly BillingTerms[]): BatchState['endpoint'] {
  return first?.routed.call.batchOf;
}

/** A provider may name its results a while after the end. What it neither names nor counts is not taken for nothing. */
function mayHaveResults({ end, succeeded }: BatchState): boolean {
  return succeeded === undefined ? end === 'Completed' : succeeded > 0;
}

interface ReadResults {
  readonly path: string;
  /** As it was when the batch was made; undefined: the provider says it. */
  readonly endpoint: BatchState['endpoint'];
  readonly bill: BatchBill;
}

/** Resolves with the number of results. */
async function readAll(
  { bodyWorker }: ReadingDeps,
  { job, state, fetchResults, hold }: EndingBatch,
  { path, endpoint = state.endpoint, bill }: ReadResults,
): Promise<number> {
  const { keyUid } = job.origin;
  // the gateway makes no others
  if (endpoint === undefined) throw incomplete();
  const chunks = new LineChunks();
  let count = 0;
  const take = async (chunk: Uint8Array): Promise<void> => {
    const { used, lines } = await runBatchPart(bodyWorker, keyUid, { task: 'ReadResults', endpoint }, chunk);
    for (const each of used) bill.add(each);
    count += lines;
  };
  const { body } = await fetchResults(path).catch(unlessGone);
  try {
    for await (const piece of body) {
      for (const chunk of chunks.push(piece)) await take(chunk);
      if (chunks.pendingBytes > MAX_LINE_BYTES) throw incomplete();
      hold(chunks.pendingBytes);
    }
    await take(chunks.end());
    return count;
  } catch (error) {
    if (error instanceof SyntaxError) throw incomplete();
    throw readingError(error, 'within the results');
  } finally {
    hold(0);
  }
}

/** Results that are not found are requested again later, because a provider may name them before they exist. */
function unlessGone(error: unknown): never {
  throw error instanceof GatewayError && error.code === 'not_found' ? incomplete() : error;
}

function statusAfter(end: NonNullable<BatchState['end']>, succeeded: number): CallStatus {
  if (end === 'Cancelled') return 'ClientClosed';
  if (succeeded === 0) return 'Failed';
  return end === 'Completed' ? 'Succeeded' : 'ProviderCut';
}

function incomplete(): GatewayError {
  return new GatewayError('upstream_error', 'The provider sent results of this batch that cannot be read. Try again.');
}
